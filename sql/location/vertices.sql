-- <prefix>_vertices: the vertices at the last version that is published, those without edges included.
WITH {published}
logged AS (
    SELECT l.op AS op, l.version AS version, array(l.src, l.dst) AS ends
    FROM {log} AS l
    WHERE l.op <> 'delete' AND array_contains((SELECT it FROM state).tokens, l.token)
),
told AS (
    SELECT vertex, max_by(op, version) AS op
    FROM (SELECT explode(ends) AS vertex, op, version FROM logged)
    GROUP BY vertex
),
stored AS (
    SELECT v.vertex AS vertex
    FROM {vertices} AS v
    WHERE v.token = (SELECT it FROM state).token AND (SELECT it FROM state).anew IS NULL
)
SELECT
    vertex  -- its name
FROM (
    SELECT s.vertex FROM stored AS s LEFT ANTI JOIN told AS t ON t.vertex = s.vertex
    UNION ALL SELECT vertex FROM told WHERE op <> 'drop'
)
