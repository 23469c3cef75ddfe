# Databricks notebook source
# MAGIC %md
# MAGIC # A table for BI
# MAGIC
# MAGIC Dashboards and SQL warehouses want a table. `publish` keeps one with all pairs, `src` and `dst`, which follows
# MAGIC every batch. Whoever reads it needs neither Python nor this library. `publish` needs Delta.

# COMMAND ----------

import tempfile

from matplotlib import pyplot as plt

from dyntc_spark import DynamicClosure, session

spark = globals().get("spark") or session.local()
folder = tempfile.mkdtemp(prefix="published-")
location, table = f"{folder}/lineage", f"{folder}/closure"  # on Databricks: "main.lineage", "main.reports.closure"

c = DynamicClosure.from_edges(
    [
        ("crm.customers", "silver.customers"),
        ("web.clicks", "silver.sessions"),
        ("silver.customers", "silver.sessions"),
        ("silver.sessions", "gold.funnel"),
        ("silver.customers", "gold.revenue"),
        ("gold.revenue", "report.board"),
        ("gold.funnel", "report.board"),
    ],
    spark=spark,
)
c.save(location, publish=table)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What the dashboard reads
# MAGIC Plain SQL over the table, joined with a table that says who owns what: which teams depend on which source?

# COMMAND ----------

OWNERS = [("gold.funnel", "marketing"), ("gold.revenue", "finance"), ("report.board", "finance")]
spark.createDataFrame(OWNERS, "name string, team string").createOrReplaceTempView("owners")
teams = f"""
    SELECT p.src AS source, sort_array(collect_set(o.team)) AS teams, count(*) AS tables
    FROM delta.`{table}` AS p JOIN owners AS o ON o.name = p.dst
    WHERE p.src IN ('crm.customers', 'web.clicks')
    GROUP BY p.src ORDER BY p.src
"""
spark.sql(teams).show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The graph changes
# MAGIC Sessions are no longer joined with customers. The same statement has the new answer: marketing no longer
# MAGIC depends on `crm.customers`.

# COMMAND ----------

c.delete([("silver.customers", "silver.sessions")])
spark.sql(teams).show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Each version is one commit
# MAGIC The history of the table says which version of the closure it shows, and its change data feed which pairs came
# MAGIC and went.

# COMMAND ----------

history = spark.sql(f"DESCRIBE HISTORY delta.`{table}`")
history.where("userMetadata IS NOT NULL").selectExpr(
    "version", "operation", "get_json_object(userMetadata, '$.version') AS version_of_the_closure"
).orderBy("version").show(truncate=False)
last = history.agg({"version": "max"}).first()[0]
feed = spark.read.option("readChangeFeed", "true").option("startingVersion", last).format("delta").load(table)
feed.select("_change_type", "src", "dst").orderBy("src", "dst").show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## A chart
# MAGIC How many tables depend on each: the count of its rows in the published table.

# COMMAND ----------

counts = spark.read.format("delta").load(table).groupBy("src").count().orderBy("count", "src").collect()
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.barh([row["src"] for row in counts], [row["count"] for row in counts], color="#2a7f78")
ax.set_xlabel("tables that depend on it")
ax.locator_params(axis="x", integer=True)
assert sum(row["count"] for row in counts) == c.pairs().count()
