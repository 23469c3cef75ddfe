"""Waiting for what other threads and processes do in their own time."""

from __future__ import annotations

import time

#: Far more than an idle machine needs: only a test that fails waits as long.
SECONDS = 120


def eventually(condition):
    """Return whether ``condition()`` becomes true; ask again and again until then."""
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
