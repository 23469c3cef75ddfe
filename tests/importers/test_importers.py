"""Edges out of files of other tools: what the samples say, and files that are not what they should be."""

from __future__ import annotations

import copy
import json

import pytest

from dyntc_spark import DynamicClosure, LabelledGraph, datasets
from dyntc_spark.errors import FileFormatError, InputError, OptionError
from dyntc_spark.importers import OpenLineage, dbt_manifest, group_memberships, openlineage, pip_inspect, requirements

SHOP = "warehouse://shop"


def triples(table):
    assert table.column_names == ["src", "dst", "label"]
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def changes(table):
    assert table.column_names == ["op", "src", "dst", "label"]
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def text(name):
    return datasets.sample(name).read_text(encoding="utf-8")


def test_a_sample_has_to_be_there():
    with pytest.raises(OptionError, match=r"manifest\.json"):
        datasets.sample("../debian-depends.parquet")


# --- dbt ------------------------------------------------------------------------------------------


def test_a_dbt_manifest():
    edges = triples(dbt_manifest(datasets.sample("manifest.json")))
    assert ("source.shop.raw.orders", "model.shop.stg_orders", "model") in edges
    assert ("model.shop.orders", "test.shop.not_null_orders_order_id.cf6c17daed", "test") in edges
    g = LabelledGraph.from_edges(dbt_manifest(datasets.sample("manifest.json")))
    models = g.closure({"model"})
    assert models.reaches("seed.shop.countries", "model.shop.revenue")
    assert not models.reaches("seed.shop.countries", "exposure.shop.weekly_report")
    assert g.closure().reaches("seed.shop.countries", "exposure.shop.weekly_report")


def test_a_manifest_without_a_parent_map_says_the_same(write):
    manifest = json.loads(text("manifest.json"))
    for absent in (None, ...):
        other = {**manifest, "parent_map": absent}
        if absent is ...:
            del other["parent_map"]
        assert dbt_manifest(write(json.dumps(other))).equals(dbt_manifest(datasets.sample("manifest.json")))


def _manifest(change):
    manifest = json.loads(text("manifest.json"))
    change(manifest)
    return json.dumps(manifest)


BAD_MANIFESTS = [
    (text("manifest.json")[:900], r"JSON at line \d+, column \d+ in '.*file'; got .*cut off"),
    ("", "JSON at line 1"),
    ("[]", "an object in '.*file'; got an array"),
    ("{}", "an object called 'metadata'"),
    (b"\xff\xfe{", "text in UTF-8"),
    (_manifest(lambda m: m["metadata"].pop("dbt_schema_version")), "text called 'dbt_schema_version' at metadata"),
    (
        _manifest(lambda m: m["metadata"].update(dbt_schema_version="https://schemas.getdbt.com/dbt/manifest/v9.json")),
        r"version 10 or newer at metadata\.dbt_schema_version in .*v9\.json'\. .*dbt 1\.6",
    ),
    (
        _manifest(lambda m: m["metadata"].update(dbt_schema_version="https://schemas.getdbt.com/dbt/catalog/v1.json")),
        "the schema of a manifest",
    ),
    (_manifest(lambda m: m.update(parent_map=[])), "an object at parent_map in '.*file'; got an array"),
    (_manifest(lambda m: m["parent_map"].update({"model.shop.x": [3]})), r"text at parent_map\.model\.shop\.x\[0\]"),
    (_manifest(lambda m: (m.pop("parent_map"), m.pop("nodes"))), "an object called 'nodes'"),
    (
        _manifest(lambda m: (m.pop("parent_map"), m["nodes"]["model.shop.orders"].update(depends_on=["x"]))),
        r"an object at nodes\.model\.shop\.orders\.depends_on",
    ),
]


@pytest.mark.parametrize(("content", "says"), BAD_MANIFESTS)
def test_bad_manifests(content, says, write):
    with pytest.raises(FileFormatError, match=says):
        dbt_manifest(write(content))


# --- packages -------------------------------------------------------------------------------------


