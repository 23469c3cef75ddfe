-- <prefix>_path(a, b): the edges of a shortest path from a to b, numbered from 1; no row where there is no path.
-- {prefix}_walk searches among the edges that lie on some path from a to b, which the closure knows.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_path(a {vertex} COMMENT 'where it begins', b {vertex} COMMENT 'where it ends')
RETURNS TABLE (hop INT COMMENT 'from 1 on', src {vertex} COMMENT 'where the edge begins', dst {vertex} COMMENT 'where it leads')
RETURN
WITH
below AS (SELECT c.dst AS vertex FROM {prefix}_closure AS c WHERE c.src = a UNION ALL SELECT a),
above AS (SELECT c.src AS vertex FROM {prefix}_closure AS c WHERE c.dst = b UNION ALL SELECT b),
steps AS (
    SELECT collect_list(struct(e.src, e.dst)) AS steps
    FROM {prefix}_edges AS e
    JOIN below ON below.vertex = e.src
    JOIN above ON above.vertex = e.dst
)
SELECT found.hop, found.src, found.dst
FROM (SELECT explode({prefix}_walk(steps, a, b)) AS found FROM steps)
