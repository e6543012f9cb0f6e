"""A runtime's journal: what is told (level), to whom (sinks), and what a failure to tell means (policy).

Contract: every Entry writes exactly one terminal event, on every way out. Nothing that a sink does widens what may run:
a failing sink is ignored (`continue`), refuses what has not started (`deny_start`), or ends the request (`terminate`).
"""

from __future__ import annotations

import time

from ..errors import AuditError, RunnerError
from .event import EVENTS, TERMINAL, Event, command_digest, text_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Self

    from ..model.command import Request
    from ..model.outcome import Outcome
    from .sinks import Sink

LEVELS = ("metadata", "redacted", "full")
FAILURES = ("continue", "deny_start", "terminate")  # weakest first
_LIMITED = {"wall_time": "timed_out", "idle_time": "idle_timed_out", "total_output": "output_limit_exceeded"}


class Journal:
    """redact: takes every secret out of a text. clock: seconds since 1970."""

    def __init__(
        self,
        sinks: Iterable[tuple[Sink, str]],
        *,
        runtime_id: str,
        manifest_sha256: str,
        level: str = "redacted",
        session_id: str | None = None,
        redact: Callable[[str], str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.sinks = tuple(sinks)
        assert level in LEVELS and all(failure in FAILURES for _, failure in self.sinks)
        self.level, self.redact, self.clock = level, redact or (lambda text: text), clock
        self.base = Event(event="", timestamp=0.0, runtime_id=runtime_id, manifest_sha256=manifest_sha256, session_id=session_id)

    def entry(self, request: Request) -> Entry:
        return Entry(self, request)

    def write(self, event: Event) -> None:
        """To every sink, whatever the others do; then AuditError if the strongest failure asks for it."""
        failed = [failure for sink, failure in self.sinks if not _written(sink, event)]
        strongest = max(failed, key=FAILURES.index, default="continue")
        if strongest == "terminate" or (strongest == "deny_start" and EVENTS[event.event].before_start):
            raise AuditError("the audit event could not be written", remedy="free space or rights for the audit file")

    def close(self) -> None:
        for sink, _ in self.sinks:
            sink.close()


def _written(sink: Sink, event: Event) -> bool:
    try:
        sink.write(event)
    except (AuditError, OSError):
        return False
    return True


class Entry:
    """One request's events. A context manager: leaving it without end() writes what the exception was.

    Raises AuditError `audit_unavailable` from event() where the policy says that the request must not go on.
    """

    def __init__(self, journal: Journal, request: Request) -> None:
        self.journal, self.ended = journal, False
        self.base = journal.base.replace(request_id=request.id, request_kind=request.kind)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.ended or error is None:
            if not self.ended:
                self.end("failed", error_code="internal_error", reason="the request was left without an ending")
            return
        if isinstance(error, RunnerError):
            name = "failed" if isinstance(error, AuditError) else "rejected"
            self._last(name, error_code=error.code, reason=error.message)
        else:
            self._last("failed", error_code="internal_error", reason=type(error).__name__)

    def about(self, argv: tuple[str, ...], cwd: str, effects: Iterable[str] = (), plan_id: str | None = None) -> None:
        """What the next events are about: one command, as far as it is known."""
        self.base = self.base.replace(
            command_sha256=command_digest(argv), cwd_sha256=text_digest(cwd), effects=tuple(effects), plan_id=plan_id,
            command=self._command(argv),
        )  # fmt: skip

    def event(self, name: str, **fields: str | int | float | None) -> None:
        told = tuple((key, self._safe(value)) for key, value in fields.items())
        self.journal.write(self.base.replace(event=name, timestamp=self.journal.clock(), fields=told))

    def end(self, name: str, **fields: str | int | float | None) -> None:
        """The terminal event; a second one is a mistake of ours."""
        assert name in TERMINAL and not self.ended
        self.ended = True
        self.event(name, **fields)

    def outcome(self, outcome: Outcome) -> None:
        """The terminal event that an Outcome asks for, with the bytes of its channels."""
        counts = {"stdout_bytes": outcome.stdout.total, "stderr_bytes": outcome.stderr.total}
        if outcome.error is not None and outcome.error[0] != "cancelled":
            self.end("failed", error_code=outcome.error[0], reason=outcome.error[1], **counts)
        elif outcome.error is not None or outcome.limit is not None:
            kind = "cancelled" if outcome.error is not None else _LIMITED.get(outcome.limit or "", f"{outcome.limit}_limit_exceeded")
            self.end("terminated", exit_kind=kind, limit=outcome.limit, **_status(outcome), **counts)
        else:
            self.end("finished", **_status(outcome), **counts)

    def _last(self, name: str, **fields: str) -> None:
        """The terminal event of a request that fails already: its own failure is the one to be told."""
        try:
            self.end(name, **fields)
        except AuditError:
            pass

    def _command(self, argv: tuple[str, ...]) -> str | None:
        if self.journal.level == "metadata":
            return None
        from shlex import join

        return self.journal.redact(join(argv))  # `full` is bounded later than `redacted`, never unredacted

    def _safe(self, value: str | int | float | None) -> str | int | float | None:
        return self.journal.redact(value) if isinstance(value, str) else value


def _status(outcome: Outcome) -> dict[str, int | str | None]:
    status = outcome.status
    if status is None:
        return {}
    if status.signaled is not None:
        return {"exit_kind": "signaled", "signal": status.signaled} if outcome.limit is None and outcome.error is None else {"signal": status.signaled}
    return {"exit_kind": "exited", "exit_code": status.exited} if outcome.limit is None and outcome.error is None else {"exit_code": status.exited}
