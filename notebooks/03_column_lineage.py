# Databricks notebook source
# MAGIC %md
# MAGIC # Column lineage
# MAGIC
# MAGIC A column is made from other columns, which are made from others. An edge leads from a column to one that is
# MAGIC made from it. Where does personal data end up? What breaks when a column is dropped? Where does a number come
# MAGIC from?

# COMMAND ----------

from dyntc_spark import DynamicClosure, session

spark = globals().get("spark") or session.local()

# What each job writes, and the columns that it reads for that.
JOBS = {
    "silver.people.id": ["crm.customers.id"],
    "silver.people.contact": ["crm.customers.email", "crm.customers.phone"],
    "silver.orders.person": ["shop.orders.customer", "silver.people.id"],
    "silver.orders.euros": ["shop.orders.amount", "bank.rates.rate"],
    "gold.revenue.person": ["silver.orders.person"],
    "gold.revenue.euros": ["silver.orders.euros"],
    "gold.mailing.address": ["silver.people.contact", "gold.revenue.euros"],
    "report.board.total": ["gold.revenue.euros"],
}
rows = [(source, made) for made, sources in JOBS.items() for source in sources]
edges = spark.createDataFrame(rows, "source string, made string")
c = DynamicClosure.from_edges(edges, src="source", dst="made")
print(c)
c.plot()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where does personal data end up?
# MAGIC The descendants of the columns that hold it. A table of columns gives a row for each answer, and keeps its own
# MAGIC columns.

# COMMAND ----------

personal = spark.createDataFrame(
    [("crm.customers.email", "contact"), ("crm.customers.phone", "contact"), ("crm.customers.id", "identity")],
    "vertex string, kind string",
)
marked = c.descendants(personal)
marked.select("kind", "descendant").distinct().orderBy("kind", "descendant").show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Where does this number come from?
# MAGIC The board's total comes from two columns of sources: those of its ancestors that are roots, which nothing leads
# MAGIC to.

# COMMAND ----------

sources = c.ancestors("report.board.total").join(c.roots(), "vertex")
sources.orderBy("vertex").show(truncate=False)
c.explain("bank.rates.rate", "report.board.total").show(truncate=False)
assert sources.count() == 2

# COMMAND ----------

# MAGIC %md
# MAGIC ## What breaks when a column goes?
# MAGIC `what_if` says which columns would no longer get anything from the bank's rates, and changes nothing.

# COMMAND ----------

lost = c.what_if([("delete", "bank.rates.rate", "silver.orders.euros")])
lost.select("op", "dst").orderBy("dst").show(truncate=False)
assert c.version == 0

# COMMAND ----------

# MAGIC %md
# MAGIC ## From columns to tables
# MAGIC The closure is a view. Cut off the names of the columns, and it is the lineage of tables.

# COMMAND ----------

c.create_views("cols")
tables = """
    SELECT DISTINCT substring_index(src, '.', 2) AS source, substring_index(dst, '.', 2) AS made
    FROM cols_closure
    WHERE substring_index(dst, '.', 2) = 'gold.mailing'
    ORDER BY source
"""
spark.sql(tables).show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The mailing is mended
# MAGIC It no longer reads contacts. `changes` lists the pairs that are gone, for the audit, and no personal data
# MAGIC reaches it now.

# COMMAND ----------

c.delete([("silver.people.contact", "gold.mailing.address")])
c.changes().orderBy("src").show(truncate=False)
left = c.descendants(personal).where("descendant LIKE 'gold.mailing%'")
print("Columns of the mailing that personal data still reaches:", left.count())
assert left.count() == 0
