"""Chains as a model uses them: what runs, what is skipped, how pipelines end, and what a refusal half-way leaves."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from runner import Registry, Result

DECLARATION = """<agent>
<shell_access id="r" extends="builtin:workspace-readonly@1" pipefail="{pipefail}">
  <capabilities child_processes="true" arbitrary_code="true"><write path="${{workspace}}"/></capabilities>
  <limits wall_time="{wall}" idle_time="{idle}" total_output="{total}"/>
  <policy default="allow"><rule id="no" action="deny"><basename value="shred"/></rule></policy>
</shell_access>
<tool name="chain" type="shell" mode="chain" runtime="r" stdin="optional" result="structured"/>
</agent>"""


class Chains:
    def __init__(self, folder: Path) -> None:
        self.folder, self.open = folder, []  # type: ignore[var-annotated]

    def __call__(self, command: str, stdin: str | None = None, **settings: Any) -> Result:
        values = {"pipefail": "false", "wall": "60s", "idle": "60s", "total": "1500000", **settings}
        file = self.folder.parent / f"agent-{len(self.open)}.xml"
        file.write_text(DECLARATION.format(**values))
        registry = Registry.load(file, authorize=lambda manifest: True, workspace=self.folder)
        self.open.append(registry)
        return registry.call("chain", {"command": command, **({} if stdin is None else {"stdin": stdin})})


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chains]:
    place = tmp_path / "ws"
    place.mkdir()
    made = Chains(place)
    yield made
    for registry in made.open:
        registry.close()
    assert not [child for child in psutil.Process().children(recursive=True) if child.name() != "launcher"]


def _ends(result: Result) -> list[tuple[str, object]]:
    return [(one.program, getattr(one.status, "exited", None) if hasattr(one.status, "exited") else -one.status.signaled) for one in result.commands]


def _exited(result: Result) -> object:
    return getattr(result.status, "exited", None)


def test_every_executed_pipeline_is_in_the_output_in_order(chain: Chains) -> None:
    result = chain("echo a; sh -c 'echo b; echo e >&2'\necho c")
    assert (result.stdout, result.stderr, result.error) == ("a\nb\nc\n", "e\n", None)
    assert [name for name, _ in _ends(result)] == ["echo", "sh", "echo"]


def test_a_skipped_branch_is_neither_resolved_nor_judged(chain: Chains) -> None:
    result = chain("false && no-such-program || echo yes; true || shred x")
    assert (result.stdout, result.error, _ends(result)) == ("yes\n", None, [("false", 1), ("echo", 0), ("true", 0)])


def test_the_last_pipeline_that_ran_is_the_status(chain: Chains) -> None:
    assert _exited(chain("sh -c 'exit 3' || sh -c 'exit 4' && echo no")) == 4


@pytest.mark.parametrize(("pipefail", "status"), [("false", 0), ("true", 7)])
def test_pipefail(chain: Chains, pipefail: str, status: int) -> None:
    result = chain("sh -c 'exit 7' | cat", pipefail=pipefail)
    after = chain("sh -c 'exit 7' | cat && echo on", pipefail=pipefail)
    assert _ends(result) == [("sh", 7), ("cat", 0)]
    assert (after.stdout == "on\n") == (status == 0)


def test_an_early_consumer_ends_an_infinite_producer(chain: Chains) -> None:
    started = time.monotonic()
    result = chain("yes | head -n 1")
    assert result.stdout == "y\n" and result.error is None and _exited(result) == 0
    assert _ends(result) == [("yes", -signal.SIGPIPE), ("head", 0)]
    assert time.monotonic() - started < 20


def test_only_the_first_stage_gets_the_input(chain: Chains) -> None:
    result = chain("cat | tr a-z A-Z; cat; wc -c", stdin="hello\n")
    assert result.stdout.split() == ["HELLO", "0"]


def test_stderr_stays_out_of_the_pipe(chain: Chains) -> None:
    result = chain("sh -c 'echo out; echo err >&2' | wc -l")
    assert (result.stdout.strip(), result.stderr) == ("1", "err\n")


def test_a_stage_that_never_reads(chain: Chains) -> None:
    result = chain("head -c 10000000 /dev/zero | sleep 0.2; echo next")
    assert result.stdout == "next\n" and _ends(result)[0] == ("head", -signal.SIGPIPE)


def test_a_stage_that_closes_its_input(chain: Chains) -> None:
    """What is left of the input is dropped, and the next pipeline is served all the same."""
    result = chain("sh -c 'exec 0<&-; sleep 0.2; echo closed'; echo next", stdin="x" * 900_000)
    assert result.stdout == "closed\nnext\n" and result.error is None


def test_a_stage_that_cannot_start_leaves_no_other_running(chain: Chains) -> None:
    (chain.folder / "odd").write_bytes(b"\x7fELF no program")
    (chain.folder / "odd").chmod(0o755)
    started = time.monotonic()
    result = chain("sleep 50 | ./odd; echo never")
    assert result.error is not None and result.error.code == "spawn_error"
    assert result.stdout == "" and time.monotonic() - started < 20


@pytest.mark.parametrize(("second", "code"), [("no-such-program", "resolution_error"), ("shred x", "denied")])
def test_a_refusal_half_way_keeps_what_was_done(chain: Chains, second: str, code: str) -> None:
    result = chain(f"echo first && {second} | cat; echo never")
    assert result.error is not None and result.error.code == code
    assert (result.stdout, _ends(result), _exited(result)) == ("first\n", [("echo", 0)], 0)


def test_in_one_pipeline_every_stage_is_prepared_before_any_starts(chain: Chains) -> None:
    result = chain("touch mark | no-such-program")
    assert result.status is None and not (chain.folder / "mark").exists()


def test_cd_is_refused_with_the_remedy(chain: Chains) -> None:
    result = chain("cd src && ls")
    assert result.error is not None and "cwd" in result.error.message


def test_total_output_is_of_the_whole_request(chain: Chains) -> None:
    result = chain("head -c 600 /dev/zero | tr '\\0' x; head -c 600 /dev/zero | tr '\\0' x; echo never", total="1000")
    assert result.limit == "total_output" and "never" not in result.stdout
    assert [name for name, _ in _ends(result)][:2] == ["head", "tr"]


_STUBBORN = {
    "ignores TERM": "sh -c 'trap \"\" TERM; while :; do sleep 0.05; done'",
    "double-forks": "sh -c '(setsid sh -c \"trap : TERM; sleep 100\" &) ; sleep 100'",
    "a daemon holds stdout": "sh -c '(setsid sleep 100 &) ; echo said; sleep 100'",
    "in a later pipeline": "echo said; sh -c 'trap \"\" TERM; sleep 100 & wait; sleep 100'",
}


@pytest.mark.parametrize("how", _STUBBORN)
def test_wall_time_ends_whatever_it_is(chain: Chains, how: str) -> None:
    result = chain(_STUBBORN[how], wall="1s")
    assert result.limit == "wall_time" and result.error is not None and result.error.code == "timed_out"
    assert result.usage.wall < 10


@pytest.mark.parametrize("how", ["double-forks", "a daemon holds stdout"])
def test_idle_time_too(chain: Chains, how: str) -> None:
    result = chain(_STUBBORN[how], idle="1s")
    assert result.limit == "idle_time" and result.error is not None and result.error.code == "idle_timed_out"


def test_a_daemon_does_not_keep_the_result_waiting(chain: Chains) -> None:
    result = chain("sh -c '(setsid sleep 100 &) ; echo said'; echo next")
    assert result.stdout == "said\nnext\n" and result.error is None and result.usage.wall < 10


def test_a_failed_start_gives_back_every_descriptor(chain: Chains) -> None:
    import resource

    assert chain("true | true").error is None
    registry = chain.open[0]
    before, limits = len(os.listdir("/proc/self/fd")), resource.getrlimit(resource.RLIMIT_NOFILE)
    for room in range(2, 14):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + room, limits[1]))
        try:
            registry.call("chain", {"command": "cat | cat | cat", "stdin": "x"})
        except OSError:
            pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert registry.call("chain", {"command": "echo well"}).stdout == "well\n"
    assert len(os.listdir("/proc/self/fd")) <= before
