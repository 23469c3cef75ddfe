-- <prefix>_ancestors(v): the vertices that reach v, itself not among them.
CREATE OR REPLACE {temporary}FUNCTION {prefix}_ancestors(v {vertex} COMMENT 'the vertex that is reached')
RETURNS TABLE (vertex {vertex} COMMENT 'a vertex that reaches it')
RETURN SELECT c.src FROM {prefix}_closure AS c WHERE c.dst = v
