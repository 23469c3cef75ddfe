"""Folders from which compiled code is loaded: nobody else can have written them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from dyntc_spark.kernels.private_folder import private_folder

if not hasattr(os, "geteuid"):
    pytest.skip("owners and modes of folders are those of POSIX", allow_module_level=True)

CALL = """
import numpy as np
from dyntc_spark.kernels import bits
from dyntc_spark.kernels.plain_first import compiling_all
with compiling_all():
    print(bits.count(np.ones((2, 3), np.uint64)))
"""


class Planted:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.system, (f"touch {self.path}",))


@pytest.mark.long
def test_code_that_another_user_can_have_put_into_the_cache_is_not_run(tmp_path, monkeypatch):
    """An index of numba's cache is a pickle: whoever writes it runs code in the process that loads it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))

    def count():
        done = subprocess.run([sys.executable, "-c", CALL], capture_output=True, text=True, check=True)
        return done.stdout

    assert count() == "6\n"
    (folder,) = (tmp_path / "cache").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    indices = list(folder.rglob("*.nbi"))
    for index in indices:
        index.write_bytes(pickle.dumps(Planted(tmp_path / "ran")))
    folder.chmod(0o777)
    assert indices
    assert count() == "6\n"
    assert not (tmp_path / "ran").exists()
    folder.chmod(0o700)
    subprocess.run([sys.executable, "-c", CALL], capture_output=True, check=False)
    assert (tmp_path / "ran").exists()  # so the file would have been loaded


def test_what_is_missing_is_made_for_this_user_only(tmp_path):
    before = os.umask(0)
    try:
        folder = private_folder(tmp_path / "a", "b", "c")
    finally:
        os.umask(before)
    assert folder == tmp_path.resolve() / "a" / "b" / "c"
    assert {path.stat().st_mode & 0o777 for path in (folder, *list(folder.parents)[:2])} == {0o700}
    assert private_folder(tmp_path / "a", "b", "c") == folder


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o701])
def test_a_folder_that_others_can_enter_is_refused(tmp_path, mode):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(mode)
    with pytest.raises(PermissionError, match=f"'{tmp_path}/cache' has the mode {mode:03o} and not 700"):
        private_folder(tmp_path, "cache")


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_replace_is_refused(tmp_path, mode):
    """Whoever can write the folder above can rename ours and put another one in its place."""
    private_folder(tmp_path / "shared", "cache")
    (tmp_path / "shared").chmod(mode)
    with pytest.raises(PermissionError, match=f"'{tmp_path}/shared' can be written by others"):
        private_folder(tmp_path / "shared", "cache")
    (tmp_path / "shared").chmod(mode | 0o1000)  # as /tmp: only the owner of a folder renames it
    private_folder(tmp_path / "shared", "cache")


def test_links_are_followed_above_and_refused_below(tmp_path):
    """A link that the user named is his own; one in the place of our folder is not ours."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "given").symlink_to(tmp_path / "disk")
    assert private_folder(tmp_path / "given", "cache") == tmp_path / "disk" / "cache"
    (tmp_path / "disk" / "link").symlink_to(tmp_path / "disk" / "cache")
    for parts in (("link",), ("link", "cache")):
        with pytest.raises(PermissionError, match="is a link or a file"):
            private_folder(tmp_path / "disk", *parts)


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(PermissionError, match="is a link or a file"):
        private_folder(tmp_path / "file", "cache")
    with pytest.raises(PermissionError, match="is a link or a file"):
        private_folder(tmp_path, "file")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders to other users, and becomes one")
def test_folders_of_other_users_are_refused(tmp_path):
    nobody = 65534
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    squatted = shared / "cache"
    squatted.mkdir(0o700)
    os.chown(squatted, nobody, nobody)
    for base, *parts in ((shared, "cache"), (squatted, "cache")):
        with pytest.raises(PermissionError, match=f"'{squatted}' belongs to the user {nobody}, not to 0"):
            private_folder(base, *parts)
    temporary, name = Path(tempfile.gettempdir()).resolve(), f"dyntc-test-{os.getpid()}"
    os.seteuid(nobody)
    try:
        private_folder(temporary, name).rmdir()  # root's folders are safe above ours
        with pytest.raises(PermissionError, match=f"'{temporary}' belongs to the user 0, not to {nobody}"):
            private_folder(temporary)
    finally:
        os.seteuid(0)
