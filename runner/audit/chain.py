"""How one record holds the next: a digest over the record and its predecessor's digest, keyed where there is a key.

Without a key the chain shows accidents and careless edits; whoever can write the file can make a new one. With a key
(HMAC-SHA-256, RFC 2104; the key is kept where the command and the file's writers cannot read it) a rewritten file no
longer verifies. A file cut at its end still would: checkpoints, kept elsewhere, say how long it must be.
"""

from __future__ import annotations

import hmac
from hashlib import sha256

from ..errors import AuditError
from ..model.record import Record
from .event import encode

PLAIN = "sha256"
MIN_KEY = 16  # bytes


class State(Record):
    """Where a chain stands: the sequence number and digest of its last record. sequence -1: none yet."""

    sequence: int = -1
    digest: str | None = None


class Chain:
    """key: at least 16 bytes, or None. name: what each record says of how its digest was made."""

    def __init__(self, key: bytes | None = None) -> None:
        if key is not None and len(key) < MIN_KEY:
            raise AuditError("the audit key is shorter than 16 bytes", code="shell.audit_key", remedy="make one: `head -c 32 /dev/urandom > FILE`")
        self.key = key
        self.name = PLAIN if key is None else f"hmac-sha256:{key_id(key)}"

    def digest(self, record: dict[str, object]) -> str:
        """Of the record as encoded, which holds its predecessor's digest. Lower-case hex."""
        data = encode(record)
        return sha256(data).hexdigest() if self.key is None else hmac.new(self.key, data, sha256).hexdigest()

    def seal(self, record: dict[str, object]) -> tuple[bytes, str]:
        """(line with its line end, digest)."""
        digest = self.digest(record)
        return encode({**record, "event_sha256": digest}) + b"\n", digest


def key_id(key: bytes) -> str:
    """Sixteen hex digits that name a key and tell nothing of it."""
    return hmac.new(key, b"fumehood audit key id", sha256).hexdigest()[:16]


def same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
