-- <prefix>_cycles(): a shortest cycle through the vertex that stands for a component, for each component that has a cycle.
-- {prefix}_walk searches among the edges inside a component; where this has several vertices, self-loops do not count.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_cycles()
RETURNS TABLE (
    component {vertex} COMMENT 'the vertex that stands for the component',
    hop INT COMMENT 'from 1 on',
    src {vertex} COMMENT 'where the edge begins',
    dst {vertex} COMMENT 'where it leads'
)
RETURN
WITH inside AS (
    SELECT s.component AS component, collect_list(struct(e.src, e.dst)) AS steps
    FROM {prefix}_edges AS e
    JOIN {prefix}_components AS s ON s.vertex = e.src
    JOIN {prefix}_components AS d ON d.vertex = e.dst AND d.component = s.component
    WHERE s.size = 1 OR e.src <> e.dst
    GROUP BY s.component
)
SELECT i.component, i.found.hop, i.found.src, i.found.dst
FROM (SELECT component, explode({prefix}_walk(steps, component, component)) AS found FROM inside) AS i
