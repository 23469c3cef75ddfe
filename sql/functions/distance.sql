-- <prefix>_distance(a, b): how many edges a shortest path from a to b has; one row, null where there is no path.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_distance(a {vertex} COMMENT 'where it begins', b {vertex} COMMENT 'where it ends')
RETURNS TABLE (distance INT COMMENT 'edges of a shortest path')
RETURN
SELECT max(found.hops)
FROM (
    SELECT 0 AS hops FROM {prefix}_components AS c WHERE c.vertex = a AND a = b
    UNION ALL
    SELECT p.hop FROM {prefix}_path(a, b) AS p
) AS found
