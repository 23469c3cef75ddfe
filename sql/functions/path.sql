-- <prefix>_path(a, b): the edges of a shortest path from a to b, numbered from 1; no row where there is no path.
-- {prefix}_walk searches among the edges that lie on some path from a to b, which the closure knows.
CREATE OR REPLACE {temporary}FUNCTION {prefix}_path(a {vertex} COMMENT 'where it begins', b {vertex} COMMENT 'where it ends')
RETURNS TABLE (hop INT COMMENT 'from 1 on', src {vertex} COMMENT 'where the edge begins', dst {vertex} COMMENT 'where it leads')
RETURN
WITH steps AS (SELECT collect_list(struct(e.src, e.dst)) AS steps FROM {prefix}_between(a, b) AS e)
SELECT found.hop, found.src, found.dst
FROM (SELECT explode({prefix}_walk(steps, a, b)) AS found FROM steps WHERE a <> b)
