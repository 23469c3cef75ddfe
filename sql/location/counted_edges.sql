-- <prefix>_edges: the edges of a multigraph at the last version that is published, and how many copies there are.
-- The last checkpoint has them as lists of numbers; what was logged since then is added to it.
WITH {published}
logged AS (
    SELECT l.src AS src, l.dst AS dst, max_by(struct(l.op, l.copies), l.version) AS told
    FROM {log} AS l
    WHERE l.op IN ('insert', 'delete') AND array_contains((SELECT it FROM state).tokens, l.token)
    GROUP BY l.src, l.dst
),
lists AS (
    SELECT v.number, v.vertex, v.successors, v.copies
    FROM {vertices} AS v
    WHERE v.token = (SELECT it FROM state).token AND (SELECT it FROM state).anew IS NULL
),
stored AS (
    SELECT s.vertex AS src, d.vertex AS dst, s.edge.copies AS copies
    FROM (SELECT vertex, explode(arrays_zip(successors, copies)) AS edge FROM lists) AS s
    JOIN lists AS d ON d.number = s.edge.successors
)
SELECT
    src,                             -- where the edge begins
    dst,                             -- where it leads
    CAST(copies AS BIGINT) AS count  -- how many copies there are
FROM (
    SELECT e.src, e.dst, e.copies FROM stored AS e LEFT ANTI JOIN logged AS l ON e.src = l.src AND e.dst = l.dst
    UNION ALL SELECT src, dst, told.copies FROM logged WHERE told.op = 'insert'
)
