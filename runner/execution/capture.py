"""Bounded capture of one channel: the first bytes, the last bytes, and the count of all.

The host's memory stays bounded whatever is written: once the head is full, reads go into a ring in place (readv(2)),
nothing is copied or allocated per read, and what falls out of the ring is only counted.
"""

from __future__ import annotations

import os

from ..model.outcome import Channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 16
_RING = 1 << 18


class Capture:
    """head and tail: how many bytes of each are kept; a head of 0 keeps nothing but the count."""

    def __init__(self, head: int, tail: int) -> None:
        self.head_size, self.tail_size = head, tail
        self.parts: list[bytes] = []
        self.kept = self.total = 0
        self.ring: memoryview | None = None
        self.position = 0

    def read(self, fd: int) -> int:
        """Take what is there; fd is readable. How many bytes came, 0 at the end."""
        room = self.head_size - self.kept
        if room > 0:
            data = os.read(fd, min(room, CHUNK))
            self.parts.append(data)
            self.kept += len(data)
            count = len(data)
        else:
            count = self._ring_read(fd)
        self.total += count
        return count

    def add(self, data: bytes) -> None:
        """Take what was read elsewhere."""
        room = self.head_size - self.kept
        if room > 0:
            self.parts.append(data[:room])
            self.kept += len(self.parts[-1])
        self.total += len(data)
        rest = data[max(0, room) :]
        while rest:
            self.ring = self.ring or memoryview(bytearray(max(_RING, self.tail_size * 2)))
            count = min(len(rest), len(self.ring) - self.position)
            self.ring[self.position : self.position + count] = rest[:count]
            self.position = (self.position + count) % len(self.ring)
            rest = rest[count:]

    def _ring_read(self, fd: int) -> int:
        if self.ring is None:
            self.ring = memoryview(bytearray(max(_RING, self.tail_size * 2)))
        count = os.readv(fd, [self.ring[self.position :]])
        self.position = (self.position + count) % len(self.ring)
        return count

    def end(self, stopped: bool) -> None:
        """A pipe into it has ended; other pipes may go on."""

    def channel(self) -> Channel:
        """What was kept so far."""
        return Channel(head=b"".join(self.parts), tail=self._tail(), total=self.total)

    def _tail(self) -> bytes:
        size = min(self.tail_size, self.total - self.kept)
        if self.ring is None or size <= 0:
            return b""
        start = self.position - size
        if start >= 0:
            return bytes(self.ring[start : self.position])
        return bytes(self.ring[start:]) + bytes(self.ring[: self.position])


class Tap:
    """One pipe into a capture, its bytes also shown to somebody: feed gets each chunk, done the end (stopped: by us)."""

    def __init__(self, capture: Capture, feed: Callable[[bytes], None], done: Callable[[bool], None]) -> None:
        self.capture, self.feed, self.done = capture, feed, done

    def read(self, fd: int) -> int:
        data = os.read(fd, CHUNK)
        self.capture.add(data)
        if data:
            self.feed(data)
        return len(data)

    def end(self, stopped: bool) -> None:
        self.done(stopped)
