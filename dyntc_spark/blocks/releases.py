"""Release what a state kept on Spark as soon as nothing in this process uses it any more.

The last reference to a state may go at any moment, also in the middle of a call to Spark
(when Python collects garbage), and a second call must not begin there. So what is to be
done then is put into a queue, and one thread of this process does it.

On a classic session the thread also lets Python collect garbage. A DataFrame there is an
object of py4j, and such objects refer to themselves: Python finds them only when it
collects, and until then the JVM keeps their plans, with all data in them. It takes a
twentieth of the time at most.
"""

from __future__ import annotations

import gc
import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import TypeAlias

from dyntc_spark.errors import SessionError
from dyntc_spark.session import is_from_spark

#: Between two collections pass so many times the seconds that one takes.
REST = 20

#: Release something; true when Python had better collect after it.
Release: TypeAlias = Callable[[], bool]

_log = logging.getLogger(__name__)


class Releases:
    """A thread that releases what is no longer used; it is started when it is first needed."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Release] = queue.SimpleQueue()  # its put may be called by a finalizer
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._next = 0.0

    def when_gone(self, hold: object, release: Release) -> None:
        """Call ``release`` when nothing refers to ``hold`` any more; it must not refer to it itself."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # a forked process has none
                self._thread = threading.Thread(target=self._run, name="dyntc_spark releases", daemon=True)
                self._thread.start()
        weakref.finalize(hold, self._queue.put, release).atexit = False

    def _run(self) -> None:
        while True:
            release = self._queue.get()
            try:
                collects = release()
            except Exception as error:  # noqa: BLE001  (the thread goes on)
                collects = False
                if not (isinstance(error, (SessionError, OSError, AttributeError)) or is_from_spark(error)):
                    _log.warning("A state on Spark was not released: %r", error)
            del release  # and what it refers to
            if collects:
                self._collect()

    def _collect(self) -> None:
        started = time.monotonic()
        if started >= self._next:
            gc.collect()
            self._next = started + (1 + REST) * (time.monotonic() - started)


#: Those of this process.
releases = Releases()
