-- <prefix>_stats: one row about the closure and its history.
SELECT
    version,             -- batches since the closure was made
    vertices,            -- vertices, those without edges included
    edges,               -- edges
    pairs,               -- pairs of two different vertices of which the first reaches the second
    inserted,            -- edges that batches have inserted
    deleted,             -- edges that batches have deleted
    insertions_ignored,  -- insertions of edges that were there
    deletions_ignored,   -- deletions of edges that were not
    engine,              -- the engine that keeps the closure
    backend,             -- where its state is
    details              -- what the engine says about its work
FROM {stats}
