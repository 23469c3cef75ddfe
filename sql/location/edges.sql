-- <prefix>_edges: the edges at the last version that is published.
-- The last checkpoint has them as lists of numbers; what was logged since then is added to it.
WITH {published}
logged AS (
    SELECT l.src AS src, l.dst AS dst, max_by(l.op, l.version) AS op
    FROM {log} AS l
    WHERE l.op IN ('insert', 'delete') AND array_contains((SELECT it FROM state).tokens, l.token)
    GROUP BY l.src, l.dst
),
lists AS (
    SELECT v.number, v.vertex, v.successors
    FROM {vertices} AS v
    WHERE v.token = (SELECT it FROM state).token AND (SELECT it FROM state).anew IS NULL
),
stored AS (
    SELECT s.vertex AS src, d.vertex AS dst
    FROM (SELECT vertex, explode(successors) AS other FROM lists) AS s JOIN lists AS d ON d.number = s.other
)
SELECT
    src,  -- where the edge begins
    dst   -- where it leads
FROM (
    SELECT e.src, e.dst FROM stored AS e LEFT ANTI JOIN logged AS l ON e.src = l.src AND e.dst = l.dst
    UNION ALL SELECT src, dst FROM logged WHERE op = 'insert'
)
