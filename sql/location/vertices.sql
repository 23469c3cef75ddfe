-- <prefix>_vertices: the vertices at the last version that is published, those without edges included.
WITH {published}
anew AS (
    SELECT max(c.number) AS number
    FROM published AS c CROSS JOIN base
    WHERE c.kind = 'reset' AND c.number > base.number
),
logged AS (
    SELECT l.op AS op, l.version AS version, array(l.src, l.dst) AS ends
    FROM {log} AS l JOIN published AS c ON c.token = l.token CROSS JOIN base CROSS JOIN anew
    WHERE l.op <> 'delete' AND c.number > base.number AND c.number >= coalesce(anew.number, 0)
),
told AS (
    SELECT vertex, max_by(op, version) AS op
    FROM (SELECT explode(ends) AS vertex, op, version FROM logged)
    GROUP BY vertex
),
stored AS (
    SELECT v.vertex AS vertex
    FROM {vertices} AS v JOIN base ON v.token = base.token CROSS JOIN anew
    WHERE anew.number IS NULL
)
SELECT
    vertex  -- its name
FROM (
    SELECT s.vertex FROM stored AS s LEFT ANTI JOIN told AS t ON t.vertex = s.vertex
    UNION ALL SELECT vertex FROM told WHERE op <> 'drop'
)
