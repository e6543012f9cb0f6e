"""Reading evidence: load a log with its rotations, say whether it is whole, tell what became of a request. Runs nothing."""

from __future__ import annotations

import json
import os

from ..errors import AuditError
from ..model.record import Record
from .chain import PLAIN, Chain, State, same
from .event import EVENTS, SCHEMA, TERMINAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_ROTATIONS = 1024
MAX_RECORD = 1 << 20  # bytes of one line; longer is no record of ours


class Problem(Record):
    """code: stable; place: `file:line`."""

    code: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: error[{self.code}]: {self.message}"


class Line(Record):
    """One physical line. record None: it is no JSON object. torn: the file's last one, without its line end."""

    place: str
    record: dict[str, object] | None
    torn: bool = False


def files(path: str) -> list[str]:
    """Oldest first: `.N` … `.1`, then the file itself."""
    rotated = []
    for number in range(1, MAX_ROTATIONS + 1):
        if not os.path.exists(f"{path}.{number}"):
            break
        rotated.append(f"{path}.{number}")
    return [*reversed(rotated), path]


def lines(path: str) -> Iterator[Line]:
    """Every line of every file of the log. Raises AuditError `shell.audit_read_failed`."""
    for name in files(path):
        try:
            with open(name, "rb") as file:
                number = 0
                while text := file.readline(MAX_RECORD):
                    number += 1
                    yield Line(place=f"{name}:{number}", record=_record(text), torn=not text.endswith(b"\n"))
        except OSError as error:
            message = f"`{name}` cannot be read: {error.strerror}"
            raise AuditError(message, code="shell.audit_read_failed", remedy="name an audit file") from error


def _record(text: bytes) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class Report(Record):
    """records: how many; last: where the chain ends; open: requests without a terminal event, in order."""

    records: int
    last: State
    problems: tuple[Problem, ...]
    open: tuple[str, ...]


def validate(path: str, *, key: bytes | None = None, checkpoints: Iterable[State] = ()) -> Report:
    """Schema, sequence, links and digests of every record, the chain's end against the checkpoints. Bounded memory
    but for the ids of requests that are still open."""
    chain, problems, state, records = Chain(key), [], None, 0
    marks = {mark.sequence: mark for mark in checkpoints}
    highest = max(marks, default=-1)
    waiting: dict[str, None] = {}
    for line in lines(path):
        if line.torn:
            problems.append(Problem(code="shell.audit_torn", place=line.place, message="the last line has no end; it was never acknowledged"))
            continue
        found = _check(line, state, chain)
        problems += found
        if line.record is None:
            continue
        records += 1
        state = _state(line.record, state)
        problems += _against(marks.get(state.sequence), state, line.place)
        _open(waiting, line.record)
    last = state or State()
    if last.sequence < highest:
        problems.append(Problem(code="shell.audit_truncated", place=path, message=f"a checkpoint knows record {highest}, the log ends at {last.sequence}"))
    return Report(records=records, last=last, problems=tuple(problems), open=tuple(waiting))


def _check(line: Line, state: State | None, chain: Chain) -> list[Problem]:
    record = line.record
    if record is None:
        return [Problem(code="shell.audit_json", place=line.place, message="the line is no JSON object")]
    found: list[tuple[str, str]] = []
    if record.get("schema_version") != SCHEMA:
        found.append(("shell.audit_schema_version", f"the schema is not `{SCHEMA}`"))
    if record.get("event") not in EVENTS:
        found.append(("shell.audit_field", "the event is none that is known"))
    sequence, previous, digest = record.get("sequence"), record.get("previous_event_sha256"), record.get("event_sha256")
    if not isinstance(sequence, int) or isinstance(sequence, bool) or not isinstance(digest, str):
        return [Problem(code=code, place=line.place, message=text) for code, text in (*found, ("shell.audit_field", "no sequence or digest"))]
    expected = None if state is None else state.sequence + 1
    if expected is not None and sequence != expected:
        found.append(("shell.audit_sequence_gap", f"record {sequence} follows record {expected - 1}"))
    if (state is not None and previous != state.digest) or (state is None and sequence == 0 and previous is not None):
        found.append(("shell.audit_chain_previous", "it does not follow the record before it"))
    found += _digest(record, digest, chain)
    return [Problem(code=code, place=line.place, message=text) for code, text in found]


