# Databricks notebook source
# MAGIC %md
# MAGIC # Data lineage as a stream
# MAGIC
# MAGIC Jobs read tables and write tables, and every run reports its edges. The reports arrive as files, and a stream
# MAGIC reads them. Each micro-batch is one batch of the closure, applied once, whatever fails in between. The closure
# MAGIC is kept in Delta tables, so this needs a session with Delta.

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
folder = Path(tempfile.mkdtemp(prefix="lineage-"))
landing, location, checkpoint = folder / "landing", str(folder / "closure"), str(folder / "checkpoint")
landing.mkdir()
c = DynamicClosure.from_edges([("crm", "bronze.customers")], spark=spark)
c.save(location)

# COMMAND ----------

# MAGIC %md
# MAGIC ## One report, one batch
# MAGIC `available_now=True` takes what is there and ends, as a scheduled job would. Without it the stream goes on, and
# MAGIC `stream.stop()` ends it.

# COMMAND ----------


def report(day):
    """Let the report of a day land as a file."""
    lines = [json.dumps(dict(zip(("op", "src", "dst"), change, strict=True))) for change in DAYS[day]]
    (landing / f"day-{day}.json").write_text("\n".join(lines))


reports = spark.readStream.schema("op string, src string, dst string").option("maxFilesPerTrigger", 1)
reports = reports.json(str(landing))
report(0)
report(1)
c.stream(reports, checkpoint=checkpoint, available_now=True).await_termination()
print(c)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The next morning
# MAGIC The closure is opened from its tables, as another process would do it, and goes on with the same checkpoint.
# MAGIC There are two new reports; those of the first two days are not applied again.

# COMMAND ----------

c = DynamicClosure.open(location, spark=spark)
report(2)
report(3)
c.stream(reports, checkpoint=checkpoint, available_now=True).await_termination()
c.history().select("version", "batch_id", "inserted", "deleted", "edges").show()
assert c.version == len(DAYS)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What changed, for the next job
# MAGIC The table `changes` has the pairs that each version won and lost. It can be read as a stream.

# COMMAND ----------

changes = spark.read.format("delta").load(f"{location}/changes")
changes.groupBy("version", "op").count().orderBy("version", "op").show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Impact
# MAGIC `silver.customers` is wrong since this morning. Which tables are wrong with it, and how does the board's report
# MAGIC depend on the source `crm`?

# COMMAND ----------

c.descendants("silver.customers").orderBy("vertex").show()
c.explain("crm", "report.board").show()
c.plot()
assert c.reaches("crm", "report.board")
assert not c.reaches("silver.customers", "gold.funnel")
