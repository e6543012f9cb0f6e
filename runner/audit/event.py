"""What an event is, and its one line of JSON.

The line is ASCII: no character that some reader takes for a line end can stand in it unescaped, so a file has exactly as
many physical lines as records. Compact separators, field order fixed, the digest last.
"""

from __future__ import annotations

import json
from hashlib import sha256

from ..model.record import Record

SCHEMA = "fumehood.audit.v1"
CHANNEL_FIELDS = ("stdout_bytes", "stderr_bytes")
MAX_LINE = 64 << 10  # bytes; a longer field is cut, so that the tail of a file always holds one whole line
MAX_FIELD = 8 << 10  # characters of one text field


class Kind(Record):
    """before_start: nothing of the command has run yet. terminal: the request has ended."""

    name: str
    before_start: bool = False
    terminal: bool = False


TABLE = (
    Kind(name="received", before_start=True),
    Kind(name="resolved", before_start=True),
    Kind(name="policy_decided", before_start=True),
    Kind(name="approval_requested", before_start=True),
    Kind(name="approval_answered", before_start=True),
    Kind(name="reviewer_completed", before_start=True),
    Kind(name="intercepted", before_start=True),
    Kind(name="plan_created", before_start=True),
    Kind(name="started"),
    Kind(name="output"),
    Kind(name="finished", terminal=True),
    Kind(name="terminated", terminal=True),
    Kind(name="rejected", before_start=True, terminal=True),
    Kind(name="failed", terminal=True),
    Kind(name="grant_revoked"),
    Kind(name="manifest_grant_revoked"),
    Kind(name="recovered"),  # a torn last line was found and cut off; `torn_bytes` says how much
)
EVENTS = {kind.name: kind for kind in TABLE}
TERMINAL = frozenset(kind.name for kind in TABLE if kind.terminal)


class Event(Record):
    """One event before a sink gives it its place. timestamp: seconds since 1970. fields: in the order to be written."""

    event: str
    timestamp: float
    request_id: str = ""
    session_id: str | None = None
    runtime_id: str = ""
    manifest_sha256: str = ""
    plan_id: str | None = None
    request_kind: str = ""
    command_sha256: str = ""
    cwd_sha256: str = ""
    effects: tuple[str, ...] = ()
    command: str | None = None
    fields: tuple[tuple[str, str | int | float | None], ...] = ()


def command_digest(argv: tuple[str, ...]) -> str:
    """SHA-256 of the argv joined by NUL bytes, as execve(2) would see it."""
    return text_digest("\0".join(argv))


def text_digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def body(event: Event, sequence: int, previous: str | None, chain: str | None) -> dict[str, object]:
    """The record in its field order, without its digest. chain: how the digest is made, None for an unchained sink."""
    found: dict[str, object] = {
        "schema_version": SCHEMA,
        "sequence": sequence,
        "timestamp": round(event.timestamp, 6),
        "session_id": event.session_id,
        "runtime_id": event.runtime_id,
        "manifest_sha256": event.manifest_sha256,
        "request_id": event.request_id,
        "plan_id": event.plan_id,
        "event": event.event,
        "request_kind": event.request_kind,
        "command_sha256": event.command_sha256,
        "cwd_sha256": event.cwd_sha256,
        "effects": sorted(set(event.effects)),
    }
    if event.command is not None:
        found["command"] = _cut(event.command)
    found.update((name, _cut(value) if isinstance(value, str) else value) for name, value in event.fields)
    if chain is not None:
        found["chain"] = chain
        found["previous_event_sha256"] = previous
    return found


def encode(record: dict[str, object]) -> bytes:
    """Compact ASCII JSON without a line end."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def _cut(text: str) -> str:
    return text if len(text) <= MAX_FIELD else text[:MAX_FIELD] + "…"
