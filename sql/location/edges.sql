-- <prefix>_edges: the edges at the last version that is published.
-- The last checkpoint has them as stripes of numbers: 32 bytes of header, the length of each row, then the rows, all
-- as integers of 4 bytes, the lowest first. What was logged since then is added to it.
WITH {published}
anew AS (
    SELECT max(c.number) AS number
    FROM published AS c CROSS JOIN base
    WHERE c.kind = 'reset' AND c.number > base.number
),
logged AS (
    SELECT l.src AS src, l.dst AS dst, max_by(l.op, l.version) AS op
    FROM {log} AS l JOIN published AS c ON c.token = l.token CROSS JOIN base CROSS JOIN anew
    WHERE l.op IN ('insert', 'delete') AND c.number > base.number AND c.number >= coalesce(anew.number, 0)
    GROUP BY l.src, l.dst
),
stripes AS (
    SELECT b.payload AS payload, CAST((length(b.payload) - 32) DIV 4 AS INT) AS numbers
    FROM {blocks} AS b JOIN base ON b.token = base.token CROSS JOIN anew
    WHERE b.matrix = 'edges' AND anew.number IS NULL
),
digits AS (
    SELECT
        transform(array(8, 12), k -> hex(substring(payload, k + 1, 4))) AS header,
        transform(sequence(0, numbers - 1), k -> hex(substring(payload, 33 + 4 * k, 4))) AS body
    FROM stripes
    WHERE numbers > 0
),
decoded AS (
    SELECT transform(header, h -> {integer}) AS header, transform(body, h -> {integer}) AS body FROM digits
),
zipped AS (
    SELECT
        flatten(transform(slice(body, 1, header[1]), (many, place) -> array_repeat(header[0] + place, many))) AS source,
        slice(body, header[1] + 1, size(body) - header[1]) AS target
    FROM decoded
),
stored AS (SELECT inline(arrays_zip(source, target)) FROM zipped),
named AS (
    SELECT s.vertex AS src, t.vertex AS dst
    FROM stored CROSS JOIN base
    JOIN {vertices} AS s ON s.number = stored.source AND s.token = base.token
    JOIN {vertices} AS t ON t.number = stored.target AND t.token = base.token
)
SELECT
    src,  -- where the edge begins
    dst   -- where it leads
FROM (
    SELECT n.src, n.dst FROM named AS n LEFT ANTI JOIN logged AS l ON n.src = l.src AND n.dst = l.dst
    UNION ALL SELECT src, dst FROM logged WHERE op = 'insert'
)