def test_what_pip_inspect_prints():
    edges = triples(pip_inspect(datasets.sample("pip-inspect.json")))
    assert ("flask", "werkzeug", "requires") in edges
    assert ("shop", "pytest", "extra") in edges
    assert ("requests", "pysocks", "extra") in edges
    assert not [edge for edge in edges if edge[1] in {"tomli", "colorama", "importlib-metadata"}]  # of other machines
    assert not [edge for edge in edges if edge[0] == edge[1]]
    g = LabelledGraph.from_edges(pip_inspect(datasets.sample("pip-inspect.json")))
    assert g.closure({"requires"}).reaches("shop", "markupsafe")
    assert not g.closure({"requires"}).reaches("shop", "pysocks")
    assert g.closure({"requires", "extra"}).reaches("shop", "pysocks")
    assert DynamicClosure.from_edges(pip_inspect(datasets.sample("pip-inspect.json"))).reaches("shop", "pysocks")


def _report(change):
    report = json.loads(text("pip-inspect.json"))
    change(report)
    return json.dumps(report)


BAD_REPORTS = [
    (text("pip-inspect.json")[:-40], "JSON at line"),
    (_report(lambda r: r.update(version="2")), "version '1' at version in '.*file'; got '2'"),
    (_report(lambda r: r.pop("version")), "text called 'version'"),
    (_report(lambda r: r.pop("environment")), "an object called 'environment'"),
    (_report(lambda r: r.pop("installed")), "an array called 'installed'"),
    (_report(lambda r: r["installed"][2].pop("metadata")), r"'metadata' at installed\[2\]"),
    (_report(lambda r: r["installed"][1]["metadata"].pop("name")), r"'name' at installed\[1\]\.metadata"),
    (
        _report(lambda r: r["installed"][0]["metadata"].update(requires_dist=["no/name >= 3"])),
        r"a requirement at installed\[0\]\.metadata\.requires_dist\[0\]",
    ),
    (_report(lambda r: r["installed"].append(7)), r"an object at installed\[14\] in '.*file'; got a number"),
]


@pytest.mark.parametrize(("content", "says"), BAD_REPORTS)
def test_bad_reports(content, says, write):
    with pytest.raises(FileFormatError, match=says):
        pip_inspect(write(content))


def test_requirements_that_say_why():
    edges = triples(requirements(datasets.sample("requirements.txt")))
    assert {label for _, _, label in edges} == {"requires"}
    assert [(src, dst) for src, dst, _ in edges if dst in {"markupsafe", "certifi", "click", "requests"}] == [
        ("flask", "click"),
        ("jinja2", "markupsafe"),
        ("requests", "certifi"),
        ("requirements.in", "requests"),
        ("shop", "requests"),
        ("werkzeug", "markupsafe"),
    ]
    assert not {"pywin32", "setuptools"} & {end for edge in edges for end in edge[:2]}


def test_requirements_that_do_not(write):
    write("-r main.txt\nPyTest>=8  # for the tests\n", "dev.txt")
    main = write("-r dev.txt\n-c limits.txt\nFlask_Login ~= 0.6 ; python_version >= '3'\n", "main.txt")
    assert triples(requirements(main)) == [
        ("dev.txt", "pytest", "requires"),
        ("main.txt", "flask-login", "requires"),
    ]


def test_bad_requirements(write):
    with pytest.raises(FileFormatError, match=r"a requirement at line 2 in '.*file'; got '-e \.'"):
        requirements(write("flask\n-e .\n"))
    with pytest.raises(FileFormatError, match=r"line 1 .*got '==3 --hash"):
        requirements(write("==3 \\\n  --hash=sha256:0\n"))
    with pytest.raises(InputError, match="a file that can be read"):
        requirements("nowhere/requirements.txt")
    with pytest.raises(InputError, match="a file that can be read"):
        requirements(write("-r gone.txt\n"))


# --- memberships ----------------------------------------------------------------------------------


def test_memberships():
    path = datasets.sample("memberships.csv")
    everyone = LabelledGraph.from_edges(group_memberships(path)).closure({"member"})
    assert everyone.reaches("user:eve, contractor", "group:everyone")
    by_role = triples(group_memberships(path, label="role"))
    assert [row for row in by_role if row[0] == "user:dan"] == [
        ("user:dan", "group:platform", "member"),
        ("user:dan", "group:platform", "owner"),
    ]


