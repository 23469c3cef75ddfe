# Databricks notebook source
# MAGIC %md
# MAGIC # Package dependencies
# MAGIC
# MAGIC The 64,047 packages of a Debian release with their 282,432 dependencies, and the 660 changes that its security
# MAGIC updates made. An edge leads from a package to one that it needs. Whom does an update concern, and what did the
# MAGIC updates change?

# COMMAND ----------

import os
import time

from dyntc_spark import DynamicClosure, datasets, session

spark = globals().get("spark") or session.local()
edges, changes = datasets.debian_dependencies(), datasets.debian_security_changes()
if os.environ.get("DYNTC_NOTEBOOK_SIZE") == "small":  # a part of the graph
    edges = edges.slice(0, 20_000)

# COMMAND ----------

started = time.perf_counter()
c = DynamicClosure.from_edges(edges, spark=spark)
print(f"{c}, built in {time.perf_counter() - started:.2f} s; {c.stats()['pairs']:,} pairs")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who is concerned?
# MAGIC The packages that need `libssl3`, directly or not, and why one of them does.

# COMMAND ----------

concerned = c.ancestors("libssl3")
print(f"{concerned.count():,} packages need libssl3")
first = concerned.orderBy("vertex").first().vertex
c.explain(first, "libssl3").show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The security updates, as one batch

# COMMAND ----------

before = c.stats()["pairs"]
started = time.perf_counter()
c.apply(changes)
print(f"{changes.num_rows} changes in {(time.perf_counter() - started) * 1e3:.0f} ms")
print(f"{before:,} pairs before, {c.stats()['pairs']:,} after")
c.changes().groupBy("op").count().orderBy("op").show()

# COMMAND ----------

# MAGIC %md
# MAGIC The packages that won most: how many others each of them needs now, directly or not, and did not need before.

# COMMAND ----------

gained = c.changes().where("op = 'insert'").groupBy("src").count()
gained.orderBy("count", "src", ascending=[False, True]).limit(5).show(truncate=False)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The matrix
# MAGIC A graph of this size is drawn as the matrix of its closure: who reaches, and who is reached. A dark spot stands
# MAGIC for many pairs, and a dark column for packages that many others need.

# COMMAND ----------

c.plot()

# COMMAND ----------

# MAGIC %md
# MAGIC Take the changes back, as one more batch, and there are as many pairs as before.

# COMMAND ----------

back = [
    ("insert" if op == "delete" else "delete", src, dst)
    for op, src, dst in zip(*(changes[name].to_pylist() for name in ("op", "src", "dst")), strict=True)
]
c.apply(back)
print(f"{c.stats()['pairs']:,} pairs again")
assert c.stats()["pairs"] == before
