"""Swapping the executable between check and start: what ran is always what was fingerprinted.

Three forms (rename, write in place, write through an older shared mapping), each first shown to fool a host that hashes
a file and then starts it. FUMEHOOD_FULL=1 runs the full count.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.escape.conftest import Worlds
from tests.escape.world import World

ROUNDS = 10_000 if os.environ.get("FUMEHOOD_FULL") == "1" else 300
GOOD, EVIL = (f"#!/bin/sh\necho {word}\n".encode() for word in ("GOOD", "EVIL"))
_DIGESTS = {"GOOD": hashlib.sha256(GOOD).hexdigest(), "EVIL": hashlib.sha256(EVIL).hexdigest()}
_OFFSET = str(GOOD.index(b"GOOD"))
FORMS = ("rename", "write", "map")


@contextlib.contextmanager
def _swapped(form: str, world: World) -> Iterator[Path]:
    """The workspace's program while a process changes it without pause."""
    target, good, evil = (world.ws / name for name in ("program", "good", "evil"))
    for path, content in ((target, GOOD), (good, GOOD), (evil, EVIL)):
        path.write_bytes(content)
        path.chmod(0o755)
    words = [str(good), str(evil)] if form == "rename" else [_OFFSET, "GOOD", "EVIL"]
    swapper = subprocess.Popen([str(world.tool), f"swap-{form}", str(target), *words], stdout=subprocess.DEVNULL)
    try:
        yield target
        assert swapper.poll() is None, "the swapper ended early: nothing was tested"
    finally:
        swapper.kill()
        swapper.wait()


def _checked_then_started(target: Path) -> bool:
    """Whether a naive host was fooled: the digest it took is not that of what ran."""
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    said = subprocess.run(["/bin/sh", str(target)], capture_output=True, text=True, check=False).stdout.strip()
    return _DIGESTS.get(said) != digest


@pytest.mark.parametrize("form", FORMS)
def test_a_naive_host_is_fooled(form: str, worlds: Worlds) -> None:
    with _swapped(form, worlds()) as target:
        assert any(_checked_then_started(target) for _ in range(1000))


@pytest.mark.parametrize("form", FORMS)
def test_the_digest_is_that_of_what_ran(form: str, worlds: Worlds) -> None:
    world, started = worlds(), 0
    with _swapped(form, world) as target:
        for _ in range(ROUNDS):
            started += _digest_holds(world, target)
    (world.ws / "program").write_bytes(GOOD)
    assert _digest_holds(world, target), "at rest it starts, so what was refused was refused for the swapping"
    # write: the time stamp moves all the while; rename: each swap detaches the verified copy from its path, which is told.
    assert started or form != "map", "a shared mapping changes no time stamp: verified bytes start all the same"


def _digest_holds(world: World, target: Path) -> bool:
    """Whether it started under a digest; then what it printed is what that digest says."""
    from runner import run

    result = run([str(target)], write=[str(world.ws)], cwd=str(world.ws), stdin=b"", limits={"wall_time": 30})
    if result.status is None:
        assert result.error, result
        return False
    if result.error is not None:  # the copy was detached while it ran: told, and no digest is vouched for
        assert result.error.code == "executable_changed" and result.commands[0].executable_sha256 == "", result
        return False
    assert _DIGESTS.get(result.stdout.strip()) == result.commands[0].executable_sha256, result
    return True


# -- scripts of a declared tool ---------------------------------------------------------------------------------------

_DECLARATION = """<agent><shell_access id="r" extends="builtin:workspace-readonly@1">
<capabilities child_processes="true" arbitrary_code="true"><write path="${workspace}"/></capabilities><policy default="allow"/></shell_access>
<tool name="read" type="shell" mode="script" runtime="r" script="${workspace}/program" interpreter="/bin/sh"/>
<tool name="itself" type="shell" mode="script" runtime="r" script="${workspace}/program"/></agent>"""


@pytest.mark.parametrize("tool", ["read", "itself"])
@pytest.mark.parametrize("form", FORMS)
def test_a_script_tool_runs_what_was_declared(form: str, tool: str, worlds: Worlds, namespaces: bool) -> None:
    """The new content never runs as if it had been declared: it is refused, or told where it was swapped in while it ran."""
    from runner import Registry

    world = worlds()
    (world.ws / "program").write_bytes(GOOD)
    (world.ws / "program").chmod(0o755)
    declaration = world.root / "agent.xml"
    declaration.write_text(_DECLARATION)
    with Registry.load(declaration, authorize=lambda manifest: True, workspace=world.ws) as registry:
        codes = set()
        with _swapped(form, world):
            for _ in range(ROUNDS // 3):
                result = registry.call(tool, {})
                codes.add(result.error.code if result.error else "")
                assert result.stdout == "GOOD\n" or result.error is not None, result
        (world.ws / "program").write_bytes(EVIL)
        changed = registry.call(tool, {})
        assert changed.error is not None and changed.error.code == "script_changed" and changed.status is None, changed
        (world.ws / "program").unlink()
        (world.ws / "program").write_bytes(GOOD)
        (world.ws / "program").chmod(0o755)
        rest = registry.call(tool, {})
    if namespaces or tool == "itself":
        assert rest.stdout == "GOOD\n", rest
        assert codes <= {"", "script_changed", "executable_changed"} and codes != {""}, codes
    else:  # a script that its interpreter opens again cannot be kept from changing without a view
        assert rest.error is not None and rest.error.code == "sandbox_unavailable", rest
