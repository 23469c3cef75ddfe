-- <prefix>_descendants(v): the vertices that v reaches, itself not among them.
CREATE OR REPLACE {temporary}FUNCTION {prefix}_descendants(v {vertex} COMMENT 'the vertex that reaches')
RETURNS TABLE (vertex {vertex} COMMENT 'a vertex that is reached')
RETURN SELECT c.dst FROM {prefix}_closure AS c WHERE c.src = v
