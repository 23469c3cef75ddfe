"""Arguments and files that importers refuse by errors of their own, and forms of requirements that pip takes."""

from __future__ import annotations

import json
import os

import pytest

from dyntc_spark import datasets
from dyntc_spark.errors import FileFormatError, InputError, OptionError
from dyntc_spark.importers import dbt_manifest, group_memberships, openlineage, pip_inspect, requirements


def pairs(table):
    return list(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))


class BytesPath(os.PathLike):
    def __fspath__(self):
        return b"file"


# --- what is no path ------------------------------------------------------------------------------


@pytest.mark.parametrize("importer", [dbt_manifest, pip_inspect, requirements, group_memberships])
@pytest.mark.parametrize("file", [None, {"metadata": {}}, b"file", 3, BytesPath()])
def test_what_is_no_path(importer, file):
    with pytest.raises(InputError, match=r"the path of a file; got \w+\. Give its path"):
        importer(file)


@pytest.mark.parametrize("importer", [dbt_manifest, pip_inspect, requirements, group_memberships])
def test_an_open_file_is_no_path(importer):
    with (
        datasets.sample("manifest.json").open(encoding="utf-8") as file,
        pytest.raises(InputError, match="got TextIOWrapper"),
    ):
        importer(file)


@pytest.mark.parametrize("importer", [dbt_manifest, pip_inspect, requirements, group_memberships, openlineage])
def test_a_path_that_cannot_be_one(importer):
    with pytest.raises(InputError, match="a file that can be read"):
        importer("a\0b")


# --- text that is not Unicode ---------------------------------------------------------------------

HALF = "\ud800"
SCHEMA = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json"}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({"parent_map": {"model.a": [HALF]}}, r"parent_map\.model\.a\[0\]"),
        ({"parent_map": {HALF: ["model.a"]}}, "parent_map"),
        ({"nodes": {HALF: {"depends_on": {"nodes": ["model.a"]}}}}, "nodes"),
    ],
)
def test_half_of_a_surrogate_pair_in_a_manifest(content, place, write):
    file = write(json.dumps({"metadata": SCHEMA, **content}))
    with pytest.raises(
        FileFormatError, match=rf"text in Unicode at {place} in '.*file'; got half of .*ud800"
    ) as caught:
        dbt_manifest(file)
    str(caught.value).encode()  # it can be printed


def test_half_of_a_surrogate_pair_in_an_event():
    table = {"namespace": "n", "name": "a"}
    event = {"eventTime": "2026-01-01T00:00:00Z", "job": table, "inputs": [table]}
    with pytest.raises(FileFormatError, match=r"text in Unicode at event 0\.outputs\[0\]\.name"):
        openlineage([{**event, "outputs": [{"namespace": "n", "name": HALF}]}])
    lineage = {"columnLineage": {"fields": {HALF: {"inputFields": [{**table, "field": "x"}]}}}}
    with pytest.raises(FileFormatError, match=r"text in Unicode at .*columnLineage\.fields in"):
        openlineage([json.dumps({**event, "outputs": [{**table, "facets": lineage}]})])


# --- packages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["-r base.txt", "-rbase.txt", "--requirement base.txt", "--requirement=base.txt"])
def test_every_form_of_an_include(option, write):
    write("click\n", "base.txt")
    main = write(f"{option}\n--require-hashes\nflask\n", "main.txt")
    assert pairs(requirements(main)) == [("base.txt", "click"), ("main.txt", "flask")]


@pytest.mark.parametrize("line", ["-e .", "-e.", "--editable .", "--editable=."])
def test_every_form_of_an_editable_is_refused(line, write):
    with pytest.raises(FileFormatError, match="a requirement at line 1"):
        requirements(write(f"{line}\n"))


def test_an_include_of_nothing(write):
    with pytest.raises(InputError, match="a file that can be read"):
        requirements(write("-r\n"))


def test_the_index_is_no_package(write):
    below = "    # via\n    #   -r requirements.in\n    #   shop\n    # from https://pypi.org/simple\n"
    beside = "click==8  # via flask\n    # from https://pypi.org/simple\n"
    alone = "idna==3\n    # from https://pypi.org/simple\n"
    assert pairs(requirements(write(f"flask==3\n{below}{beside}{alone}"))) == [
        ("file", "idna"),
        ("flask", "click"),
        ("requirements.in", "flask"),
        ("shop", "flask"),
    ]


def report(requirement, version="3.11"):
    metadata = {"name": "a", "requires_dist": [requirement]}
    content = {"version": "1", "environment": {"python_version": version}, "installed": [{"metadata": metadata}]}
    return json.dumps(content)


@pytest.mark.parametrize("marker", ["sys_platform ~= 'x'", "'x' in extras"])
def test_markers_that_cannot_be_evaluated(marker, write):
    with pytest.raises(FileFormatError, match=r"a requirement.* at line 2 in '.*file'; got .*b; "):
        requirements(write(f"flask\nb; {marker}\n"))
    with pytest.raises(FileFormatError, match=r"a requirement.* at installed\[0\]\.metadata\.requires_dist\[0\] in"):
        pip_inspect(write(report(f"b; {marker}")))


@pytest.mark.parametrize(
    ("version", "says"),
    [
        (None, "text called 'python_version' at environment in '.*file'; got null"),
        (3.11, r"text at environment\.python_version in '.*file'; got a number"),
        (3, "got a number"),
        (True, "got true or false"),
        ([], "got an array"),
    ],
)
def test_an_environment_that_is_not_text(version, says, write):
    with pytest.raises(FileFormatError, match=says):
        pip_inspect(write(report("b; python_version > '3'", version)))


# --- memberships ----------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [";;", "", None, 3, "\n", '"'])
def test_delimiters_that_are_none(delimiter, write):
    with pytest.raises(OptionError, match="a delimiter of one character"):
        group_memberships(write("member,group\na,b\n"), delimiter=delimiter)


@pytest.mark.parametrize("names", [{"member": 3}, {"group": None}, {"label": b"role"}])
def test_names_of_columns_that_are_not_text(names, write):
    with pytest.raises(OptionError, match="names of columns"):
        group_memberships(write("member,group,role\na,b,c\n"), **names)


@pytest.mark.parametrize("header", ["member;group", '"member";"group"', "member;group\r", "group;role;member"])
def test_another_delimiter_is_named(header, write):
    with pytest.raises(FileFormatError, match=r"at line 1 .*\. Give delimiter=';'\.$"):
        group_memberships(write(f"{header}\n"))


def test_another_delimiter_may_help(write):
    with pytest.raises(FileFormatError, match=r"among \['who;in'\]\. Name the columns .* with delimiter=\.$"):
        group_memberships(write("who;in\nanna;staff\n"))
    with pytest.raises(FileFormatError, match=r"got 1\. Repair the row\.$"):
        group_memberships(write("member,group\nanna;staff\n"))
    with pytest.raises(FileFormatError, match=r"CSV at line 1 .* with delimiter=\.$"):  # not the one that it has
        group_memberships(write('member,group,"role"s\n'))
