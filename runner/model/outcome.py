"""What came of a request, before it is dressed as a Result."""

from __future__ import annotations

from .command import Enforcement
from .record import Record


class Status(Record):
    """Exactly one of exited (0–255) and signaled (POSIX signal number) is set. core: a core was dumped."""

    exited: int | None = None
    signaled: int | None = None
    core: bool = False

    @property
    def success(self) -> bool:
        return self.exited == 0

    @property
    def code(self) -> int:
        """As shells report it: own code, or 128 + signal."""
        return self.exited if self.exited is not None else 128 + (self.signaled or 0)


class Usage(Record):
    """wall, user, system in seconds; peak_memory in bytes (largest process, or the whole tree where a cgroup counts)."""

    wall: float = 0.0
    user: float = 0.0
    system: float = 0.0
    peak_memory: int = 0


class Channel(Record):
    """One captured channel: head + tail of the raw bytes that came. total counts every byte, kept or not."""

    head: bytes = b""
    tail: bytes = b""
    total: int = 0

    @property
    def dropped(self) -> int:
        return self.total - len(self.head) - len(self.tail)


class CommandEntry(Record):
    program: str
    arguments: tuple[str, ...]
    executable: str
    executable_sha256: str
    status: Status
    usage: Usage = Usage()
    intercepted_by: str | None = None


class Outcome(Record):
    """status is None iff nothing started. error: (code, one-line message). limit: the name of the limit that was hit."""

    request_id: str
    runtime_id: str
    manifest_sha256: str
    backend: str = ""
    status: Status | None = None
    stdout: Channel = Channel()
    stderr: Channel = Channel()
    commands: tuple[CommandEntry, ...] = ()
    limit: str | None = None
    error: tuple[str, str] | None = None
    usage: Usage = Usage()
    enforcement: tuple[Enforcement, ...] = ()
