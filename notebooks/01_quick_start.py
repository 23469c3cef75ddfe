# Databricks notebook source
# MAGIC %md
# MAGIC # Quick start
# MAGIC
# MAGIC Which vertices of a directed graph reach which others, kept up to date while edges come and go. On Databricks
# MAGIC install the wheel first (`%pip install dyntc-spark[plot]`); elsewhere `python notebooks/01_quick_start.py`
# MAGIC runs everything on a local Spark.

# COMMAND ----------

from dyntc_spark import DynamicClosure, session

spark = globals().get("spark") or session.local()

# COMMAND ----------

# MAGIC %md
# MAGIC ## A graph
# MAGIC An edge leads from `src` to `dst`; here: a package and one that it needs. Edges may also come as a Spark
# MAGIC DataFrame, a pandas or an Arrow table; vertices may have any type that can be compared.

# COMMAND ----------

c = DynamicClosure.from_edges(
    [
        ("shop", "django"),
        ("shop", "requests"),
        ("django", "sqlparse"),
        ("requests", "urllib3"),
        ("requests", "certifi"),
        ("urllib3", "brotli"),
    ],
    spark=spark,
)
print(c)
print("shop needs brotli:", c.reaches("shop", "brotli"))

# COMMAND ----------

c.explain("shop", "brotli").show()  # why: a shortest path
c.ancestors("urllib3").show()  # who is concerned when urllib3 changes
c.query([("shop", "certifi"), ("django", "certifi")]).show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Changes
# MAGIC A batch is atomic and counts by its net effect. `changes()` tells which pairs became reachable or unreachable.

# COMMAND ----------

c.apply([("delete", "requests", "urllib3"), ("insert", "requests", "httpx"), ("insert", "httpx", "certifi")])
c.changes().orderBy("op", "src", "dst").show()
print("shop needs brotli:", c.reaches("shop", "brotli"))

# COMMAND ----------

# MAGIC %md
# MAGIC Cycles are welcome: `certifi` starts to need `shop`, and all of them need each other.

# COMMAND ----------

c.insert([("certifi", "shop")])
print("django needs itself by way of others:", c.reaches("certifi", "requests") and c.reaches("requests", "certifi"))
c.plot()

# COMMAND ----------

# MAGIC %md
# MAGIC ## SQL
# MAGIC Views and table functions see every later batch without being created again.

# COMMAND ----------

c.create_views("deps")
spark.sql("SELECT dst AS package, count(*) AS needed_by FROM deps_closure GROUP BY dst ORDER BY needed_by DESC").show()
c.delete([("certifi", "shop")])
spark.sql("SELECT * FROM deps_descendants('shop') ORDER BY vertex").show()
spark.sql("SELECT * FROM deps_path('shop', 'certifi')").show()
assert not c.reaches("certifi", "shop")
