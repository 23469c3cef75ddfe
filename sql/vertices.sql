-- <prefix>_vertices: every vertex that an edge has, or once had, as an end.
SELECT
    r.vertex AS vertex,                  -- the vertex
    coalesce(o.edges, 0) AS out_degree,  -- edges that begin there
    coalesce(i.edges, 0) AS in_degree,   -- edges that lead there
    size(r.reached) - 1 AS descendants   -- other vertices that it reaches
FROM {rows} AS r
LEFT JOIN (SELECT src, count(*) AS edges FROM {edges} GROUP BY src) AS o ON o.src = r.vertex
LEFT JOIN (SELECT dst, count(*) AS edges FROM {edges} GROUP BY dst) AS i ON i.dst = r.vertex
