"""The registry as its users use it: from threads, tasks, after a fork, and when they change their mind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runner import Registry, Result, RunnerError
from runner.compiler import compile_text

ROOT = Path(__file__).resolve().parents[2]
DECLARATION = """<agent>
<shell_access id="r" extends="builtin:workspace-readonly@1">
  <capabilities child_processes="true" arbitrary_code="true"/>
  <environment><pass name="API_TOKEN" secret="true"/></environment>
  <secrets><literal value="hunter2hunter2"/></secrets>
  <policy><rule id="sh" action="allow"><any><basename value="dash"/><basename value="bash"/></any></rule></policy>
</shell_access>
<tool name="sh" type="shell" mode="fixed" runtime="r" stdin="optional"><command program="bash"><arg value="-c"/></command></tool>
<tool name="token" type="shell" mode="fixed" runtime="r"><command program="bash"><arg value="-c"/><arg value="echo $0"/>
  <secret_arg env="API_TOKEN" prefix="Bearer "/></command><arguments mode="none"/></tool>
<tool name="strict" type="shell" mode="fixed" runtime="r" nonzero="error" result="stdout"><command program="bash"><arg value="-c"/></command></tool>
<tool name="any" type="shell" mode="structured" runtime="r" result="structured"/>
</agent>"""


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    file = tmp_path / "agent.xml"
    file.write_text(DECLARATION)
    environ = {**os.environ, "API_TOKEN": "t0k3n-0123456789"}
    with Registry.load(file, authorize=lambda manifest: True, workspace=tmp_path, environ=environ) as made:
        yield made


def _sh(registry: Registry, script: str, **more: object) -> Result:
    return registry.call("sh", {"arguments": [script], **more})


def test_the_digest_authorises_and_nothing_else_does(tmp_path: Path) -> None:
    file = tmp_path / "agent.xml"
    file.write_text(DECLARATION)
    digest = compile_text(DECLARATION, source_dir=str(tmp_path)).sha256
    Registry.load(file, authorize=digest, workspace=tmp_path, environ={"PATH": "/usr/bin:/bin"}).close()
    file.write_text(DECLARATION.replace("hunter2hunter2", "other-secret-0"))
    Registry.load(file, authorize=digest, workspace=tmp_path, environ={}).close()
    file.write_text(DECLARATION.replace('basename value="dash"', 'basename value="zsh"'))
    with pytest.raises(RunnerError) as caught:
        Registry.load(file, authorize=digest, workspace=tmp_path)
    assert caught.value.code == "shell.manifest_rejected"


def test_secrets_never_come_back(registry: Registry) -> None:
    result = registry.call("token", {})
    assert result.stdout == "Bearer [REDACTED]\n", result
    assert "t0k3n" not in json.dumps(result.to_json())
    shown = _sh(registry, "echo hunter2hunter2; echo hunter2hunter2 | base64; echo $API_TOKEN | rev | rev")
    assert "hunter2" not in shown.stdout and "t0k3n" not in shown.stdout and "aHVudGVyMmh1" not in shown.stdout


def test_arguments_stay_literal(registry: Registry) -> None:
    result = registry.call("any", {"program": "grep", "arguments": ["; rm -rf /", "agent.xml"]})
    assert result.status is not None and result.commands[0].arguments[0] == "; rm -rf /"


def test_nonzero_error_keeps_the_result(registry: Registry) -> None:
    shown = json.loads(registry.call("strict", {"arguments": ["echo out; exit 4"]}).render())
    assert shown["error"]["code"] == "shell.tool_nonzero" and shown["result"] == "out\n"


def test_each_call_has_its_own_tmp_and_processes(registry: Registry) -> None:
    if not any(row.constraint == "private_tmp" and row.level == "fully" for row in _sh(registry, "true").enforcement):
        return
    assert _sh(registry, "echo x > /tmp/f && (setsid sleep 100 &) && ls /tmp").stdout.startswith("f\n")
    assert _sh(registry, "cat /tmp/f; pgrep sleep").stdout == ""


def test_calls_from_many_threads(registry: Registry) -> None:
    found: list[str] = []

    def work(number: int) -> None:
        found.append(_sh(registry, f"echo {number}; sleep 0.05").stdout)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(text) for text in found) == list(range(24))


def test_acall_runs_beside_the_loop(registry: Registry) -> None:
    async def main() -> list[Result]:
        return await asyncio.gather(*(registry.acall("sh", {"arguments": [f"echo {n}"]}) for n in range(6)))

    assert [result.stdout for result in asyncio.run(main())] == [f"{n}\n" for n in range(6)]


def test_cancelling_ends_the_command_before_it_returns(registry: Registry, tmp_path: Path) -> None:
    mark = f"1{os.getpid()}.5"

    async def main() -> float:
        task = asyncio.create_task(registry.acall("sh", {"arguments": [f"sleep {mark} & sleep {mark}"]}))
        while not _running(mark):
            await asyncio.sleep(0.01)
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.monotonic() - started

    assert asyncio.run(main()) < 5
    assert not _running(mark)


def _running(mark: str) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", mark]]


def test_a_forked_child_leaves_the_parents_sandboxes_alone(registry: Registry) -> None:
    assert _sh(registry, "echo 1").success
    pid = os.fork()
    if not pid:
        try:
            ok = _sh(registry, "echo child").stdout == "child\n"
        except BaseException:
            ok = False
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert _sh(registry, "echo 2").stdout == "2\n"


def test_a_replaced_root_leaves_what_runs_alone(tmp_path: Path) -> None:
    """Another thing under a root's name needs another view for the next call, not the end of those that run."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "f").write_text("old")
    file = tmp_path / "agent.xml"
    file.write_text("""<agent><shell_access id="r" extends="builtin:workspace-readonly@1"><capabilities child_processes="true"
        arbitrary_code="true"/><policy default="allow"/></shell_access>
        <tool name="sh" type="shell" mode="fixed" runtime="r"><command program="bash"><arg value="-c"/></command></tool></agent>""")
    with Registry.load(file, authorize=lambda manifest: True, workspace=root) as registry:
        results: list[Result] = []
        running = threading.Thread(target=lambda: results.append(_sh(registry, "echo began; sleep 1.5; cat f")))
        running.start()
        time.sleep(0.5)
        root.rename(tmp_path / "moved")
        root.mkdir()
        (root / "f").write_text("new")
        assert _sh(registry, "cat f").stdout == "new"
        running.join()
    assert (results[0].stdout, results[0].error) == ("began\nold", None)


