-- <prefix>_edges: the edges of the graph, each once.
SELECT
    src,  -- where the edge begins
    dst   -- where it leads
FROM {edges}
