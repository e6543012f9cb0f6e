"""Make one attempt, bare or confined, and say what came of it.

`bare` starts the program as any host program would; `confined` gives the same program to `runner.run`. Both return an
Observation: the verdict (see attacks.py), what changed on the host, and the text that came out.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from runner.model.record import Record
from tests.escape.row import Attack
from tests.escape.world import OTHER_USER, World

DEADLINE = 20.0
_GROWN = 2.0  # seconds until a bare effect (a killed process, a daemon) must show


class Observation(Record):
    verdict: str
    changes: frozenset[str]
    text: str
    levels: Mapping[str, str] = {}  # constraint -> fully | partly | not, as the result reports it


def expand(words: tuple[str, ...], world: World) -> list[str]:
    return [word.format(**world.values) for word in words]


def command(program: tuple[str, ...], world: World) -> list[str]:
    """The argv: a row names an entry of the attack program, or a program by absolute path."""
    words = expand(program, world)
    return words if words[0].startswith("/") else [str(world.tools / "tool"), *words]


def bare(row: Attack, world: World) -> Observation:
    """Run the row's proof (or the row itself) without any confinement; waits until its effect shows."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command(row.proof or row.program, world), cwd=row.cwd.format(**world.values), stdin=subprocess.DEVNULL,
            stdout=output, stderr=output, close_fds=False, start_new_session=True, env=_environment(row, world),
            preexec_fn=_become_other if world.other_user else None,
        )  # fmt: skip
        code = process.wait(timeout=DEADLINE)
        output.seek(0)
        text = output.read().decode(errors="replace")
    seen: set[str] = set()
    wait_until(lambda: row.effect == "verdict" or row.effect in _grow(seen, world.changes(text)), _GROWN)
    world.clean()
    return Observation(verdict=_verdict(text, -code if code < 0 else None), changes=frozenset(seen), text=text)


def _become_other() -> None:
    os.setgroups([])
    os.setresgid(OTHER_USER, OTHER_USER, OTHER_USER)
    os.setresuid(OTHER_USER, OTHER_USER, OTHER_USER)


def _grow(seen: set[str], more: set[str]) -> set[str]:
    seen |= more
    return seen


def confined(row: Attack, world: World, backend: str) -> Observation:
    """Run the row through the runner, with the grants every row has: tools, bin, ro and home to read, ws to write."""
    from runner import run

    with _host_environment(row, world):
        result = run(
            command(row.program, world), read=world.read_roots(), write=[str(world.ws)],
            network=False, limits={"wall_time": DEADLINE, **dict(row.limits)}, cwd=row.cwd.format(**world.values),
            stdin=b"", backend=backend,
        )  # fmt: skip
    text = result.stdout + result.stderr
    levels = {item.constraint: item.level for item in result.enforcement}
    changes = frozenset(world.changes(text))
    world.clean()
    return Observation(verdict=verdict_of(result), changes=changes, text=text + str(result.error or ""), levels=levels)


def verdict_of(result: Any) -> str:
    """Of a Result: REFUSED when nothing started, limit:NAME, SIG…, else what the program printed."""
    if result.status is None:
        return "REFUSED"
    if result.limit:
        return f"limit:{result.limit}"
    return _verdict(result.stdout, signaled(result))


def status_field(result: Any, name: str) -> int | None:
    """status is {"exited": n} or {"signaled": n}; the other is None."""
    value = result.status.get(name) if isinstance(result.status, dict) else getattr(result.status, name, None)
    return None if value is None else int(value)


def signaled(result: Any) -> int | None:
    return status_field(result, "signaled")


def _verdict(text: str, number: int | None) -> str:
    if number is not None:
        return signal.Signals(number).name
    words = text.strip().splitlines()[-1].split() if text.strip() else ["OK"]
    return words[1] if words[0] == "FAIL" else words[0]


def _environment(row: Attack, world: World) -> dict[str, str]:
    chosen = {"PATH": "/usr/bin:/bin", "HOME": str(world.home)}
    return {**chosen, **_preload(world)} if row.host == "preload" else chosen


def _preload(world: World) -> dict[str, str]:
    library = str(world.preload)
    return {"LD_PRELOAD": library, "LD_AUDIT": library, "PRELOAD_MARK": str(world.out / "loaded")}


@contextlib.contextmanager
def _host_environment(row: Attack, world: World) -> Iterator[None]:
    """HOME is the world's home; loader variables stand in the host's environment only while such a row runs."""
    before = dict(os.environ)
    os.environ.update({"HOME": str(world.home), **(_preload(world) if row.host == "preload" else {})})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def host_environment() -> dict[str, str]:
    """For a host process of its own: this checkout is importable there."""
    return {**os.environ, "PYTHONPATH": f"{Path(__file__).parents[2]}:{os.environ.get('PYTHONPATH', '')}"}


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll with a deadline; the last word of the condition. The only waiting there is in these tests."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        os.sched_yield()
    return True
