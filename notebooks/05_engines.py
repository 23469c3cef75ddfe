# Databricks notebook source
# MAGIC %md
# MAGIC # Engines side by side
# MAGIC
# MAGIC Seven engines keep the same closure, by different algorithms. Here all of them follow one sequence of changes
# MAGIC of a random graph. They answer the same, and differ in their times. The graph has no cycles, because the engine
# MAGIC that counts paths takes no others.

# COMMAND ----------

import os
import time

import numpy as np
from matplotlib import pyplot as plt

from dyntc_spark import DynamicClosure, session
from dyntc_spark.engines.registry import ENGINES

spark = globals().get("spark") or session.local()
small = os.environ.get("DYNTC_NOTEBOOK_SIZE") == "small"
VERTICES, EDGES, BATCHES, SIZE = (20, 40, 2, 3) if small else (120, 300, 5, 4)

# COMMAND ----------

random = np.random.default_rng(7)


def some_edges(count):
    """Return random edges from lower to higher numbers."""
    ends = np.sort(random.integers(VERTICES, size=(2 * count, 2)), axis=1)
    return [(int(tail), int(head)) for tail, head in ends if tail < head][:count]


start = some_edges(EDGES)
there, batches = set(start), []
for _ in range(BATCHES):
    gone = [sorted(there)[place] for place in random.choice(len(there), SIZE, replace=False)]
    new = [edge for edge in some_edges(SIZE) if edge not in there]
    there = there - set(gone) | set(new)
    batches.append([("delete", *edge) for edge in gone] + [("insert", *edge) for edge in new])

# COMMAND ----------


def followed(name):
    """Let an engine follow the changes; return its closure, and ms for the build and for a batch (the median)."""
    begun = time.perf_counter()
    c = DynamicClosure.from_edges(start, spark=spark, engine=name)
    build = time.perf_counter() - begun
    seconds = []
    for batch in batches:
        begun = time.perf_counter()
        c.apply(batch)
        seconds.append(time.perf_counter() - begun)
    return c, round(build * 1e3, 2), round(float(np.median(seconds)) * 1e3, 2)


closures, rows = {}, []
for name in ENGINES:
    followed(name)  # the first time its kernels are compiled, which should not count
    closures[name], build, batch = followed(name)
    rows.append((name, build, batch, closures[name].stats()["pairs"]))
spark.createDataFrame(rows, "engine string, build_ms double, batch_ms double, pairs long").orderBy("batch_ms").show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## The same answers

# COMMAND ----------

asked = [(v, w) for v in range(0, VERTICES, 3) for w in range(0, VERTICES, 7)]
answers = {name: c.arrow.query(asked, unknown="false")["reachable"].to_pylist() for name, c in closures.items()}
assert all(answer == answers["recompute"] for answer in answers.values())
print(f"{len(asked)} questions, {sum(answers['recompute'])} times yes, by every one of {', '.join(answers)}")

# COMMAND ----------

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.barh([name for name, *_ in rows], [batch for *_, batch, _ in rows])
left.set(xscale="log", xlabel=f"ms for a batch of about {2 * SIZE} changes")
closures["recompute"].plot(ax=right)

# COMMAND ----------

# MAGIC %md
# MAGIC ## How many paths?
# MAGIC The engine of section 7 of the paper counts them.

# COMMAND ----------

closures["path_counting"].query(asked[:200]).where("paths > 1").orderBy("paths", ascending=False).show(5)
