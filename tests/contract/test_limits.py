"""Every limit, on real processes: it holds, the result names it, and what was written before it is there."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from runner import Result, run

PY = "/usr/bin/python3"


def _sh(script: str, folder: Path, **limits: object) -> Result:
    return run(["bash", "-c", script], write=[str(folder)], cwd=str(folder), limits=limits)


def _named(result: Result, limit: str) -> None:
    """The limit ended it, or this host cannot hold it fully and says so before anything starts."""
    if result.status is None:
        assert result.error is not None and result.error.code == "sandbox_unavailable"
        assert f"`{limit}`" in result.error.message and (os.geteuid() != 0 or limit == "tmp_size"), result.error
        return
    assert result.limit == limit, (result.limit, result.status, result.stderr)


def _held_or_refused(result: Result, limit: str) -> None:
    """The command ran, or this host cannot hold the limit fully: it then says so and nothing has started."""
    if result.status is None:
        _named(result, limit)


def test_wall_time_keeps_what_was_written(tmp_path: Path) -> None:
    started = time.monotonic()
    result = _sh("echo before; sleep 60; echo after", tmp_path, wall_time=0.4)
    assert result.limit == "wall_time" and result.error is not None and result.error.code == "timed_out"
    assert result.stdout == "before\n" and time.monotonic() - started < 5
    assert result.status is not None and result.status.model_dump() == {"signaled": 15}


def test_a_command_that_ignores_term_is_killed(tmp_path: Path) -> None:
    result = _sh("trap '' TERM; echo a; while :; do sleep 1; done", tmp_path, wall_time=0.3)
    assert result.limit == "wall_time" and result.status is not None and result.status.model_dump() == {"signaled": 9}


def test_a_stopped_command_times_out(tmp_path: Path) -> None:
    result = _sh("echo a; kill -STOP $$; echo b", tmp_path, wall_time=0.5)
    assert result.limit == "wall_time" and result.stdout.startswith("a")


def test_idle_time_is_silence_without_work(tmp_path: Path) -> None:
    assert _sh("sleep 60", tmp_path, idle_time=0.4).limit == "idle_time"


def test_idle_time_does_not_end_silent_work(tmp_path: Path) -> None:
    script = "end=$((SECONDS+2)); while [ $SECONDS -lt $end ]; do :; done; echo done"
    result = _sh(script, tmp_path, idle_time=0.5)
    assert result.success and result.stdout == "done\n", (result.limit, result.error)


def test_cpu_time(tmp_path: Path) -> None:
    _named(_sh("while :; do :; done", tmp_path, cpu_time=1, wall_time=30), "cpu_time")


def test_cpu_time_of_many_short_processes(tmp_path: Path) -> None:
    """Each one alone stays below RLIMIT_CPU: the tree is what counts."""
    code = "import os\nwhile 1:\n  p=os.fork()\n  if not p:\n    [i*i for i in range(2000000)]; os._exit(0)\n  os.waitpid(p,0)"
    result = run([PY, "-c", code], write=[str(tmp_path)], limits={"cpu_time": 1, "wall_time": 30})
    assert result.limit == "cpu_time", (result.limit, result.status, result.stderr)


def test_memory_of_one_process(tmp_path: Path) -> None:
    result = run([PY, "-c", "x = bytearray(400 << 20)"], write=[str(tmp_path)], limits={"memory": 128 << 20})
    _named(result, "memory")


def test_memory_of_a_tree(tmp_path: Path) -> None:
    code = "import os, time\nfor i in range(8):\n  if not os.fork(): x = bytearray(50 << 20); time.sleep(5); os._exit(0)\nfor i in range(8): os.wait()"
    result = run([PY, "-c", code], write=[str(tmp_path)], limits={"memory": 128 << 20, "wall_time": 20})
    _named(result, "memory")


def test_the_next_run_has_its_own_memory_limit(tmp_path: Path) -> None:
    argv = [PY, "-c", "x = bytearray(256 << 20); print(len(x))"]
    _named(run(argv, write=[str(tmp_path)], limits={"memory": 64 << 20}), "memory")
    assert run(argv, write=[str(tmp_path)]).success


def test_processes(tmp_path: Path) -> None:
    code = "import os, time\nn=0\ntry:\n  while n<300:\n    if not os.fork(): time.sleep(3); os._exit(0)\n    n+=1\nexcept OSError: pass\nprint(n)"
    result = run([PY, "-c", code], write=[str(tmp_path)], limits={"processes": 20, "wall_time": 20})
    _held_or_refused(result, "processes")
    if result.status is not None:
        assert int(result.stdout or 0) <= 20
    if os.geteuid() == 0:
        _named(result, "processes")


def test_file_size(tmp_path: Path) -> None:
    result = _sh("exec head -c 5000000 /dev/zero > big", tmp_path, file_size=1 << 20)
    assert result.limit == "file_size" and (tmp_path / "big").stat().st_size == 1 << 20


def test_a_file_size_error_the_command_survives_is_its_own(tmp_path: Path) -> None:
    result = _sh("trap '' XFSZ; head -c 5000000 /dev/zero > big; echo $?", tmp_path, file_size=1 << 20)
    assert result.limit is None and result.success


def test_open_files(tmp_path: Path) -> None:
    code = "import os\ntry:\n  while 1: os.dup(0)\nexcept OSError as e: print(e.errno, os.dup2.__name__)"
    result = run([PY, "-c", code], write=[str(tmp_path)], limits={"open_files": 64})
    assert result.success and result.stdout.startswith("24")


def test_tmp_size(tmp_path: Path) -> None:
    result = _sh("head -c 50000000 /dev/zero > /tmp/f; stat -c %s /tmp/f", tmp_path, tmp_size=1 << 20)
    _held_or_refused(result, "tmp_size")
    if result.status is not None:
        assert "No space left" in result.stderr and int(result.stdout) <= 1 << 20


def test_stdout_is_cut_in_the_middle_and_the_command_runs_on(tmp_path: Path) -> None:
    result = _sh("seq 100000; echo END; touch finished", tmp_path, stdout=2000, total_output=10_000_000)
    assert result.success and result.stdout_truncated and (tmp_path / "finished").exists()
    assert result.stdout.startswith("1\n2\n") and result.stdout.endswith("END\n") and len(result.stdout) < 2200


def test_total_output_ends_the_command(tmp_path: Path) -> None:
    result = _sh("yes", tmp_path, total_output=100_000)
    assert result.limit == "total_output" and result.stdout_truncated and result.stdout.startswith("y\n")


def test_cpus(tmp_path: Path) -> None:
    result = run([PY, "-c", "import time\ne=time.time()+1\nwhile time.time()<e: pass\nprint(time.process_time())"],
                 write=[str(tmp_path)], limits={"cpus": 0.2, "wall_time": 20})  # fmt: skip
    _held_or_refused(result, "cpus")
    if result.status is not None:
        assert float(result.stdout) < 0.6


@pytest.mark.parametrize("count", [1, 65_536, 5_000_000])
def test_stdin_of_every_size_arrives(tmp_path: Path, count: int) -> None:
    result = run(["wc", "-c"], write=[str(tmp_path)], stdin=b"x" * count)
    assert result.stdout.strip() == str(count)


def test_stdin_that_nobody_reads_is_no_error(tmp_path: Path) -> None:
    assert run(["true"], write=[str(tmp_path)], stdin=b"x" * 5_000_000).success


def test_a_limit_that_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    result = run(["true"], write=[str(tmp_path)], limits={"colour": 3})
    assert result.status is None and result.error is not None and "colour" in result.error.message


@pytest.mark.parametrize(
    "limits",
    [
        {"open_files": -5}, {"open_files": 1.5}, {"memory": "x"}, {"memory": 0}, {"wall_time": -1}, {"wall_time": None},
        {"processes": True}, {"stdout": float("nan")}, {"cpu_time": "3s"}, {"file_size": 1 << 64}, {"wall_time": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_a_limit_that_nothing_can_hold_is_a_usage_error(limits: dict[str, object]) -> None:
    result = run(["true"], limits=limits)
    assert result.error is not None and result.error.code == "usage" and next(iter(limits)) in result.error.message
    assert result.status is None