def test_memberships_with_other_columns(write):
    path = write("\ufeffwho;in\nanna;staff\n\n ben ; staff \n")
    assert triples(group_memberships(path, member="who", group="in", delimiter=";")) == [
        ("anna", "staff", "member"),
        ("ben", "staff", "member"),
    ]
    assert group_memberships(write("member,group\n")).num_rows == 0


BAD_MEMBERSHIPS = [
    ("", "the columns member, group, each once at line 1 in '.*file'; got no 'member' among"),
    ("member,member,group\n", "2 'member' among"),
    ("member,group\nanna\n", "2 values at line 2 in '.*file'; got 1"),
    ("member,group\nanna,staff\nben, \n", "a value in column 'group' at line 3"),
    ('member,group\nanna,"staff\n', "CSV at line"),
]


@pytest.mark.parametrize(("content", "says"), BAD_MEMBERSHIPS)
def test_bad_memberships(content, says, write):
    with pytest.raises(FileFormatError, match=says):
        group_memberships(write(content))


# --- lineage --------------------------------------------------------------------------------------


def events():
    return [json.loads(line) for line in text("openlineage.jsonl").splitlines()]


def test_lineage_of_tables_and_columns():
    edges = openlineage(datasets.sample("openlineage.jsonl"))
    tables = [(src, dst) for src, dst, label in triples(edges) if label == "dataset"]
    assert tables == [
        (f"{SHOP}/mart.revenue", f"{SHOP}/bi.board_report"),
        (f"{SHOP}/raw.customers", f"{SHOP}/staging.customers"),
        (f"{SHOP}/raw.orders", f"{SHOP}/staging.orders"),
        (f"{SHOP}/staging.customers", f"{SHOP}/mart.revenue"),
        (f"{SHOP}/staging.orders", f"{SHOP}/mart.revenue"),
    ]
    g = LabelledGraph.from_edges(edges)
    values, influence = g.closure({"direct"}), g.closure({"direct", "indirect"})
    total = f"{SHOP}/bi.board_report#total"
    assert values.reaches(f"{SHOP}/raw.orders#amount", total)
    assert not values.reaches(f"{SHOP}/raw.orders#status", total)
    assert influence.reaches(f"{SHOP}/raw.orders#status", total)
    assert influence.reaches(f"{SHOP}/raw.customers#id", total)  # joined by
    both = [label for _, dst, label in triples(edges) if dst == f"{SHOP}/mart.revenue#country" and "country" in _]
    assert sorted(both) == ["direct", "indirect"]


def test_files_and_lists_say_the_same(write):
    expected = openlineage(datasets.sample("openlineage.jsonl"))
    lines = text("openlineage.jsonl")
    array = json.dumps(events(), indent=2)
    shuffled = [*events()[::-1]]  # they count by their times
    for source in (write(lines + "\n\n", "lines"), write(array, "array"), events(), lines.splitlines(), shuffled):
        assert openlineage(source).equals(expected)
    assert openlineage([line.encode() for line in lines.splitlines()]).equals(expected)
    assert openlineage([]).num_rows == 0


def event(kind, run, at, inputs=(), outputs=(), job="j"):
    sides = {
        side: [{"namespace": "n", "name": name} for name in names]
        for side, names in (("inputs", inputs), ("outputs", outputs))
    }
    return {
        "eventType": kind,
        "eventTime": f"2026-01-01T00:00:{at:02}Z",
        "run": {"runId": run},
        "job": {"namespace": "n", "name": job},
        **sides,
    }


def test_a_stream_of_events_becomes_changes():
    lineage, g = OpenLineage(), LabelledGraph.from_edges([])
    tables = g.closure({"dataset"})

    def told(*events):
        found = lineage.changes(events)
        g.apply(found)
        assert triples(g.arrow.edges()) == triples(lineage.edges())
        return [(op, src[2:], dst[2:]) for op, src, dst, _ in changes(found)]

    assert told(event("START", "r1", 1, ["a"])) == []
    assert told(event("COMPLETE", "r1", 2, [], ["b"])) == [("insert", "a", "b")]
    assert told(event("COMPLETE", "r2", 3, ["a"], ["b"], job="other")) == []
    # the job reads something else from now on; the other one still reads a
    assert told(event("COMPLETE", "r3", 4, ["c"], ["b"])) == [("insert", "c", "b")]
    assert told(event("START", "r4", 5, ["x"], ["y"]), event("FAIL", "r4", 6)) == []
    assert told(event("COMPLETE", "r5", 7, ["c"], ["b"], job="other")) == [("delete", "a", "b")]
    # a run that was late tells what its job did before
    assert told(event("COMPLETE", "r0", 0, ["z"], ["b"])) == []
    assert told(event("COMPLETE", "r6", 9, ["d"], ["b"]), event("COMPLETE", "r7", 9, ["c"], ["b"])) == []
    assert tables.reaches("n/c", "n/b")
    assert told(event("COMPLETE", "r8", 10), event("COMPLETE", "r9", 11, job="other")) == [("delete", "c", "b")]


