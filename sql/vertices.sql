-- <prefix>_vertices: every vertex that an edge has, or once had, as an end, until it is dropped.
SELECT /*+ BROADCAST(v) */
    v.vertex AS vertex,                  -- the vertex
    size(v.successors) AS out_degree,    -- edges that begin there
    coalesce(i.edges, 0) AS in_degree,   -- edges that lead there
    size(r.reached) - 1 AS descendants   -- other vertices that it reaches
FROM {vertices} AS v
JOIN {rows} AS r ON r.number = v.number
LEFT JOIN (
    SELECT other, count(*) AS edges
    FROM (SELECT explode(successors) AS other FROM {vertices})
    GROUP BY other
) AS i ON i.other = v.number
