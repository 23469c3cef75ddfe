"""Both backends behind one fixture: a test that takes ``backend`` runs in this process and on Spark."""

from __future__ import annotations

import pytest

from dyntc_spark import session
from dyntc_spark.blocks.local import LocalBackend
from dyntc_spark.blocks.rings import COUNTING
from dyntc_spark.blocks.spark import SparkBackend
from tests.blocks.oracle import RING_NAMES, RINGS, Plain

SIZE = 16
#: Shape and density; no side is a multiple of the block size.
SAMPLES = {
    "sparse": ((53, 53), 0.03),
    "dense": ((53, 53), 0.6),
    "wide": ((23, 53), 0.2),
    "empty": ((53, 53), 0.0),
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Let Spark carry the matrices of one ring, and those of the others in the slow tests: to Spark they are bytes."""
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if given.get("backend") == "spark" and given.get("ring", COUNTING) != COUNTING:
            item.add_marker("slow")


@pytest.fixture(scope="session")
def local_backend():
    return LocalBackend()


@pytest.fixture(scope="session")
def spark_backend(spark):
    """A backend that all tests share; one that needs its own options makes its own."""
    return SparkBackend(spark)


@pytest.fixture(params=["local", pytest.param("spark", marks=pytest.mark.spark)])
def backend(request):
    return request.getfixturevalue(f"{request.param}_backend")


@pytest.fixture(params=RINGS, ids=RING_NAMES)
def ring(request):
    return request.param


@pytest.fixture(scope="session")
def _samples():
    return {}


@pytest.fixture
def sample(_samples, backend, ring):
    """Return ``(plain, blocks)`` of a named sample; it is built once for all tests."""

    def get(name):
        key = (type(backend), ring, name)
        if key not in _samples:
            shape, density = SAMPLES[name]
            plain = Plain.random(ring, shape, density, seed=len(name))
            _samples[key] = plain, plain.blocks(backend, SIZE)
        return _samples[key]

    return get


@pytest.fixture
def classic(spark):
    """The session, where the tests can look into the JVM."""
    if session.is_connect(spark):
        pytest.skip("needs the JVM of the driver, which Spark Connect's client does not have")
    return spark
