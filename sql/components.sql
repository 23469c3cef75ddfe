-- <prefix>_components: the strongly connected component of each vertex: vertices that reach each other.
SELECT /*+ BROADCAST(c) */
    v.vertex AS vertex,     -- the vertex
    c.vertex AS component,  -- a vertex that stands for its component
    c.size AS size          -- how many vertices this has
FROM {vertices} AS v
JOIN (SELECT strong, min_by(vertex, number) AS vertex, count(*) AS size FROM {vertices} GROUP BY strong) AS c
    ON c.strong = v.strong
