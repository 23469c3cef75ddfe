# Databricks notebook source
# MAGIC %md
# MAGIC # Permissions: who may read what?
# MAGIC
# MAGIC People are in groups, groups are in groups, and groups may read tables. An edge leads from a member to its
# MAGIC group, and from a group to what it may read. Whoever reaches a table may read it.
# MAGIC
# MAGIC On Databricks install the wheel first, with the extra `plot`. Elsewhere `python notebooks/01_permissions.py`
# MAGIC runs all of it on a local Spark.

# COMMAND ----------

from dyntc_spark import DynamicClosure, session

spark = globals().get("spark") or session.local()

MEMBERS = [
    ("ada", "engineers"),
    ("grace", "engineers"),
    ("grace", "on_call"),
    ("alan", "contractors"),
    ("engineers", "staff"),
    ("contractors", "staff"),
    ("on_call", "operators"),
    ("operators", "on_call"),
]
GRANTS = [
    ("staff", "table:news"),
    ("engineers", "table:code"),
    ("operators", "table:secrets"),
]

c = DynamicClosure.from_edges(MEMBERS + GRANTS, spark=spark)
print(c)
c.plot()

# COMMAND ----------

# MAGIC %md
# MAGIC The groups `on_call` and `operators` contain each other. Such cycles are allowed, and the picture shows them as
# MAGIC one.
# MAGIC
# MAGIC ## May she, and why?
# MAGIC `reaches` answers for one pair, and needs no Spark. `explain` shows a shortest path. `ancestors` lists
# MAGIC everybody, and every group, that may read a table.

# COMMAND ----------

print("Grace may read the secrets:", c.reaches("grace", "table:secrets"))
print("Alan may read the secrets:", c.reaches("alan", "table:secrets"))
c.explain("grace", "table:secrets").show()
c.ancestors("table:code").orderBy("vertex").show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## In SQL
# MAGIC Views see every later batch without being created again. Who may read what?

# COMMAND ----------

c.create_views("acl")
may_read = """
    SELECT src AS who, sort_array(collect_list(dst)) AS may_read
    FROM acl_closure
    WHERE src IN ('ada', 'grace', 'alan') AND dst LIKE 'table:%'
    GROUP BY src ORDER BY src
"""
spark.sql(may_read).show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Before a revocation
# MAGIC What would Grace lose if she left the engineers? `what_if` takes a batch and changes nothing.

# COMMAND ----------

c.what_if([("delete", "grace", "engineers")]).orderBy("dst").show()
assert c.reaches("grace", "table:code")

# COMMAND ----------

# MAGIC %md
# MAGIC She would lose the code and the news, and keep the secrets, which she may read as a member of `on_call`.
# MAGIC
# MAGIC ## The change
# MAGIC Grace leaves the engineers, and the contractors go on call: one batch, all or nothing. `changes` lists the
# MAGIC pairs that it won (`insert`) and lost (`delete`). The view has the new answer.

# COMMAND ----------

c.apply([("delete", "grace", "engineers"), ("insert", "contractors", "on_call")])
c.changes().where("dst LIKE 'table:%'").orderBy("op", "src", "dst").show()
spark.sql(may_read).show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC So Alan may read the secrets now: he is a contractor. Ada may not. A table of questions has a row for each hop
# MAGIC of the path, and one row without a hop where there is no path.

# COMMAND ----------

c.explain([(who, "table:secrets") for who in ("ada", "alan", "grace")]).orderBy("src", "hop").show()
assert c.reaches("alan", "table:secrets")
assert not c.reaches("ada", "table:secrets")
assert not c.reaches("grace", "table:news")
