"""A workspace and a home of our own, so that nothing of the real home is touched, and a look at what a command left behind."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SHARED = ("/tmp", "/var/tmp", "/dev/shm")
Traces = Callable[[], set[tuple[str, int, int]]]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ours, of compiled filters; not a command's doing, and outside every root."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, cache: str) -> Iterator[Path]:
    """`ws` and `home` below one folder that is outside every temporary folder of the sandbox and of the test runner."""
    base = Path(f"/var/tmp/everyday-{os.getpid()}")
    shutil.rmtree(base, ignore_errors=True)
    (base / "home" / ".ssh").mkdir(parents=True)
    (base / "home" / ".ssh" / "id_rsa").write_text("SECRET")
    (base / "home" / ".gitconfig").write_text("[user]\n\tname = everyday\n\temail = e@x\n")
    (base / "ws").mkdir()
    (base / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(base / "home"))
    monkeypatch.setenv("TMPDIR", str(base / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)  # looked up again
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    yield base
    shutil.rmtree(base)


@pytest.fixture
def traces(place: Path) -> Traces:
    """Tells what is there beside the workspace: the home, the host's folder for temporary files, and what is new."""
    return lambda: {_entry(path) for path in place.rglob("*") if place / "ws" not in (path, *path.parents)}


def _entry(path: Path) -> tuple[str, int, int]:
    """Name, inode, time of the last change: a file that was written over is another one."""
    seen = path.lstat()
    return (str(path), seen.st_ino, 0 if path.is_dir() else seen.st_mtime_ns)
