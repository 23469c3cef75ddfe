"""Locations in S3, without Spark: moto's server on this machine takes the place of S3.

``DYNTC_MOTO_SERVER`` names the command ``moto_server`` of an environment with ``moto[server]``. Without it, nothing
here runs.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
import uuid
from urllib.error import URLError

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import ConflictError, DamagedFileError, LocationError, StorageError
from dyntc_spark.graph.store.object_tables import ObjectTables
from tests.faults import test_steps as steps_of
from tests.faults.test_two_writers import race
from tests.store.closures import START, pairs, recomputed, saved, seen
from tests.store.conftest import without_spark

SERVER = os.environ.get("DYNTC_MOTO_SERVER")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SERVER, reason="DYNTC_MOTO_SERVER is not set")]


@pytest.fixture(scope="module")
def server():
    """Start a server with a bucket, and let this process and those that it starts find it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    settings = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
    }
    running = subprocess.Popen(
        [SERVER, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        put(f"{address}/bucket")
        with pytest.MonkeyPatch.context() as patch, without_spark():
            for name, value in settings.items():
                patch.setenv(name, value)
            yield address
    finally:
        running.terminate()
        running.wait(timeout=30)


def put(address, content=None):
    """Put a bucket, or an object, as soon as the server is there."""
    signed = {"Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request"}
    for _ in range(120):
        try:
            asked = urllib.request.Request(address, content, signed, method="PUT")  # noqa: S310  (our own server)
            return urllib.request.urlopen(asked)  # noqa: S310
        except URLError:  # noqa: PERF203  (it starts)
            time.sleep(0.5)
    raise AssertionError("no server")


class Folder:
    """A place in the bucket that is used as a test uses ``tmp_path``."""

    def __init__(self):
        self._name = uuid.uuid4().hex

    def __truediv__(self, name):
        return f"s3://bucket/{self._name}/{name}"


@pytest.fixture
def folder(server):
    assert server
    return Folder()


def test_a_location_from_end_to_end(folder, server):
    location = folder / "deps"
    c = DynamicClosure.from_edges(START)
    c.save(location, record_changes=True)
    for number in range(40):  # so many that Delta's log is summed up
        c.apply([("insert", f"v{number}", "a"), ("delete", f"v{number - 1}", "a")], batch_id=number)
    assert any(name.endswith(".checkpoint.parquet") for name in ObjectTables(location, ("log",)).log_names("log"))
    d = DynamicClosure.open(location)
    assert seen(d) == seen(c)
    assert pairs(d) == recomputed(d)
    d.apply([("insert", "x", "y")], batch_id=3)
    assert d.version == 40  # the batch with this id was there before
    assert d.at(1).reaches("v0", "d")
    assert DynamicClosure.open(location, 1).reaches("v0", "d")
    assert d.arrow.changes(since=38)["op"].to_pylist().count("insert") == 4
    d.save(location)
    d.vacuum(keep=2)
    assert seen(DynamicClosure.open(location)) == seen(c)
    assert seen(DynamicClosure.repair(location)) == seen(c)
    with pytest.raises(LocationError, match="got none"):
        DynamicClosure.open(folder / "other")
    put(f"{server}/bucket/{folder._name}/else/notes.txt", b"something")
    with pytest.raises(LocationError, match=r"the file s3://bucket/.*/notes\.txt"):
        DynamicClosure.from_edges(START).save(folder / "else")
    with pytest.raises(StorageError, match="404 Not Found"):
        DynamicClosure.open("s3://nowhere/deps")


def test_the_second_writer_is_told(folder):
    location = folder / "deps"
    one = saved(None, location)
    two = DynamicClosure.open(location)
    two.insert([("d", "e")])
    before = seen(one)
    with pytest.raises(ConflictError, match="another one who was first"):
        one.insert([("d", "f")])
    assert seen(one) == before
    one.refresh()
    one.insert([("d", "f")])
    two.refresh()
    assert seen(two) == seen(one)


def test_two_processes_write(folder):
    race(None, folder / "deps", {"one": ("disk", 20), "two": ("disk", 20)})


def test_a_damaged_file_is_refused(folder, server):
    location = folder / "deps"
    saved(None, location).insert([("d", "e")])
    put(f"{server}/{location.removeprefix('s3://')}/commits/_delta_log/00000000000000000001.json", b"")
    with pytest.raises(DamagedFileError, match=r"00000000000000000001\.json"):
        DynamicClosure.open(location)


@pytest.mark.parametrize("case", steps_of.CASES, ids=steps_of.names)
def test_a_failure_at_each_step(folder, breaking, monkeypatch, caplog, case):
    steps_of.test_a_failure_at_each_step(None, folder, breaking, monkeypatch, caplog, case)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("step", steps_of.CHECKPOINTED)
def test_a_failure_of_a_first_save(folder, breaking, step, after):
    steps_of.test_a_failure_of_a_first_save(None, folder, breaking, step, after)
