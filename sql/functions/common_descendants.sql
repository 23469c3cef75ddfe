-- <prefix>_common_descendants(a, b): the vertices that both a and b reach.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_common_descendants(a {vertex} COMMENT 'a vertex', b {vertex} COMMENT 'another one')
RETURNS TABLE (vertex {vertex} COMMENT 'a vertex that both reach')
RETURN SELECT c.dst FROM {prefix}_closure AS c WHERE c.src IN (a, b) GROUP BY c.dst HAVING count(*) = if(a = b, 1, 2)