def _digest(record: dict[str, object], digest: str, chain: Chain) -> list[tuple[str, str]]:
    if record.get("chain") != chain.name:
        if chain.name == PLAIN:
            return [("shell.audit_chain_key", f"it is sealed by `{record.get('chain')}`; that key is needed")]
        return [("shell.audit_chain_key", f"it is not sealed by the key given but by `{record.get('chain')}`")]
    rest = {name: value for name, value in record.items() if name != "event_sha256"}
    try:
        whole = same(digest, chain.digest(rest))
    except (ValueError, UnicodeEncodeError):
        whole = False
    return [] if whole else [("shell.audit_chain_digest", "its digest is not that of its content")]


def _state(record: dict[str, object], before: State | None) -> State:
    """Go on from what the record says, so that one fault is told once."""
    sequence, digest = record.get("sequence"), record.get("event_sha256")
    after = before.sequence + 1 if before is not None else 0
    return State(
        sequence=sequence if isinstance(sequence, int) else after, digest=digest if isinstance(digest, str) else None
    )


def _against(mark: State | None, state: State, place: str) -> list[Problem]:
    if mark is None or mark.digest == state.digest:
        return []
    return [Problem(code="shell.audit_rewritten", place=place, message="a checkpoint knows another record here: the log was made anew")]


def _open(waiting: dict[str, None], record: dict[str, object]) -> None:
    request = record.get("request_id")
    if not isinstance(request, str) or not request.startswith("shell-"):
        return
    if record.get("event") in TERMINAL:
        waiting.pop(request, None)
    else:
        waiting[request] = None


def request_view(path: str, request_id: str) -> dict[str, object]:
    """What became of one request. Raises AuditError `shell.audit_request_not_found`."""
    events = [line.record for line in lines(path) if line.record is not None and line.record.get("request_id") == request_id]
    if not events:
        raise AuditError(f"the log knows no request `{request_id}`", code="shell.audit_request_not_found", remedy="`fumehood audit replay` lists them")
    view: dict[str, object] = {"request_id": request_id, "events": len(events), "completed": False, "interceptors": []}
    for event in events:
        _into(view, event)
    return view


_KEPT = ("runtime_id", "manifest_sha256", "command", "effects", "policy_action", "policy_reason", "approval_answer", "backend", "exit_kind",
         "exit_code", "signal", "limit", "error_code", "reason", "stdout_bytes", "stderr_bytes")  # fmt: skip


def _into(view: dict[str, object], event: dict[str, object]) -> None:
    view.update((name, event[name]) for name in _KEPT if event.get(name) not in (None, "", []))
    view["completed"] = bool(view["completed"]) or event.get("event") in TERMINAL
    intercepted = view["interceptors"]
    if event.get("event") == "intercepted" and isinstance(intercepted, list):
        intercepted.append(event.get("interceptor"))
    view["last_event"] = event.get("event")


def interrupted(path: str) -> list[dict[str, object]]:
    """Requests that were never ended, as redacted records. They are never taken up again: a retry is a new request."""
    last: dict[str, dict[str, object]] = {}
    for line in lines(path):
        record = line.record
        request = record.get("request_id") if record is not None else None
        if record is None or not isinstance(request, str) or not request.startswith("shell-"):
            continue
        if record.get("event") in TERMINAL:
            last.pop(request, None)
        else:
            last[request] = {**last.get(request, {}), **record}
    return [_interruption(record) for record in last.values()]


def _interruption(record: dict[str, object]) -> dict[str, object]:
    stamp = record.get("timestamp")
    return {
        "request_id": record["request_id"],
        "runtime_id": record.get("runtime_id"),
        "manifest_sha256": record.get("manifest_sha256"),
        "request_kind": record.get("request_kind"),
        "command_sha256": record.get("command_sha256"),
        "redacted_command": record.get("command"),
        "cwd_sha256": record.get("cwd_sha256"),
        "effects": record.get("effects"),
        "interrupted_at_ns": int(stamp * 1_000_000_000) if isinstance(stamp, int | float) else None,
        "reason": f"no ending after `{record.get('event')}`",
        "audit_sequence": record.get("sequence"),
        "retryable": False,
    }
