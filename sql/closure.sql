-- <prefix>_closure: the pairs of two different vertices of which the first reaches the second.
SELECT
    r.vertex AS src,  -- the vertex that reaches
    v.vertex AS dst   -- the vertex that is reached
FROM (SELECT number, vertex, explode(reached) AS other FROM {rows}) AS r
JOIN {vertices} AS v ON v.number = r.other
WHERE r.number <> r.other
