# Databricks notebook source
# MAGIC %md
# MAGIC # Permissions with groups in groups
# MAGIC
# MAGIC People are in groups, groups are in groups, groups may read tables. An edge leads from a member to its group
# MAGIC and from a group to what it grants; whoever reaches a table may read it. Groups may contain each other, and
# MAGIC taking a membership away is a deletion: somebody keeps the permission if another path is left.

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
GRANTS = [("staff", "table:news"), ("engineers", "table:code"), ("operators", "table:secrets")]

c = DynamicClosure.from_edges(MEMBERS + GRANTS, spark=spark)
c.plot()

# COMMAND ----------

# MAGIC %md
# MAGIC `on_call` and `operators` contain each other: one node in the picture. Who may read what?

# COMMAND ----------

c.create_views("acl")
may_read = """
    SELECT src AS who, collect_list(dst) AS may_read
    FROM (SELECT src, dst FROM acl_closure WHERE dst LIKE 'table:%' ORDER BY dst)
    WHERE src IN ('ada', 'grace', 'alan')
    GROUP BY src ORDER BY src
"""
spark.sql(may_read).show(truncate=False)
c.explain("grace", "table:secrets").show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Revocation
# MAGIC Grace leaves the engineers, and the contractors become on-call as well: one batch. What did that change?

# COMMAND ----------

c.apply([("delete", "grace", "engineers"), ("insert", "contractors", "on_call")])
c.changes().where("dst LIKE 'table:%'").orderBy("op", "src", "dst").show()
spark.sql(may_read).show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC Is anybody but the on-call people able to read the secrets, and by which path?

# COMMAND ----------

readers = [row.vertex for row in c.ancestors("table:secrets").collect()]
c.explain([(who, "table:secrets") for who in ("ada", "alan", "grace")]).orderBy("src", "hop").show()
assert "ada" not in readers
assert "alan" in readers
