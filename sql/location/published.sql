-- The commits that count, for the views of a location: definitions of a WITH clause.
-- Spark reads each table as it is at some moment of its planning. So it can know the row of a commit, and not the rows
-- that the commit has in a table that was read earlier. Such a commit, and those after it, do not count yet. Each table
-- gets the rows of a commit in one step, so a token that is there has all of them. The pairs that a version changed are
-- written to the table changes after its commit; it counts when they are there. A version of which nobody could
-- say how many they are is followed by another one only when they are there.
seen AS (
    SELECT
        c.*,
        (c.vertices = 0 OR v.token IS NOT NULL) AND (c.runs = 0 OR r.token IS NOT NULL) AS is_whole,
        l.token IS NOT NULL AS is_logged,
        k.version IS NOT NULL AS is_recorded,
        max(c.number) OVER (PARTITION BY c.kind IN ('batch', 'reset', 'drop')) AS last_of_kind
    FROM {commits} AS c
    LEFT JOIN (SELECT DISTINCT token FROM {vertices}) AS v ON v.token = c.token
    LEFT JOIN (SELECT DISTINCT token FROM {runs}) AS r ON r.token = c.token
    LEFT JOIN (SELECT DISTINCT token FROM {log}) AS l ON l.token = c.token
    LEFT JOIN (SELECT DISTINCT version FROM {changes}) AS k ON k.version = c.version
),
based AS (
    SELECT *, max(if(checkpoint AND format > 1 AND is_whole, number, NULL)) OVER (PARTITION BY 1) AS base FROM seen
),
bounded AS (
    SELECT
        *,
        min(if(
            number > base AND logged > 0
                AND (NOT is_logged OR recording AND NOT is_recorded AND coalesce(won + lost > 0, number = last_of_kind)),
            number, NULL
        )) OVER (PARTITION BY 1) AS absent
    FROM based
),
published AS (
    SELECT *, max(if(kind = 'reset' AND number > base, number, NULL)) OVER (PARTITION BY 1) AS anew
    FROM bounded
    WHERE absent IS NULL OR number < absent
),
-- One value, so that Spark works it out once for a whole statement: views ask for it as a scalar subquery.
state AS (
    SELECT named_struct(
        'token', max(token) FILTER (WHERE number = base),       -- of the last checkpoint
        'version', max(version) FILTER (WHERE number = base),   -- of the last checkpoint
        'head', max(version),                                   -- the last version
        'anew', max(anew),                                      -- the commit that began anew after the checkpoint
        'tokens', collect_list(token) FILTER (WHERE number > base AND logged > 0 AND number >= coalesce(anew, 0)),
        'unrecorded',
        max(version) FILTER (WHERE number > base AND logged > 0 AND kind IN ('batch', 'reset') AND NOT recording)
    ) AS it
    FROM published
),
