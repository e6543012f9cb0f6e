"""Rows whose host has a controlling terminal: typing into it is the attack (catalogue case 73).

A host process of its own gets a fresh pseudo terminal as controlling terminal and makes the attempt; what waits in the
terminal's input queue afterwards was typed by it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator

from tests.escape.attempt import DEADLINE, Observation, command, host_environment
from tests.escape.row import Attack
from tests.escape.world import World

_CONFINED = """
import json, sys
from runner import run
from tests.escape.attempt import verdict_of
asked = json.loads(sys.argv[1])
result = run(asked.pop("argv"), stdin=b"", **asked)
print(verdict_of(result), result.error or "")
"""


def bare(row: Attack, world: World) -> Observation:
    return _under_terminal(command(row.program, world), world)


def confined(row: Attack, world: World, backend: str) -> Observation:
    asked = {
        "argv": command(row.program, world), "read": [str(world.tools)], "write": [str(world.ws)], "cwd": str(world.ws),
        "backend": backend,
    }  # fmt: skip
    return _under_terminal([sys.executable, "-c", _CONFINED, json.dumps(asked)], world)


def _under_terminal(argv: list[str], world: World) -> Observation:
    with _terminal() as slave:
        host = subprocess.run(
            argv, stdin=slave, capture_output=True, text=True, timeout=DEADLINE, start_new_session=True, check=False,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0), env=host_environment(),
        )  # fmt: skip
        typed = struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4))[0]
    text = host.stdout + host.stderr
    changes = world.changes(text) | ({"terminal"} if typed else set())
    words = text.split()
    verdict = words[1] if words[:1] == ["FAIL"] else (words or ["OK"])[0]
    return Observation(verdict=verdict, changes=frozenset(changes), text=text)


@contextlib.contextmanager
def _terminal() -> Iterator[int]:
    """The slave end of a raw pseudo terminal: what is typed waits there byte by byte."""
    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        yield slave
    finally:
        os.close(master)
        os.close(slave)
