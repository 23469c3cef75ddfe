-- <prefix>_what_if(changes): the pairs that a batch would change; nothing is applied.
-- {prefix}_foresee works out the closure of all edges in one task, before the changes and after them.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_what_if(
    changes ARRAY<STRUCT<op: STRING, src: {vertex}, dst: {vertex}>> COMMENT 'insertions and deletions, in their order'
)
RETURNS TABLE (
    src {vertex} COMMENT 'the vertex that would reach, or would no longer',
    dst {vertex} COMMENT 'the vertex that would be reached, or would no longer',
    op STRING COMMENT 'insert: would become reachable; delete: would become unreachable'
)
RETURN
WITH present AS (SELECT collect_list(struct(e.src, e.dst)) AS edges FROM {prefix}_edges AS e)
SELECT p.found.src, p.found.dst, p.found.op
FROM (SELECT explode({prefix}_foresee(edges, coalesce(changes, array()))) AS found FROM present) AS p
