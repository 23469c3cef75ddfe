-- The pairs that a checkpoint has as runs (see sql/closure.sql): definitions of a WITH clause. {token} is its token.
lanes AS (
    SELECT number, vertex, component, stripe, lane{part} FROM {vertices} WHERE token = {token}
),
unfolded AS (
    SELECT stripe, word{part}, explode(sequence(first, last)) AS component FROM {runs} WHERE token = {token}
),
stored AS (
    SELECT /*+ BROADCAST(d), BROADCAST(s) */ s.vertex AS src, d.vertex AS dst
    FROM unfolded AS r
    JOIN lanes AS d ON d.component = r.component
    JOIN lanes AS s ON s.stripe = r.stripe{same_part} AND shiftrightunsigned(r.word, s.lane) & 1 = 1
    WHERE s.number <> d.number
)
