-- <prefix>_impact(top): the vertices that most others depend on, the first first.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_impact(top INT DEFAULT 10 COMMENT 'how many vertices')
RETURNS TABLE (
    vertex {vertex} COMMENT 'the vertex',
    ancestors INT COMMENT 'other vertices that reach it',
    descendants INT COMMENT 'other vertices that it reaches'
)
RETURN
SELECT v.vertex, v.ancestors, v.descendants
FROM (
    SELECT vertex, ancestors, descendants, row_number() OVER (ORDER BY ancestors DESC) AS place FROM {prefix}_vertices
) AS v
WHERE v.place <= top
ORDER BY v.place
