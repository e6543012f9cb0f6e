"""What must still work inside: everyday commands, each first run bare (so that a pass means something), then confined.

Every row runs in a fresh workspace with a home folder of its own; afterwards nothing is left outside the workspace.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.commands import ROWS
from tests.e2e.conftest import SHARED, Traces
from tests.e2e.place import confined

# What cannot work where the host refuses namespaces, and the constraint under which each result says so.
LOST = {
    **dict.fromkeys(
        (
            "mktemp", "sort-temp-files", "perl-tempfile", "gcc", "shared-library", "home-is-writable", "dev-shm",
            "python-multiprocessing", "python-process-pool", "python-posix-semaphore", "python-shared-memory",
        ),
        "private_tmp",
    ),
    **dict.fromkeys(("ps", "proc-self", "proc-cpuinfo"), "proc"),
}  # fmt: skip
# And what is refused there with the network, fully: seccomp cannot tell the sandbox's own sockets from the host's.
REFUSED = {"python-unix-server-in-workspace", "python-loopback-http", "python-loopback-ipv6-udp", "node-http"}


@pytest.mark.parametrize("name", ROWS)
def test_bare(name: str, place: Path) -> None:
    done = subprocess.run(ROWS[name], cwd=place / "ws", stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("name", ROWS)
def test_confined(name: str, place: Path, traces: Traces, namespaces: bool) -> None:
    before = traces()
    result = confined(ROWS[name], place)
    assert traces() == before
    assert "SECRET" not in result.stdout
    if namespaces or name not in LOST.keys() | REFUSED:
        assert result.success, (result.error, result.status, result.stdout[-500:], result.stderr[-1500:])
    else:
        assert not result.success, "it works here: take it off the list"
        levels = {row.constraint: row.level for row in result.enforcement}
        assert name in REFUSED or levels[LOST[name]] == "not"


def test_a_file_left_behind_is_seen(place: Path, traces: Traces) -> None:
    before = traces()
    for folder in ("home", "tmp", "."):
        (place / folder / "left").write_text("x")
    assert len(traces() - before) == 3


@pytest.mark.parametrize("folder", SHARED)
def test_shared_folders_are_private(folder: str, place: Path, namespaces: bool) -> None:
    """Whatever a command leaves there is gone with it; these folders are not listed, as the whole host writes to them."""
    name = Path(folder) / f"everyday-left-{os.getpid()}"
    script = ["sh", "-c", f"echo left > {name} && cat {name}"]
    try:
        assert subprocess.run(script, capture_output=True, check=True).stdout == b"left\n" and name.exists()
    finally:
        name.unlink()
    result = confined(script, place)
    assert not name.exists()
    assert result.success == namespaces, (result.error, result.stderr)
