"""Live progress as its users see it: early, safe, bounded, the same text as the result; and calls that are iterated or cancelled."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runner import Registry, RunnerError

ROOT = Path(__file__).resolve().parents[2]
SECRET = "TOKEN-0123456789"
DECLARATION = """<agent>
<shell_access id="r" extends="builtin:workspace-readonly@1" pipefail="true">
  <capabilities child_processes="true" arbitrary_code="true"/>
  <secrets replacement="{replacement}"><literal value="{secret}"/></secrets>
  <limits wall_time="{wall}" total_output="{total}"/>
  <policy default="allow"><rule id="no" action="deny"><basename value="shred"/></rule></policy>
</shell_access>
<tool name="live" type="shell" mode="chain" runtime="r" stream="sanitized"/>
<tool name="quiet" type="shell" mode="chain" runtime="r"/>
</agent>"""


class Made:
    def __init__(self, folder: Path) -> None:
        self.folder, self.open = folder, []  # type: ignore[var-annotated]

    def file(self, **settings: str) -> Path:
        values = {"replacement": "[REDACTED]", "secret": SECRET, "wall": "60s", "total": "1500000", **settings}
        file = self.folder / f"agent-{len(self.open)}.xml"
        file.write_text(DECLARATION.format(**values))
        return file

    def __call__(self, **settings: str) -> Registry:
        self.open.append(Registry.load(self.file(**settings), authorize=lambda manifest: True, workspace=self.folder))
        return self.open[-1]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Made]:
    made = Made(tmp_path)
    yield made
    for registry in made.open:
        registry.close()
    assert not [child for child in psutil.Process().children(recursive=True) if child.name() != "launcher"]


def test_it_comes_while_the_command_runs_and_is_the_result(load: Made) -> None:
    seen: list[tuple[float, str]] = []
    result = load().call(
        "live", {"command": f"sh -c 'echo early; sleep 0.6; printf \"a {SECRET[:5]}\"; sleep 0.2; echo \"{SECRET[5:]} z\"'"},
        on_output=lambda text: seen.append((time.monotonic(), text)),
    )  # fmt: skip
    ended = time.monotonic()
    assert seen[0][1] == "early\n" and ended - seen[0][0] > 0.5
    assert "".join(text for _, text in seen) == result.stdout == "early\na [REDACTED] z\n"


def test_a_secret_split_over_commands_and_stages(load: Made) -> None:
    registry, seen = load(), []  # type: ignore[var-annotated]
    first, second = SECRET[:6], SECRET[6:]
    result = registry.call("live", {"command": f"printf '%s' {first}; printf '%s\\n' {second}"}, on_output=seen.append)
    assert "".join(seen) == result.stdout == "[REDACTED]\n"
    seen.clear()
    smile = "sh -c 'printf \"\\360\\237\" >&2; sleep 0.2; printf \"\\230\\200\\n\" >&2; cat'"
    result = registry.call("live", {"command": f"{smile} | {smile}"}, on_output=seen.append)
    assert "".join(seen) == "😀\n😀\n", "each stage's pipe is decoded for itself"


def test_finalized_and_refused_calls_show_nothing(load: Made) -> None:
    registry, seen = load(), []  # type: ignore[var-annotated]
    assert registry.call("quiet", {"command": "echo a"}, on_output=seen.append).stdout == "a\n"
    denied = registry.call("live", {"command": "shred x"}, on_output=seen.append)
    assert denied.error is not None and denied.error.code == "denied" and seen == []


def test_a_failing_observer_is_harmless(load: Made) -> None:
    def fail(text: str) -> None:
        raise ValueError(text)

    result = load().call("live", {"command": "echo a; echo b"}, on_output=fail)
    assert (result.stdout, result.error) == ("a\nb\n", None)


def test_a_blocked_observer_runs_into_the_wall_time(load: Made) -> None:
    result = load(wall="1s").call("live", {"command": "sh -c 'echo a; sleep 0.8; echo b; sleep 30'"}, on_output=lambda text: time.sleep(1.2))
    assert result.limit == "wall_time" and result.error is not None and result.error.code == "timed_out"


def test_a_breach_keeps_back_what_is_undecided(load: Made) -> None:
    seen: list[str] = []
    piece = f"echo seen; printf '%s' {SECRET[:9]}; sleep 30"
    result = load(wall="1s").call("live", {"command": f'sh -c "{piece}"'}, on_output=seen.append)
    assert result.limit == "wall_time" and "".join(seen) == "seen\n" and SECRET[:4] not in result.stdout
    seen.clear()
    result = load(total="1000").call("live", {"command": "sh -c 'yes 123456789'"}, on_output=seen.append)
    assert result.limit == "total_output" and len("".join(seen)) <= 1000


def test_awaited_iterated_and_made_a_task(load: Made) -> None:
    registry = load()

    async def main() -> None:
        awaited = await registry.acall("live", {"command": "echo one"})
        assert awaited.stdout == "one\n"
        call, pieces = registry.acall("live", {"command": "sh -c 'echo a; sleep 0.3; echo b'"}), []
        async for piece in call:
            pieces.append(piece)
        assert pieces == ["a\n", "b\n"] and call.result is not None and call.result.stdout == "a\nb\n"
        assert (await asyncio.create_task(registry.acall("quiet", {"command": "echo task"}))).stdout == "task\n"
        assert [result.stdout for result in await asyncio.gather(*(registry.acall("quiet", {"command": f"echo {n}"}) for n in range(4)))] == [
            f"{n}\n" for n in range(4)
        ]

    asyncio.run(main())


def _running(mark: str) -> bool:
    return any(mark in " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))


def test_an_iteration_left_early_ends_the_command(load: Made) -> None:
    mark = f"31{os.getpid()}"

    async def main() -> None:
        pieces = aiter(load().acall("live", {"command": f"sh -c 'echo a; sleep {mark}'"}))
        assert await anext(pieces) == "a\n" and _running(mark)
        await pieces.aclose()  # type: ignore[attr-defined]
        assert not _running(mark)

    asyncio.run(main())


def test_cancelled_from_another_thread(load: Made) -> None:
    mark, wake = f"32{os.getpid()}", os.eventfd(0)
    registry, seen = load(), []  # type: ignore[var-annotated]
    canceller = threading.Timer(0.6, lambda: os.eventfd_write(wake, 1))
    canceller.start()
    result = registry.call("live", {"command": f"sh -c 'echo a; printf {SECRET[:8]}; sleep {mark} & sleep {mark}'"}, interrupt=wake, on_output=seen.append)
    assert not _running(mark) and result.error is not None and result.error.code == "cancelled"
    assert "".join(seen) == "a\n"
    os.close(wake)


@pytest.mark.parametrize("settings", [{"secret": "ab", "replacement": "aX"}, {"secret": "["}, {"secret": "a&#x202e;b"}, {"secret": "x" * 2000, "total": "1000"}])
def test_what_cannot_stream_is_refused_when_it_is_loaded(settings: dict[str, str], load: Made) -> None:
    with pytest.raises(RunnerError) as caught:
        load(**settings)
    assert caught.value.code == "shell.tool_stream_unsupported"
    file = load.file(**settings)
    file.write_text(file.read_text().replace('stream="sanitized"', ""))
    Registry.load(file, authorize=lambda manifest: True, workspace=load.folder).close()


def _call(load: Made, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "runner", "call", str(load.file()), "live", "--authorize", "any", "--input", '{"command":"echo a; sleep 0.3; echo b"}']
    return subprocess.run([*command, *more], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=load.folder)


def test_the_command_line_shows_progress_beside_the_result(load: Made) -> None:
    done = _call(load)
    assert (done.stderr, done.stdout) == ("a\nb\n", "a\nb\n")


def test_and_as_json_lines(load: Made) -> None:
    lines = [json.loads(line) for line in _call(load, "--json").stdout.splitlines()]
    assert lines[:2] == [{"output": "a\n"}, {"output": "b\n"}] and lines[2]["stdout"] == "a\nb\n"
