"""What works where there is no pyspark, as a script: python without_pyspark.py FOLDER [--absent]."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path


class Absent:
    """Hides pyspark, so that an environment that has it seems to have none."""

    def find_spec(self, name, _path=None, _target=None):
        if name.split(".")[0] in {"pyspark", "py4j", "delta"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def in_process(folder):
    """Build, change, ask, save and open; in Python and from the command line."""
    import pyarrow as pa

    from dyntc_spark import DynamicClosure, LabelledGraph, datasets
    from dyntc_spark.cli.main import main
    from dyntc_spark.importers import group_memberships

    c = DynamicClosure.from_edges([("a", "b"), ("b", "c")])
    assert c.reaches("a", "c")
    c.apply([("delete", "b", "c"), ("insert", "a", "d")])
    assert (c.reaches("a", "d"), c.reaches("a", "c"), c.arrow.pairs().num_rows) == (True, False, 2)
    assert c.arrow.changes().num_rows == 3
    c.save(str(folder / "location"))
    c.insert([("d", "e")])
    c.close()
    with DynamicClosure.open(str(folder / "location")) as c:
        assert c.arrow.descendants("a")["vertex"].to_pylist() == ["b", "d", "e"]
        assert c.arrow.changes(since=c.version - 1).num_rows == 2
        assert not c.verify().missing
        assert "vertices" in repr(c)
        assert c._repr_html_()
    assert DynamicClosure.from_edges(pa.table({"src": [1, 2], "dst": [2, 3]})).distance(1, 3) == 2
    groups = LabelledGraph.from_edges(group_memberships(datasets.sample("memberships.csv")))
    groups.save(str(folder / "groups"))
    assert LabelledGraph.open(str(folder / "groups")).closure({"member"}).reaches("user:anna", "group:everyone")
    (folder / "edges.csv").write_text("src,dst\nshop,django\ndjango,asgiref\n", encoding="utf-8")
    deps = str(folder / "deps")
    assert main(["build", str(folder / "edges.csv"), deps]) == 0
    assert main(["query", deps, "shop", "asgiref"]) == 0
    assert main(["explain", deps, "shop", "asgiref"]) == 0
    assert "pyspark" not in sys.modules


def refusal(ask):
    """Return the error that a question is answered with."""
    from dyntc_spark.errors import SetupError

    try:
        ask()
    except SetupError as error:
        return error
    raise AssertionError(ask)


def refusals():
    """Print what each question that needs Spark is answered with; the closure is as it was."""
    import dyntc_spark
    from dyntc_spark import DynamicClosure

    for module in pkgutil.walk_packages(dyntc_spark.__path__, "dyntc_spark."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    edges = [(1, 2), (2, 3)]
    c = DynamicClosure.from_edges(edges)
    questions = {
        "pairs": c.pairs,
        "edges": c.edges,
        "changes": c.changes,
        "explain": lambda: c.explain(1, 3),
        "query": lambda: c.query([(1, 2)]),
        "on_spark": c.on_spark,
        "views": lambda: c.create_views("deps"),
        "backend": lambda: DynamicClosure.from_edges(edges, backend="spark"),
        "a table's name": lambda: DynamicClosure.from_edges("main.lineage.edges"),
        "a schema's name": lambda: DynamicClosure.open("main.lineage"),
    }
    for name, ask in questions.items():
        print(name, "|", refusal(ask))
    assert c.insert([(3, 4)]).inserted == 1
    assert c.reaches(1, 4)


if __name__ == "__main__":
    if "--absent" in sys.argv:
        sys.meta_path.insert(0, Absent())
    in_process(Path(sys.argv[1]))
    if "--in-process" not in sys.argv:
        refusals()
