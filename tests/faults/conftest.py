"""Faults use the locations of the tests of the store."""

from __future__ import annotations

from tests.store.conftest import breaking, delta, writer

__all__ = ["breaking", "delta", "writer"]
