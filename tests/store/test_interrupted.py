"""An interrupt (Ctrl-C) after a version was published, and before it is the current one here."""

import pytest

from dyntc_spark import DynamicClosure
from dyntc_spark.errors import ConflictError
from dyntc_spark.graph.door import Door


def test_a_writer_does_not_write_over_what_it_has_published(tmp_path, monkeypatch):
    location = str(tmp_path / "here")
    c = DynamicClosure.from_edges([("a", "b")])
    c.save(location)

    def interrupted(_door, _version):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Door, "publish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            c.insert([("b", "c")])
    with pytest.raises(ConflictError, match="refresh"):
        c.insert([("p", "q")])
    assert c.refresh() == 1
    assert c.reaches("a", "c")
    assert c.insert([("p", "q")]).version == 2
    with DynamicClosure.open(location) as other:
        assert other.arrow.pairs().num_rows == c.arrow.pairs().num_rows == 4
