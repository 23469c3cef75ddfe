-- <prefix>_changes: the pairs that each version made reachable or unreachable, since these are recorded.
WITH {published}
recorded AS (SELECT * FROM {changes} WHERE version <= (SELECT it FROM state).head)
SELECT
    version,  -- the version that changed the pair
    op,       -- 'insert': became reachable, 'delete': became unreachable
    src,      -- the vertex that reaches, or did
    dst       -- the vertex that is reached, or was
FROM recorded