def test_a_killed_factory_is_replaced(registry: Registry) -> None:
    assert _sh(registry, "true").success
    for child in psutil.Process().children():
        if child.name() == "launcher":
            child.kill()
    result = [_sh(registry, "echo again") for _ in range(3)][-1]
    assert result.stdout == "again\n", result.error


def _fumehood(*argv: str, **options: object) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, "-m", "runner", "run", *argv], stdout=-1, stderr=-1, env=environment, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("exit 139", 139), ("kill -SEGV $$", 139), ("kill -9 $$", 137)])
def test_run_is_transparent_in_its_exit_code(script: str, code: int, tmp_path: Path) -> None:
    with _fumehood("--", "sh", "-c", script, cwd=tmp_path) as process:
        assert process.wait(20) == code


def test_run_passes_bytes_through_unfiltered(tmp_path: Path) -> None:
    process = _fumehood("--", "cat", stdin=-1, cwd=tmp_path)
    assert process.communicate(b"\x1b[31m\xff\x00raw", timeout=20)[0] == b"\x1b[31m\xff\x00raw"


def test_run_forwards_signals(tmp_path: Path) -> None:
    script = "trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    with _fumehood("--", "sh", "-c", script, cwd=tmp_path) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 5 and process.stdout.read() == b"got\n"


def test_the_record_goes_to_its_own_descriptor(tmp_path: Path) -> None:
    read, write = os.pipe()
    with _fumehood("--result-fd", str(write), "--", "sh", "-c", "echo out; exit 3", cwd=tmp_path, pass_fds=(write,)) as process:
        os.close(write)
        record = json.loads(os.read(read, 1 << 16))
        assert process.wait(20) == 3 and process.stdout is not None and process.stdout.read() == b"out\n"
    os.close(read)
    assert record["status"] == {"exited": 3}
