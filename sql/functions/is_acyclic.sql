-- <prefix>_is_acyclic(): whether the graph has no cycle; a self-loop is one.
CREATE OR REPLACE TEMPORARY FUNCTION {prefix}_is_acyclic()
RETURNS BOOLEAN
RETURN
SELECT count(*) = 0
FROM (
    SELECT vertex FROM {prefix}_components WHERE size > 1
    UNION ALL SELECT src FROM {prefix}_edges WHERE src = dst
)
