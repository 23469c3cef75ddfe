-- <prefix>_closure: the pairs of two different vertices of which the first reaches the second.
SELECT /*+ BROADCAST(d) */
    s.vertex AS src,                -- the vertex that reaches
    d.vertex AS dst,                -- the vertex that is reached
    get(s.paths, s.place) AS paths  -- how many paths lead there; null where the engine does not count them
FROM (
    SELECT number, vertex, paths, posexplode(reached) AS (place, other)
    FROM {rows}
) AS s
JOIN {vertices} AS d ON d.number = s.other
WHERE s.number <> s.other
