"""Exponents are those of the points, and the parts of a profile are the whole."""

import json

import pytest

from benchmarks import growth
from benchmarks.suite.growth import fit

pytestmark = pytest.mark.long


def test_an_exponent_is_that_of_the_points():
    found = fit([(n, 3 * n**1.5) for n in (10, 100, 1_000)])
    assert found["exponent"] == pytest.approx(1.5)
    assert found["fit"] == pytest.approx(1)
    assert fit([(1, 1.0), (2, 2.0)])["exponent"] is None


@pytest.mark.slow
def test_work_is_counted_on_every_kind_of_graph(monkeypatch):
    monkeypatch.setattr(growth, "SINGLES", 3)
    for name, make in growth.KINDS.items():
        found = growth._kind(make, (150, 250, 350), (1, 10, 30))
        assert set(found["vertices"]) == {"Init", "deletion", "batch of 10"}, name
        assert all(len(each["points"]) == 3 for each in found["vertices"].values())
        assert any(each["points"] for each in found["a batch"].values()), name


@pytest.mark.slow
def test_the_parts_of_a_profile_are_the_whole():
    found = growth.profiled(600, 2)
    assert sum(found["parts"].values()) == pytest.approx(found["seconds"])
    assert set(found["parts"]) == {"kernels", "engine's Python", "names, Arrow and versions"}
    assert found["largest kernels"]
    assert sum(found["largest kernels"].values()) <= found["parts"]["kernels"] * 1.001


@pytest.mark.slow
def test_the_command(tmp_path, capsys):
    assert growth.main(["--quick", "--spark", "--folder", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "growth-quick.json").read_text())
    assert set(results) == {"about", "growth", "in process", "on Spark"}
    assert "exponent" in capsys.readouterr().out
