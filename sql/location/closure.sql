-- <prefix>_closure: the pairs of two different vertices of which the first reaches the second, at the last version.
-- The last checkpoint has them as runs (see sql/closure.sql); the pairs that changed since then are in the table changes.
-- Where a later batch has not recorded what it changed, nobody can tell from tables: that is an error, and no guess.
WITH {published}
start AS (
    SELECT
        if(
            it.unrecorded IS NULL,
            it.token,
            raise_error(concat(
                'expected the closure at version ', it.unrecorded, '; got a checkpoint at version ', it.version,
                ' and batches since then that have not recorded what they changed.',
                ' Have the writer call save(location, record_changes=True).'
            ))
        ) AS token
    FROM (SELECT (SELECT it FROM state) AS it)
),
net AS (
    SELECT src, dst, max_by(op, version) AS op
    FROM {changes}
    WHERE version > (SELECT it FROM state).version AND version <= (SELECT it FROM state).head
    GROUP BY src, dst
),
{stored}
SELECT
    src,  -- the vertex that reaches
    dst   -- the vertex that is reached
FROM (
    SELECT p.src, p.dst FROM stored AS p LEFT ANTI JOIN net AS n ON n.src = p.src AND n.dst = p.dst
    UNION ALL SELECT src, dst FROM net WHERE op = 'insert'
)
