"""Cutting text to a number of UTF-8 bytes: head and tail stay, one line says how much is missing between them."""

from __future__ import annotations

from ..model.record import Record

MARKER_BYTES = 64  # no marker line is longer, its newlines included


class Parts(Record):
    """Safe text before the cut. tail is None where nothing is missing; dropped: raw bytes missing between the two."""

    head: str
    tail: str | None = None
    dropped: int = 0

    @property
    def size(self) -> int:
        return size_of(self.head) + size_of(self.tail or "")


def fit(parts: Parts, limit: int) -> tuple[str, int]:
    """(text, bytes left out): at most `limit` bytes of the parts, three quarters from the start, and the marker line."""
    if parts.tail is None and size_of(parts.head) <= limit:
        return parts.head, 0
    behind = parts.head if parts.tail is None else parts.tail
    head, tail = keep_head(parts.head, limit - limit // 4), keep_tail(behind, limit // 4)
    omitted = parts.dropped + parts.size - size_of(head) - size_of(tail)
    return head + marker(omitted, after=head) + tail, omitted


def share(first: int, second: int, total: int) -> tuple[int, int]:
    """`total` bytes for two channels that want `first` and `second`: the smaller is served first, up to its half."""
    if first + second <= total:
        return first, second
    half = total // 2
    if first <= half:
        return first, total - first
    if second <= half:
        return total - second, second
    return total - half, half


def marker(omitted: int, *, after: str = "\n") -> str:
    """The one line that stands for what was left out."""
    return ("" if not after or after.endswith("\n") else "\n") + f"[… {omitted} bytes left out …]\n"


def keep_head(text: str, size: int) -> str:
    """The longest beginning of at most `size` bytes, on a character boundary."""
    if text.isascii():
        return text[:size]
    data = text[:size].encode()  # a character is at least one byte
    return data[:size].decode("utf-8", "ignore")  # only the character at the cut can be incomplete


def keep_tail(text: str, size: int) -> str:
    """The longest ending of at most `size` bytes, on a character boundary."""
    if size <= 0:
        return ""
    if text.isascii():
        return text[-size:]
    data = text[-size:].encode()
    return data[-size:].decode("utf-8", "ignore")


def size_of(text: str) -> int:
    """Its bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())
