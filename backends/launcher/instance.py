"""One instance as the rest of the runner sees it: the Instance protocol over a launcher's Worker."""

from __future__ import annotations

import errno
import os

from runner.errors import Refusal
from runner.model.outcome import Status, Usage
from runner.model.paths import inside
from runner.model.record import Record

from . import wire
from .channel import LauncherError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runner.model.command import Executable, Stage

    from .client import Ended, Worker


class Exited(Record):
    status: Status
    usage: Usage
    oom_kills: int = 0
    forks_refused: int = 0
    failure: tuple[str, int] | None = None
    changed: bool = False


class LauncherInstance:
    """bare: no mount view, so verified bytes run from memory. write: roots below which a path proves nothing.
    counters: what the numbers in each report mean."""

    def __init__(self, worker: Worker, *, bare: bool, write: tuple[str, ...], counters: tuple[str, ...]) -> None:
        self.worker, self.bare, self.write, self.counters = worker, bare, write, counters
        self.placed: dict[str, str] = {}

    def fileno(self) -> int:
        return self.worker.fileno()

    @property
    def pid(self) -> int:
        """Of init, as the host sees it."""
        return self.worker.pid

    def start(self, stage: Stage, stdin: int, stdout: int, stderr: int) -> int:
        program = stage.executable
        if self.bare and any(file.content is not None for file in stage.files):
            raise Refusal(
                "this host cannot keep a script from changing while it is read: no mount namespace", code="sandbox_unavailable",
                remedy="make the script root's own, or run where `fumehood doctor` shows a view",
            )  # fmt: skip
        if not self.bare:
            for part in (*program.interpreters, program):
                self._place(part, "executable_changed")
            for file in stage.files:
                self._place(file, "script_changed")
        key = None if program.content is not None else _key(program)
        path = program.path if key and not self._replaceable(program.path) else program.canonical
        record = wire.encode_start(path, stage.cwd, (program.path, *stage.arguments), stage.environment, key)
        if program.content is None or not self.bare:
            return self.worker.start(record, stdin, stdout, stderr)
        memory = wire.sealed(program.content, os.path.basename(program.path))
        try:
            return self.worker.start(record, stdin, stdout, stderr, memory)
        finally:
            os.close(memory)

    def _replaceable(self, path: str) -> bool:
        return any(inside(path, root) for root in self.write)

    def _place(self, part: Executable, changed: str) -> None:
        """Each file with verified bytes once per instance; a second version of one path would be another program under its name.

        changed: the code of a file that left its path between the check and now, which no copy can be put over.
        """
        if part.content is None:
            return
        known = self.placed.get(part.canonical)
        if known is None:
            try:
                self.worker.place_copy(part.content, part.canonical)
            except LauncherError as error:
                if error.step != "copy" or error.number not in (errno.ENOENT, errno.ENOTDIR):
                    raise
                raise Refusal(f"`{part.path}` was replaced after it was checked", code=changed) from error
            self.placed[part.canonical] = part.fingerprint.sha256
        elif known != part.fingerprint.sha256:
            raise Refusal(f"`{part.path}` has changed since it ran in this request", code=changed)

    def exits(self) -> list[tuple[int, Exited]]:
        return [(stage, self._exited(ended)) for stage, ended in self.worker.ended()]

    def _exited(self, ended: Ended) -> Exited:
        seen = dict(zip(self.counters, ended.counters, strict=False))
        usage = ended.usage
        if seen.get("peak_memory"):
            usage = usage.replace(peak_memory=max(usage.peak_memory, seen["peak_memory"]))
        return Exited(
            status=ended.status,
            usage=usage,
            oom_kills=seen.get("oom_kills", 0),
            forks_refused=seen.get("forks_refused", 0),
            failure=ended.failure,
            changed=ended.changed,
        )

    def signal(self, number: int) -> None:
        self.worker.signal(number)

    def close(self) -> None:
        self.worker.close()


def _key(program: Executable) -> tuple[int, int, int, int, int, int, int, int]:
    f = program.fingerprint
    return f.device, f.inode, f.size, f.mtime_ns, f.ctime_ns, f.mode, f.uid, f.gid
