"""Endings: each reported exactly, each leaving no process, descriptor, file or cgroup behind."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.escape.attempt import host_environment, signaled, status_field, wait_until
from tests.escape.conftest import Worlds
from tests.escape.world import World

_SOON = 10.0  # far more than any ending takes; only a failure waits for it
_GROUPS = Path("/sys/fs/cgroup")


@pytest.fixture
def world(worlds: Worlds) -> World:
    return worlds()


def _run(world: World, script: str, **limits: float) -> Any:
    """`sh -c script MARKER`: every process of it carries the marker in its environment."""
    from runner import run

    return run(
        ["/bin/sh", "-c", script, world.marker], read=[str(world.tools)], write=[str(world.ws)], cwd=str(world.ws),
        stdin=b"", env={"MARKER": world.marker}, limits={"wall_time": 30, **limits},
    )  # fmt: skip


def _marked(world: World) -> list[psutil.Process]:
    """Everything alive that was started by the command, however it changed its name, group or session."""
    return [process for process in psutil.process_iter() if _has_mark(process, world.marker)]


def _has_mark(process: psutil.Process, marker: str) -> bool:
    with contextlib.suppress(psutil.Error):
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return bool(process.environ().get("MARKER") == marker)
    return False


def _groups(pid: int) -> set[str]:
    """The cgroups that a host process of that pid has made and not removed."""
    return {str(path) for path in _GROUPS.glob(f"**/fumehood-{pid}-*")}


@pytest.fixture
def nothing_left(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Counts before and after: processes of the command, our children, descriptors, temporary files, cgroups."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    _run(world, ":")  # whatever is opened once and kept (libraries, caches) is open now
    before = _leavings()
    yield
    assert _marked(world) == []
    assert os.listdir(tmp_path) == []
    wait_until(lambda: _leavings() == before, _SOON)
    assert _leavings() == before


def _leavings() -> dict[str, object]:
    return {
        "descriptors": sorted(os.listdir("/proc/self/fd")),
        "children": sorted(child.pid for child in psutil.Process().children(recursive=True)),
        "cgroups": sorted(_groups(os.getpid())),
        "files": sorted(_named("/tmp") | _named("/var/tmp")),
    }


def _named(folder: str) -> set[str]:
    """Our own names in a shared folder; others may come and go."""
    return {name for name in os.listdir(folder) if "fumehood" in name or "runner" in name}


# -- what the status says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 3, 126, 127, 139, 255])
def test_an_exit_code_is_an_exit_code(code: int, world: World, nothing_left: None) -> None:
    result = _run(world, f"exit {code}")
    assert (status_field(result, "exited"), signaled(result), result.limit) == (code, None, None)


@pytest.mark.parametrize("name", ["SEGV", "KILL", "TERM", "ABRT", "INT", "HUP", "PIPE", "USR1"])
def test_a_signal_is_a_signal(name: str, world: World, nothing_left: None) -> None:
    """The command is never pid 1 itself, so a default action ends it."""
    result = _run(world, f"kill -{name} $$")
    number = int(signal.Signals[f"SIG{name}"])
    assert (status_field(result, "exited"), signaled(result), result.limit) == (None, number, None)


# -- what outlives the command ----------------------------------------------------------------------------------------

_DAEMON = "{tools}/tool daemon {marker} {mode} >&2"


@pytest.mark.parametrize("mode", ["close", "hold"])
def test_a_daemon_ends_with_the_command(mode: str, world: World, nothing_left: None) -> None:
    result = _run(world, _DAEMON.format(mode=mode, **world.values) + "; echo done")
    assert (status_field(result, "exited"), result.stdout) == (0, "done\n")


@pytest.mark.parametrize("mode", ["close", "hold"])
def test_a_daemon_ends_with_the_time(mode: str, world: World, nothing_left: None) -> None:
    result = _run(world, _DAEMON.format(mode=mode, **world.values) + "; exec sleep 1000", wall_time=1)
    assert result.limit == "wall_time", result
    assert "daemon runs" in result.stderr


def test_a_child_holding_the_pipes_keeps_nobody_waiting(world: World, nothing_left: None) -> None:
    started = time.monotonic()
    result = _run(world, "sleep 1000 & echo done")
    assert (status_field(result, "exited"), result.stdout) == (0, "done\n")
    assert time.monotonic() - started < _SOON


def test_a_session_and_group_of_its_own_is_no_escape(world: World, nothing_left: None) -> None:
    result = _run(world, "setsid sh -c 'setsid sleep 1000 & sleep 1000' & exec sleep 1000", wall_time=1)
    assert result.limit == "wall_time", result


# -- what does not want to end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("kill -STOP $$", id="stopped"),
        pytest.param("trap '' TERM; while :; do sleep 1000; done", id="ignores-term"),
        pytest.param("trap '' TERM; (kill -STOP $$) & wait; exec sleep 1000", id="ignores-and-stops"),
        pytest.param("exec sleep 1000", id="sleeps"),
        pytest.param("while :; do :; done", id="spins"),
        pytest.param("while :; do sh -c 'sleep 1000 & sleep 1000 &' ; sleep 0.05; done", id="forks"),
    ],
)
def test_the_time_ends_it(script: str, world: World, nothing_left: None) -> None:
    started = time.monotonic()
    result = _run(world, "echo begun; " + script, wall_time=1)
    assert (result.limit, result.stdout) == ("wall_time", "begun\n"), result
    assert 1 <= time.monotonic() - started < 1 + _SOON


# -- what kills us ----------------------------------------------------------------------------------------------------

_HOLD_LOCK = "exec 9>lock; flock 9; : > held; setsid sleep 1000 & sleep 1000"


@contextlib.contextmanager
def _host(world: World) -> Iterator[subprocess.Popen[str]]:
    """A host process whose command holds a lock, and whose daemon holds it too."""
    asked = {
        "argv": ["/bin/sh", "-c", _HOLD_LOCK], "write": [str(world.ws)], "cwd": str(world.ws),
        "env": {"MARKER": world.marker}, "limits": {"wall_time": 120},
    }  # fmt: skip
    program = [sys.executable, str(Path(__file__).with_name("endings_host.py")), json.dumps(asked)]
    host = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=host_environment())
    try:
        assert wait_until(lambda: (world.ws / "held").exists() or host.poll() is not None, _SOON)
        assert wait_until(lambda: len(_marked(world)) >= 3, _SOON), "the command, its child and its daemon"
        assert host.poll() is None, host.communicate()
        assert not _lock_is_free(world)
        yield host
    finally:
        host.kill()
        host.communicate()
        for process in _marked(world):
            process.kill()


def _lock_is_free(world: World) -> bool:
    with open(world.ws / "lock", "w") as file, contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _everything_ended(world: World) -> bool:
    return not _marked(world) and _lock_is_free(world)


def test_the_host_killed_takes_everything_with_it(world: World, nothing_left: None) -> None:
    with _host(world) as host:
        helpers = psutil.Process(host.pid).children(recursive=True)
        host.kill()
        host.wait()
        assert wait_until(lambda: _everything_ended(world), _SOON), _marked(world)
        assert wait_until(lambda: not any(_alive(helper) for helper in helpers), _SOON), helpers
        _run(world, ":")  # the next host clears away what a dead one could not
        assert not _groups(host.pid)


def _alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


@pytest.mark.parametrize("which", ["outermost", "innermost"])
def test_a_launcher_killed_takes_everything_with_it(
    which: str, world: World, nothing_left: None, namespaces: bool
) -> None:
    """Every process of ours between host and command may be killed; the host hears of it and does not hang."""
    with _host(world) as host:
        ours = [p for p in psutil.Process(host.pid).children(recursive=True) if p.name() in ("launcher", "fumehood-init")]
        assert ours, "no launcher found"
        _choose(which, ours).kill()
        said, _ = host.communicate(timeout=_SOON)
        assert json.loads(said)["error"] or not json.loads(said)["started"], said
        if namespaces:
            assert wait_until(lambda: _everything_ended(world), _SOON), _marked(world)


def _choose(which: str, ours: list[psutil.Process]) -> psutil.Process:
    """children() goes from the host inwards."""
    return ours[0] if which == "outermost" else ours[-1]
