-- <prefix>_vertices: every vertex that an edge has, or once had, as an end, until it is dropped.
-- What a vertex reaches is counted without taking runs apart. For each bucket of 64 components, upto[k] is how many
-- vertices the first k of them have, and a run covers a part of some buckets. For what reaches a vertex, runs are taken
-- apart into components, each with the number of vertices in the lanes of its word. What is joined has one row for each
-- value of its key, so that Spark leaves out the counts that a statement does not ask for.
SELECT
    v.vertex AS vertex,                      -- the vertex
    size(v.successors) AS out_degree,        -- edges that begin there
    coalesce(i.edges, 0) AS in_degree,       -- edges that lead there
    coalesce(r.descendants, 0) AS descendants,  -- other vertices that it reaches
    coalesce(a.ancestors, 0) AS ancestors      -- other vertices that reach it
FROM {vertices} AS v
LEFT JOIN (
    WITH
    components AS (SELECT component, stripe, lane, count(*) AS members FROM {vertices} GROUP BY component, stripe, lane),
    found AS (
        SELECT shiftright(component, 6) AS bucket, collect_list(struct(component & 63 AS place, members)) AS found
        FROM components
        GROUP BY shiftright(component, 6)
    ),
    buckets AS (
        SELECT
            bucket,
            transform(
                sequence(0, 64), k -> aggregate(found, 0L, (total, c) -> total + if(c.place < k, c.members, 0L))
            ) AS upto
        FROM found
    ),
    parts AS (
        SELECT *, explode(sequence(shiftright(first, 6), shiftright(last, 6))) AS bucket FROM {runs}
    ),
    counted AS (
        SELECT /*+ BROADCAST(b) */ p.stripe, p.word, upto[least(last - 64 * p.bucket, 63) + 1] - upto[greatest(first - 64 * p.bucket, 0)] AS many
        FROM parts AS p
        JOIN buckets AS b ON b.bucket = p.bucket
    )
    SELECT /*+ BROADCAST(c) */ c.component, CAST(sum(n.many) - if(max(c.members) > 1, 1, 0) AS INT) AS descendants
    FROM counted AS n
    JOIN components AS c ON c.stripe = n.stripe AND shiftrightunsigned(n.word, c.lane) & 1 = 1
    GROUP BY c.component
) AS r ON r.component = v.component
LEFT JOIN (
    WITH
    components AS (SELECT component, stripe, lane, count(*) AS members FROM {vertices} GROUP BY component, stripe, lane),
    stripes AS (SELECT stripe, collect_list(struct(lane, members)) AS lanes FROM components GROUP BY stripe),
    weighed AS (
        SELECT /*+ BROADCAST(s) */
            explode(sequence(first, last)) AS component,
            aggregate(s.lanes, 0L, (total, l) -> total + if(shiftrightunsigned(word, l.lane) & 1 = 1, l.members, 0L)) AS many
        FROM {runs} AS p
        JOIN stripes AS s ON s.stripe = p.stripe
    )
    SELECT /*+ BROADCAST(c) */ c.component, CAST(sum(w.many) - if(max(c.members) > 1, 1, 0) AS INT) AS ancestors
    FROM weighed AS w
    JOIN components AS c ON c.component = w.component
    GROUP BY c.component
) AS a ON a.component = v.component
LEFT JOIN (
    SELECT other, count(*) AS edges
    FROM (SELECT explode(successors) AS other FROM {vertices})
    GROUP BY other
) AS i ON i.other = v.number
