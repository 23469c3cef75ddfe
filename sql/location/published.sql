-- The commits that count, for the views of a location: definitions of a WITH clause.
-- Spark reads each table as it is at some moment of its planning. So it can know the row of a commit, and not the rows
-- that the commit has in a table that was read earlier. Such a commit, and those after it, do not count yet. Each table
-- gets the rows of a commit in one step, so a token that is there has all of them. The pairs that a version changed are
-- written to the table changes after its commit; it counts when they are there. A version of which nobody could
-- say how many they are is followed by another one only when they are there.
checkpoints AS (
    SELECT c.token, c.number, c.version
    FROM {commits} AS c
    LEFT JOIN (SELECT DISTINCT token FROM {vertices}) AS v ON v.token = c.token
    LEFT JOIN (SELECT DISTINCT token FROM {runs}) AS r ON r.token = c.token
    WHERE c.checkpoint AND c.format > 1
        AND (c.vertices = 0 OR v.token IS NOT NULL) AND (c.runs = 0 OR r.token IS NOT NULL)
),
base AS (
    SELECT max_by(token, number) AS token, max(number) AS number, max_by(version, number) AS version FROM checkpoints
),
absent AS (
    SELECT min(c.number) AS number
    FROM (
        SELECT *, max(number) OVER (PARTITION BY kind IN ('batch', 'reset', 'drop')) AS last FROM {commits}
    ) AS c
    CROSS JOIN base
    LEFT JOIN (SELECT DISTINCT token FROM {log}) AS l ON l.token = c.token
    LEFT JOIN (SELECT DISTINCT version FROM {changes}) AS k ON k.version = c.version
    WHERE c.number > base.number AND c.logged > 0
        AND (l.token IS NULL OR c.recording AND k.version IS NULL AND coalesce(c.won + c.lost > 0, c.number = c.last))
),
published AS (
    SELECT c.*
    FROM {commits} AS c CROSS JOIN absent
    WHERE absent.number IS NULL OR c.number < absent.number
),
