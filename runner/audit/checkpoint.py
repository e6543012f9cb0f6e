"""Checkpoints: how long a chain was and how it ended, kept apart from it. Shows a file cut at its end or made anew.

A checkpoint file holds one line per note, itself sealed by the chain's key: sequence, digest of the record, time. Put it
where those who may write the log may not: another owner's folder, another machine's mount.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from hashlib import sha256

from ..errors import AuditError
from .chain import State, same
from .event import encode

EVERY = 256  # events between two checkpoints


class Checkpoints:
    """key: the chain's; every: events between two."""

    def __init__(self, path: str, key: bytes | None, *, every: int = EVERY) -> None:
        self.path, self.key, self.every = path, key, every

    def note(self, log: str, state: State) -> None:
        if state.sequence % self.every == self.every - 1:
            self.write(log, state)

    def write(self, log: str, state: State) -> None:
        record: dict[str, object] = {
            "log": os.path.basename(log), "sequence": state.sequence, "event_sha256": state.digest, "timestamp": round(time.time(), 3),
        }  # fmt: skip
        line = encode({**record, "seal": seal(record, self.key)}) + b"\n"
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(fd, line)
            os.fdatasync(fd)
        finally:
            os.close(fd)


def seal(record: dict[str, object], key: bytes | None) -> str:
    data = encode(record)
    return sha256(data).hexdigest() if key is None else hmac.new(key, data, sha256).hexdigest()


def load(path: str, key: bytes | None) -> list[State]:
    """Every checkpoint of the file, verified. A torn last line is none. Raises AuditError `shell.audit_checkpoint`."""
    with open(path, "rb") as file:
        lines = file.read().split(b"\n")[:-1]
    return [_one(line, number, key) for number, line in enumerate(lines, 1)]


def _one(line: bytes, number: int, key: bytes | None) -> State:
    try:
        record = json.loads(line)
        given = record.pop("seal")
        if not same(given, seal(record, key)):
            raise ValueError("seal")
        return State(sequence=int(record["sequence"]), digest=str(record["event_sha256"]))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise AuditError(f"checkpoint {number} does not verify", code="shell.audit_checkpoint") from error
