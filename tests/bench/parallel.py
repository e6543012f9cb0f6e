"""500 sandboxes at once: all finish, and what each costs the host in memory."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from backends.landlock import LandlockBackend
from runner import host
from runner.model.command import Access, Stage
from runner.model.manifest import Limits

COUNT = 500


def _available() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable"):
            return int(line.split()[1])
    return 0


def many() -> None:
    """Each sandbox waits for its input to close, so that all of them run at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        access = Access(cwd=folder, read=(folder,), home="/nonexistent", limits=Limits(tmp_size=1 << 20))
        sandbox = LandlockBackend().prepare(access, ahead=0)
        cat = host.resolve("cat", search_path=("/usr/bin",), cwd=folder, trusted_roots=("/usr",))
        stage = Stage(executable=cat, arguments=(), cwd=folder, environment=())
        read, write = os.pipe()
        null = os.open("/dev/null", os.O_RDWR)
        before, started = _available(), time.perf_counter()
        instances = []
        for _ in range(COUNT):
            instance = sandbox.open()
            instance.start(stage, read, null, null)
            instances.append(instance)
        for instance in instances:
            instance.worker.wait_armed()
        running, used = time.perf_counter() - started, before - _available()
        os.close(write)
        done = 0
        for instance in instances:
            while not (ends := instance.exits()):
                time.sleep(0.001)
            done += ends[0][1].status.exited == 0
            instance.close()
        sandbox.close()
        for fd in (read, null):
            os.close(fd)
    print(f"\n{COUNT} sandboxes at once   (target: all finish, <= 1 MiB each)")
    print(f"  {done} finished; {used / COUNT / 1024:.2f} MiB of host memory each; all were up after {running:.2f} s")
