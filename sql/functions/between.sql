-- <prefix>_between(a, b): the edges on the paths from a to b; no row where there is no path.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_between(a {vertex} COMMENT 'where the paths begin', b {vertex} COMMENT 'where they end')
RETURNS TABLE (src {vertex} COMMENT 'where the edge begins', dst {vertex} COMMENT 'where it leads')
RETURN
WITH
below AS (SELECT c.dst AS vertex FROM {prefix}_closure AS c WHERE c.src = a UNION ALL SELECT a),
above AS (SELECT c.src AS vertex FROM {prefix}_closure AS c WHERE c.dst = b UNION ALL SELECT b)
SELECT e.src, e.dst
FROM {prefix}_edges AS e
JOIN below ON below.vertex = e.src
JOIN above ON above.vertex = e.dst
