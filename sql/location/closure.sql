-- <prefix>_closure: the pairs of two different vertices of which the first reaches the second, at the last version.
-- The last checkpoint has them as runs (see sql/closure.sql); the pairs that changed since then are in the table changes.
-- Where a later batch has not recorded what it changed, nobody can tell from tables: that is an error, and no guess.
WITH {published}
unrecorded AS (
    SELECT max(c.version) AS version
    FROM published AS c CROSS JOIN base
    WHERE c.number > base.number AND c.logged > 0 AND c.kind IN ('batch', 'reset') AND NOT c.recording
),
start AS (
    SELECT
        if(
            unrecorded.version IS NULL,
            base.token,
            raise_error(concat(
                'expected the closure at version ', unrecorded.version, '; got a checkpoint at version ', base.version,
                ' and batches since then that have not recorded what they changed.',
                ' Have the writer call save(location, record_changes=True).'
            ))
        ) AS token
    FROM base CROSS JOIN unrecorded
),
net AS (
    SELECT k.src AS src, k.dst AS dst, max_by(k.op, k.version) AS op
    FROM {changes} AS k CROSS JOIN base CROSS JOIN (SELECT max(version) AS version FROM published) AS head
    WHERE k.version > base.version AND k.version <= head.version
    GROUP BY k.src, k.dst
),
lanes AS (
    SELECT number, vertex, component, stripe, lane FROM {vertices} WHERE token = (SELECT token FROM start)
),
unfolded AS (
    SELECT stripe, word, explode(sequence(first, last)) AS component FROM {runs} WHERE token = (SELECT token FROM start)
),
stored AS (
    SELECT /*+ BROADCAST(d), BROADCAST(s) */ s.vertex AS src, d.vertex AS dst
    FROM unfolded AS r
    JOIN lanes AS d ON d.component = r.component
    JOIN lanes AS s ON s.stripe = r.stripe AND shiftrightunsigned(r.word, s.lane) & 1 = 1
    WHERE s.number <> d.number
)
SELECT
    src,  -- the vertex that reaches
    dst   -- the vertex that is reached
FROM (
    SELECT p.src, p.dst FROM stored AS p LEFT ANTI JOIN net AS n ON n.src = p.src AND n.dst = p.dst
    UNION ALL SELECT src, dst FROM net WHERE op = 'insert'
)