def test_times_in_every_form():
    one, other = event("COMPLETE", "r1", 1, ["a"], ["b"]), event("COMPLETE", "r2", 2, ["c"], ["b"])
    one["eventTime"] = "2026-01-01T02:00:00.123456789+02:00"
    for later in ("2026-01-01T00:00:00.2Z", "2026-01-01t00:00:01z", "2025-12-31T23:00:01-0100", "2026-01-01 00:00:01"):
        other["eventTime"] = later
        assert [src for src, _, _ in triples(openlineage([other, one]))] == ["n/c"]


def _changed(place, value):
    """Return the second event of the sample with another value at a place."""
    changed = copy.deepcopy(events()[1])
    at = changed
    for key in place[:-1]:
        at = at[key]
    if value is ...:
        del at[place[-1]]
    else:
        at[place[-1]] = value
    return changed


LINEAGE = ("outputs", 0, "facets", "columnLineage")
BAD_EVENTS = [
    (("eventTime",), ..., "text called 'eventTime' at event 0"),
    (("eventTime",), "yesterday", "RFC 3339"),
    (("eventTime",), "0001-01-01T00:00:00+14:00", "RFC 3339"),
    (("eventType",), "DONE", "one of ABORT, COMPLETE"),
    (("run",), {}, r"text called 'runId' at event 0\.run"),
    (("run",), "r1", r"an object at event 0\.run in 'events'; got text"),
    (("job",), ..., "an object called 'job' at event 0"),
    (("job", "name"), "", r"text at event 0\.job\.name in 'events'; got an empty one"),
    (("inputs",), {}, r"an array at event 0\.inputs"),
    (("inputs", 0), "raw.orders", r"an object at event 0\.inputs\[0\]"),
    (("outputs", 0, "namespace"), ..., r"'namespace' at event 0\.outputs\[0\]"),
    ((*LINEAGE, "fields"), ..., r"'fields' at event 0\.outputs\[0\]\.facets\.columnLineage"),
    ((*LINEAGE, "fields", "amount"), {}, r"an array called 'inputFields' at .*fields\.amount"),
    ((*LINEAGE, "fields", "amount", "inputFields", 0, "field"), ..., r"'field' at .*amount\.inputFields\[0\]"),
]


@pytest.mark.parametrize(("place", "value", "says"), BAD_EVENTS)
def test_bad_events_change_nothing(place, value, says):
    lineage = OpenLineage()
    lineage.changes(events()[:2])
    before = lineage.edges()
    good = event("COMPLETE", "r1", 1, ["a"], ["b"])
    with pytest.raises(FileFormatError, match=says):
        lineage.changes([_changed(place, value), good])
    assert lineage.edges().equals(before)


def test_bad_files_of_events(write):
    with pytest.raises(FileFormatError, match=r"JSON at line 10 in '.*file'; got .*cut off"):
        openlineage(write(text("openlineage.jsonl")[:-30]))
    with pytest.raises(FileFormatError, match=r"an object at \[1\] in"):
        openlineage(write(json.dumps([events()[0], 3])))
    with pytest.raises(FileFormatError, match="an object at line 1"):
        openlineage(write("3"))
    with pytest.raises(FileFormatError, match="JSON at event 0 in 'events'"):
        openlineage(["{"])
    with pytest.raises(FileFormatError, match="UTF-8 at event 0"):
        openlineage([b"\xff"])
    with pytest.raises(InputError, match="a file, or a list of events"):
        openlineage(events()[0])
