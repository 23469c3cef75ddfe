-- The commits that count, for the views of a location: definitions of a WITH clause.
-- Spark reads each table as it is at some moment of its planning. So it can know the row of a commit, and not the rows
-- that the commit has in a table that was read earlier. Such a commit, and those after it, do not count yet. Each table
-- gets the rows of a commit in one step, so a token that is there has all of them.
checkpoints AS (
    SELECT c.token, c.number
    FROM {commits} AS c
    LEFT JOIN (SELECT DISTINCT token FROM {vertices}) AS v ON v.token = c.token
    LEFT JOIN (SELECT DISTINCT token FROM {blocks}) AS b ON b.token = c.token
    WHERE c.checkpoint AND (c.vertices = 0 OR v.token IS NOT NULL AND b.token IS NOT NULL)
),
base AS (SELECT max_by(token, number) AS token, max(number) AS number FROM checkpoints),
absent AS (
    SELECT min(c.number) AS number
    FROM {commits} AS c CROSS JOIN base LEFT JOIN (SELECT DISTINCT token FROM {log}) AS l ON l.token = c.token
    WHERE c.number > base.number AND c.logged > 0 AND l.token IS NULL
),
published AS (
    SELECT c.*
    FROM {commits} AS c CROSS JOIN absent
    WHERE absent.number IS NULL OR c.number < absent.number
),
