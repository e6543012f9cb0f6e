"""Builds the attack program once, finds out what this host allows, and makes a world for each attempt."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.escape.world import BASE, World

_PROGRAMS = Path(__file__).parent / "programs"
_FLAGS = ("-O1", "-Wall", "-Wextra", "-Werror")
Worlds = Callable[..., World]


@pytest.fixture(scope="session")
def built() -> Iterator[Path]:
    """A folder anybody may read with `tool` (static: it needs nothing of the view) and `preload.so`."""
    folder = Path(tempfile.mkdtemp(prefix="escape-built-", dir=BASE))
    folder.chmod(0o755)
    sources = sorted(str(path) for path in _PROGRAMS.glob("*.c") if path.name != "preload.c")
    subprocess.run(["cc", *_FLAGS, "-static", *sources, "-o", str(folder / "tool")], check=True)
    library = [*_FLAGS, "-shared", "-fPIC", str(_PROGRAMS / "preload.c"), "-o", str(folder / "preload.so")]
    subprocess.run(["cc", *library], check=True)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def namespaces(built: Path) -> bool:
    """Whether this host lets us make a user namespace; where it refuses, rows are held to `without_namespaces`."""
    said = subprocess.run([str(built / "tool"), "unshare", "10000000"], capture_output=True, text=True, check=False)
    return said.stdout.startswith("OK")


@pytest.fixture
def worlds(built: Path) -> Iterator[Worlds]:
    """Makes worlds and takes them all away at the end."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(World(built / "tool", built / "preload.so", **options))


@pytest.fixture(autouse=True, scope="session")
def private_cache() -> Iterator[None]:
    """What the runner caches lies outside every root of the worlds."""
    with tempfile.TemporaryDirectory(prefix="escape-cache-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", folder)
        yield


@pytest.fixture
def descriptors() -> Iterator[None]:
    """Fails a test that leaves a descriptor open in the host process."""
    before = sorted(os.listdir("/proc/self/fd"))
    yield
    assert sorted(os.listdir("/proc/self/fd")) == before
