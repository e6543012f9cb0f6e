"""bytes -> safe text, pure, in this order: decode, terminal filter, redact, cut. finalise() is the whole of it.

The order matters: only decoded text can be filtered, only filtered text shows a secret that escapes had split, and only
redacted text may be cut, for a cut secret is no longer recognised.
"""

from __future__ import annotations

from ..model.outcome import Channel
from ..model.record import Record
from .bounds import cut, marker
from .redact import Redactor
from .terminal import clean


class SafeText(Record):
    """text: what may be shown; truncated: something that was written is not in it; omitted: how many bytes."""

    text: str
    truncated: bool = False
    total: int = 0
    omitted: int = 0


def finalise(channel: Channel, limit: int, redactor: Redactor | None = None) -> SafeText:
    """The channel as text of at most `limit` bytes of UTF-8 (and one line that says what was left out)."""
    if not channel.dropped:
        return _whole(channel, limit, redactor)
    head, tail = _text(channel.head), _text(channel.tail)
    if redactor is not None:
        # The kept parts end and begin in the middle of what was written: half a secret may stand there.
        head, tail = redactor.without_prefix(head), redactor.without_suffix(tail)
        head, tail = redactor(head), redactor(tail)
    head, tail = cut(head, limit * 3 // 4, keep="head"), cut(tail, limit // 4, keep="tail")
    omitted = max(channel.dropped, channel.total - len(head.encode()) - len(tail.encode()))
    return SafeText(text=head + marker(omitted) + tail, truncated=True, total=channel.total, omitted=omitted)


def _whole(channel: Channel, limit: int, redactor: Redactor | None) -> SafeText:
    text = _text(channel.head + channel.tail)
    if redactor is not None:
        text = redactor(text)
    size = len(text) if text.isascii() else len(text.encode())
    if size <= limit:
        return SafeText(text=text, total=channel.total)
    head, tail = cut(text, limit * 3 // 4, keep="head"), cut(text, limit // 4, keep="tail")
    omitted = size - len(head.encode()) - len(tail.encode())
    return SafeText(text=head + marker(omitted) + tail, truncated=True, total=channel.total, omitted=omitted)


def _text(data: bytes) -> str:
    """Decoded (invalid bytes become U+FFFD) and cleaned. Plain ASCII passes in one look."""
    return clean(data.decode("utf-8", "replace"))
