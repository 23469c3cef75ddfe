-- <prefix>_common_ancestors(a, b): the vertices that reach both a and b.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_common_ancestors(a {vertex} COMMENT 'a vertex', b {vertex} COMMENT 'another one')
RETURNS TABLE (vertex {vertex} COMMENT 'a vertex that reaches both')
RETURN SELECT c.src FROM {prefix}_closure AS c WHERE c.dst IN (a, b) GROUP BY c.src HAVING count(*) = if(a = b, 1, 2)
