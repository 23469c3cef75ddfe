# Databricks notebook source
# MAGIC %md
# MAGIC # Data lineage as a stream
# MAGIC
# MAGIC Jobs read tables and write tables; every run reports its edges. The reports arrive as files, a stream reads
# MAGIC them, and each micro-batch is one atomic batch of the closure: the impact of a change is known as soon as the
# MAGIC report is in.

# COMMAND ----------

import json
import tempfile
from pathlib import Path

from dyntc_spark import DynamicClosure, session

spark = globals().get("spark") or session.local()
DAYS = [
    [
        ("insert", "crm", "bronze.customers"),
        ("insert", "web", "bronze.clicks"),
        ("insert", "bronze.customers", "silver.customers"),
    ],
    [("insert", "bronze.clicks", "silver.sessions"), ("insert", "silver.customers", "silver.sessions")],
    [("insert", "silver.sessions", "gold.funnel"), ("insert", "silver.customers", "gold.revenue")],
    [("delete", "silver.customers", "silver.sessions"), ("insert", "gold.revenue", "report.board")],
]
landing = Path(tempfile.mkdtemp(prefix="lineage-"))
c = DynamicClosure.from_edges([("crm", "bronze.customers")], spark=spark)
history = []

# COMMAND ----------

# MAGIC %md
# MAGIC ## One report, one batch

# COMMAND ----------


def arrive(changes, batch):
    """Apply what a micro-batch brought, and note what it changed."""
    c.apply(changes)
    history.append((batch, c.stats()["edges"], c.stats()["pairs"], c.changes().count()))


def report(day):
    """Let the report of a day land as a file."""
    lines = [json.dumps(dict(zip(("op", "src", "dst"), change, strict=True))) for change in DAYS[day]]
    (landing / f"day-{day}.json").write_text("\n".join(lines))


# COMMAND ----------

# MAGIC %md
# MAGIC On a classic session the stream hands its micro-batches to this process. With Spark Connect, where functions
# MAGIC of a stream run on the server, the same files are read one by one.

# COMMAND ----------

for day in range(len(DAYS)):
    report(day)
    if session.is_connect(spark):
        arrive(spark.createDataFrame(DAYS[day], "op string, src string, dst string"), day)
        continue
    stream = spark.readStream.schema("op string, src string, dst string").json(str(landing)).writeStream
    stream = stream.foreachBatch(arrive).option("checkpointLocation", str(landing / "checkpoint"))
    stream.trigger(availableNow=True).start().awaitTermination()

spark.createDataFrame(history, "batch int, edges int, pairs int, changed int").show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Impact
# MAGIC The customer table is wrong since this morning. What is spoilt, and how does the board's report depend on it?

# COMMAND ----------

c.descendants("silver.customers").orderBy("vertex").show()
c.explain("crm", "report.board").show()
c.plot()
assert c.reaches("crm", "report.board")
assert not c.reaches("silver.customers", "gold.funnel")
assert len(history) == len(DAYS)
