-- <prefix>_changes: the pairs that the last batch changed.
SELECT
    src,     -- the vertex that reaches, or did
    dst,     -- the vertex that is reached, or was
    op,      -- 'insert': became reachable, 'delete': became unreachable
    version  -- the version that the batch made
FROM {changes}
