-- <prefix>_edges: the edges of the graph, each once.
SELECT
    s.vertex AS src,  -- where the edge begins
    d.vertex AS dst   -- where it leads
FROM (SELECT vertex, explode(successors) AS other FROM {vertices}) AS s
JOIN {vertices} AS d ON d.number = s.other
