"""Where events go. A sink takes an Event, gives it its own sequence number, and returns when it is written.

| sink | chain | what it promises when write() returns |
|---|---|---|
| JsonlSink | yes | one write(2) of one line; on stable storage where `sync` says so |
| StderrSink | no | one write(2) to descriptor 2 |
| CallbackSink | no | the function has returned |
"""

from __future__ import annotations

import fcntl
import json
import os
import stat

from ..errors import AuditError
from .chain import Chain, State
from .checkpoint import Checkpoints
from .event import EVENTS, MAX_LINE, Event, body, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Sink(Protocol):
        def write(self, event: Event) -> None:
            """Raise AuditError or OSError where the event could not be written."""

        def close(self) -> None: ...


ROTATE_BYTES, ROTATE_FILES = 10_485_760, 5  # spec of the session's own log
SYNCS = ("each", "commit", "none")


class JsonlSink:
    """One append-only file, 0600, shared with other processes through flock(2).

    sync: `each` event; `commit`: before a command starts and when a request ends, so that what was acknowledged is on
    stable storage (fdatasync(2)); `none`. rotate: (bytes, files) or None. A torn last line (a crash in the middle of a
    write) was never acknowledged: it is cut off and a `recovered` event says so.
    """

    def __init__(
        self,
        path: str,
        *,
        chain: Chain | None = None,
        sync: str = "commit",
        rotate: tuple[int, int] | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        assert sync in SYNCS
        self.path, self.chain, self.sync, self.rotate = path, chain or Chain(), sync, rotate
        self.checkpoints = checkpoints
        self.state, self.size = State(), -1  # size: of the file when `state` was true; -1: look
        self.fd = -1
        try:
            self._open()
        except OSError as error:
            message = f"the audit file `{path}` cannot be opened: {error.strerror}"
            raise AuditError(message, code="shell.audit_open_failed", remedy="name a file that may be written") from error

    def write(self, event: Event) -> None:
        if self.fd < 0:
            raise AuditError("the audit file is closed")
        self._lock()
        try:
            self._look(event.timestamp)
            self._append(event)
        finally:
            fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        if self.fd >= 0:
            if self.checkpoints is not None and self.state.sequence >= 0:
                self.checkpoints.write(self.path, self.state)
            os.close(self.fd)
            self.fd = -1

    # -- under the lock -------------------------------------------------------------------------------------------

    def _lock(self) -> None:
        """Exclusive, on the file that has the name now: another process may have rotated it away."""
        while True:
            fcntl.flock(self.fd, fcntl.LOCK_EX)
            try:
                if os.path.samestat(os.stat(self.path), os.fstat(self.fd)):
                    return
            except FileNotFoundError:
                pass
            os.close(self.fd)
            self.fd = -1
            self._open()

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        self.fd = os.open(self.path, flags, 0o600)
        info = os.fstat(self.fd)
        if not stat.S_ISREG(info.st_mode):
            os.close(self.fd)
            self.fd = -1
            raise AuditError(f"the audit file `{self.path}` is no regular file", code="shell.audit_open_failed")
        self.size = -1

    def _look(self, now: float) -> None:
        """Our own last append is the end of the file, or its last line says where the chain stands."""
        size = os.fstat(self.fd).st_size
        if size == self.size:
            return
        whole, last = _tail(self.fd, size)
        self.state = _state_of(self.path, last) if last is not None else self._state_before()
        if whole < size:
            os.ftruncate(self.fd, whole)
            self._append(Event(event="recovered", timestamp=now, fields=(("torn_bytes", size - whole),)))
        else:
            self.size = size

    def _state_before(self) -> State:
        """An empty file goes on where the rotated one ended."""
        try:
            fd = os.open(f"{self.path}.1", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            return State()
        try:
            last = _tail(fd, os.fstat(fd).st_size)[1]
        finally:
            os.close(fd)
        return State() if last is None else _state_of(f"{self.path}.1", last)

    def _append(self, event: Event) -> None:
        sequence = self.state.sequence + 1
        line, digest = self.chain.seal(body(event, sequence, self.state.digest, self.chain.name))
        if self.rotate is not None and self.size > 0 and self.size + len(line) > self.rotate[0]:
            self._rotate(self.rotate[1])
        before = os.fstat(self.fd).st_size
        written = os.write(self.fd, line)
        if written != len(line):  # a full disk: take the fragment back, nothing was acknowledged
            os.ftruncate(self.fd, before)
            self.size = -1
            raise AuditError(f"the audit file `{self.path}` takes no more", code="audit_unavailable")
        self.state, self.size = State(sequence=sequence, digest=digest), before + written
        kind = EVENTS[event.event]
        if self.sync == "each" or (self.sync == "commit" and (kind.terminal or event.event == "plan_created")):
            os.fdatasync(self.fd)
        if self.checkpoints is not None:
            self.checkpoints.note(self.path, self.state)

    def _rotate(self, files: int) -> None:
        """`.k` becomes `.k+1`, the oldest goes; the others that hold this file notice by its name."""
        for number in range(files - 1, 0, -1):
            if os.path.exists(f"{self.path}.{number}"):
                os.replace(f"{self.path}.{number}", f"{self.path}.{number + 1}")
        os.replace(self.path, f"{self.path}.1")
        old = self.fd
        self._open()
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        os.close(old)
        self.size = 0


class StderrSink:
    """Lines on descriptor 2, for a supervisor that collects them."""

    def __init__(self) -> None:
        self.sequence = 0

    def write(self, event: Event) -> None:
        os.write(2, encode(body(event, self.sequence, None, None)) + b"\n")
        self.sequence += 1

    def close(self) -> None:
        pass


class CallbackSink:
    """A function of the host's, given the record as a dictionary."""

    def __init__(self, function: Callable[[dict[str, object]], object]) -> None:
        self.function, self.sequence = function, 0

    def write(self, event: Event) -> None:
        try:
            self.function(body(event, self.sequence, None, None))
        except Exception as error:
            raise AuditError(f"the audit callback failed: {type(error).__name__}", code="audit_unavailable") from error
        self.sequence += 1

    def close(self) -> None:
        pass


def _tail(fd: int, size: int) -> tuple[int, bytes | None]:
    """(bytes up to and with the last line end, the last whole line without it). Reads a bounded piece of the end."""
    start = max(0, size - 2 * MAX_LINE)
    piece = os.pread(fd, size - start, start)
    end = piece.rfind(b"\n")
    if end < 0:
        return (0, None) if start == 0 else (size, b"")
    begin = piece.rfind(b"\n", 0, end) + 1
    return start + end + 1, piece[begin:end]


def _state_of(path: str, line: bytes) -> State:
    try:
        record = json.loads(line)
        return State(sequence=int(record["sequence"]), digest=str(record["event_sha256"]))
    except (ValueError, KeyError, TypeError) as error:
        message = f"the last line of the audit file `{path}` is no record"
        raise AuditError(message, code="shell.audit_chain_tail", remedy="`fumehood audit validate` tells what is wrong; move the file away") from error
