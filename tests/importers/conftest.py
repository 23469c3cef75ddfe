"""Files for the tests of importers."""

from __future__ import annotations

import pytest


@pytest.fixture
def write(tmp_path):
    def written(content, name="file"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written
