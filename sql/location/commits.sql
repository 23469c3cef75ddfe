-- <prefix>_commits: the versions of the closure, a row each.
WITH {published}
versions AS (SELECT * FROM published WHERE kind IN ('save', 'batch', 'drop', 'reset', 'repair'))
SELECT
    version,             -- the number of the version
    kind,                -- 'save' for the first one, then 'batch', 'drop', 'reset' or 'repair'
    batch_id,            -- the name of the batch, where it was given one
    author,              -- who made it
    time,                -- when
    inserted,            -- edges that it inserted
    deleted,             -- edges that it deleted
    insertions_ignored,  -- insertions of edges that were there
    deletions_ignored,   -- deletions of edges that were not
    vertices,            -- vertices after it
    edges,               -- edges after it
    seconds,             -- how long it took
    won,                 -- pairs that it made reachable, where these are recorded
    lost                 -- pairs that it made unreachable
FROM versions
