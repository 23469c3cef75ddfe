-- <prefix>_changes: the pairs that each version made reachable or unreachable, since these are recorded.
WITH {published}
head AS (SELECT max(version) AS version FROM published)
SELECT
    k.version AS version,  -- the version that changed the pair
    op,                    -- 'insert': became reachable, 'delete': became unreachable
    src,                   -- the vertex that reaches, or did
    dst                    -- the vertex that is reached, or was
FROM {changes} AS k JOIN head ON k.version <= head.version
