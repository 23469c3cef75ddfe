"""What is done when the last reference to a state is gone."""

from __future__ import annotations

import gc
import threading

from dyntc_spark.blocks.releases import Releases
from tests.waiting import SECONDS


class Hold:
    """Something that is referred to."""


def test_it_is_released_as_soon_as_nothing_refers_to_it():
    releases, done = Releases(), threading.Event()
    hold = Hold()
    other = hold
    releases.when_gone(hold, lambda: done.set() or False)
    del hold
    assert not done.wait(0.05)
    del other
    assert done.wait(SECONDS)


def test_a_release_that_fails_is_logged_and_the_next_one_done(caplog):
    releases, done = Releases(), threading.Event()

    def fails():
        raise KeyError("why")

    for release in (fails, lambda: done.set() or False):
        releases.when_gone(Hold(), release)
    assert done.wait(SECONDS)
    assert "A state on Spark was not released: KeyError('why')" in caplog.text
    assert len([thread for thread in threading.enumerate() if thread.name == "dyntc_spark releases"]) >= 1


def test_objects_in_cycles_are_collected_when_that_is_asked_for():
    releases, done = Releases(), threading.Event()
    cyclic = Hold()
    cyclic.itself = cyclic
    releases.when_gone(cyclic, lambda: done.set() or False)
    gc.disable()
    try:
        del cyclic
        assert not done.wait(0.05)
        releases.when_gone(Hold(), lambda: True)
        assert done.wait(SECONDS)
    finally:
        gc.enable()
