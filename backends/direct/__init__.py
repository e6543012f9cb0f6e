"""No confinement at all, for runtimes that say so (`sandbox="direct_unsafe"`): the launcher only starts, limits and ends.

What it still gives is what every backend gives: rlimits, one report per stage, and nothing left running afterwards
(a subreaper sweeps the descendants).
"""

from __future__ import annotations

import os

from backends.landlock import rlimits
from backends.launcher import wire
from backends.launcher.client import Factory
from backends.launcher.instance import LauncherInstance
from runner.errors import IsolationError
from runner.model.command import Access, Enforcement, Executable

_UNHELD = (
    "filesystem_read", "filesystem_write", "metadata", "network", "unix_sockets", "process_view", "signals", "seccomp",
    "private_tmp", "proc", "dev", "hide", "protect", "tmp_size",
)  # fmt: skip


class DirectBackend:
    name = "direct-unsafe"
    confinement = "none"

    def probe(self) -> tuple[Enforcement, ...]:
        return _report()

    def prepare(self, access: Access, *, ahead: int = 1) -> DirectSandbox:
        if access.required:
            raise IsolationError("the direct backend confines nothing", remedy='declare sandbox="direct_unsafe"')
        return DirectSandbox(access, ahead)


class DirectSandbox:
    def __init__(self, access: Access, ahead: int) -> None:
        self.access, self.ahead = access, ahead
        self.factory = self._start()
        self.report = _report()

    def _start(self) -> Factory:
        limits = rlimits(self.access.limits, False, 0)
        config = wire.Config(
            flags=wire.DIRECT, host_pid=os.getpid(), uid=os.geteuid(), gid=os.getegid(), limits=limits[1:]
        )
        return Factory(config, self.ahead)

    def open(self) -> LauncherInstance:
        if self.factory.closed or self.factory.owner != os.getpid():
            self.factory = self._start()
        return LauncherInstance(self.factory.take(), bare=True, write=(), counters=())

    def enforcement(self) -> tuple[Enforcement, ...]:
        return self.report

    def visible(self, executable: Executable) -> bool:
        return True

    def describe(self) -> str:
        return "the command runs unconfined, as the caller"

    def close(self) -> None:
        self.factory.close()


def _report() -> tuple[Enforcement, ...]:
    def row(name: str, level: str, by: str, why: str = "") -> Enforcement:
        return Enforcement(constraint=name, level=level, by=by, why=why)

    nothing = [row(name, "not", "none", "the direct backend confines nothing") for name in _UNHELD]
    sampled = [row(name, "partly", "sampler", "checked several times a second") for name in ("memory", "processes")]
    limits = [row("cpu_time", "fully", "RLIMIT_CPU and sampler"), row("file_size", "fully", "RLIMIT_FSIZE"),
              row("open_files", "fully", "RLIMIT_NOFILE")]  # fmt: skip
    cleanup = row("cleanup", "partly", "subreaper", "processes outlive a launcher that is killed")
    return (*nothing, cleanup, *sampled, *limits)
