-- <prefix>_edges: the edges of a multigraph at the last version that is published, and how many copies there are.
-- The last checkpoint has them as lists of numbers; what was logged since then is added to it.
WITH {published}
anew AS (
    SELECT max(c.number) AS number
    FROM published AS c CROSS JOIN base
    WHERE c.kind = 'reset' AND c.number > base.number
),
logged AS (
    SELECT l.src AS src, l.dst AS dst, max_by(struct(l.op, l.copies), l.version) AS told
    FROM {log} AS l JOIN published AS c ON c.token = l.token CROSS JOIN base CROSS JOIN anew
    WHERE l.op IN ('insert', 'delete') AND c.number > base.number AND c.number >= coalesce(anew.number, 0)
    GROUP BY l.src, l.dst
),
lists AS (
    SELECT v.number, v.vertex, v.successors, v.copies
    FROM {vertices} AS v JOIN base ON v.token = base.token CROSS JOIN anew
    WHERE anew.number IS NULL
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
