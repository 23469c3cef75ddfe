-- <prefix>_closure: the pairs of two different vertices of which the first reaches the second.
-- A run is taken apart into what it reaches first, and into the lanes that reach it last: a filter on either end
-- leaves little to do after it. Spark takes runs that tasks read out of blocks for few, and would broadcast them, by way
-- of the driver: the vertices are to be broadcast instead.
SELECT /*+ BROADCAST(d), BROADCAST(s) */
    s.vertex AS src,   -- the vertex that reaches
    d.vertex AS dst,   -- the vertex that is reached
    r.paths AS paths   -- how many paths lead there; null where the engine does not count them
FROM (SELECT stripe, word, paths, explode(sequence(first, last)) AS component FROM {runs}) AS r
JOIN {vertices} AS d ON d.component = r.component
JOIN {vertices} AS s ON s.stripe = r.stripe AND shiftrightunsigned(r.word, s.lane) & 1 = 1
WHERE s.number <> d.number
