"""Capture of one channel on real pipes: beginning, end and count are right, and memory stays bounded."""

from __future__ import annotations

import fcntl
import os
import tracemalloc
from collections.abc import Iterator
from subprocess import PIPE, Popen

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.execution.capture import CHUNK, Capture
from runner.model.outcome import Channel
from runner.output import finalise

RING = 1 << 18


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 1 << 20)
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def pattern(size: int) -> bytes:
    """Bytes whose place shows: no two windows of four are the same within 16 MiB."""
    return b"".join(number.to_bytes(3, "big") + b"\xfe" for number in range(size // 4 + 1))[:size]


def expected(data: bytes, head: int, tail: int) -> Channel:
    rest = data[head:]
    return Channel(head=data[:head], tail=rest[max(0, len(rest) - tail) :] if tail else b"", total=len(data))


def feed(capture: Capture, pipe: tuple[int, int], chunks: list[bytes]) -> None:
    """Write each chunk and read it whole, as a poll loop does: never without something to read."""
    ours, theirs = pipe
    for chunk in chunks:
        left = os.write(theirs, chunk)
        assert left == len(chunk)
        while left:
            count = capture.read(ours)
            assert 0 < count <= left
            left -= count


@given(
    st.lists(st.integers(1, 90), max_size=30), st.integers(0, 300), st.integers(0, 300), st.integers(0, 3)
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_any_chunking(sizes: list[int], head: int, tail: int, peeks: int) -> None:
    data = pattern(sum(sizes))
    capture, at = Capture(head, tail), 0
    ours, theirs = os.pipe()
    try:
        for number, size in enumerate(sizes):
            feed(capture, (ours, theirs), [data[at : at + size]])
            at += size
            if number < peeks:  # looking changes nothing
                assert capture.channel() == expected(data[:at], head, tail)
    finally:
        os.close(ours)
        os.close(theirs)
    channel = capture.channel()
    assert channel == expected(data, head, tail)
    assert channel.dropped == max(0, len(data) - head - tail)


@pytest.mark.parametrize("tail", [1, 1000, RING // 2, RING // 2 + 1, 300_000])
@pytest.mark.parametrize("chunk", [4096, CHUNK, 99_991, 1 << 20])
def test_around_the_ring(pipe: tuple[int, int], tail: int, chunk: int) -> None:
    """Also when the ring is filled to its last byte, begins anew, and is overtaken several times."""
    head, ring = 100, max(RING, 2 * tail)
    data = pattern(head + 2 * ring + tail + 7)
    for size in (head, head + tail, head + ring - 1, head + ring, head + ring + 1, head + ring + tail - 1, head + 2 * ring, len(data)):
        capture = Capture(head, tail)
        feed(capture, pipe, [data[at : min(at + chunk, size)] for at in range(0, size, chunk)])
        assert capture.channel() == expected(data[:size], head, tail), size


def test_end_of_the_stream_is_told_each_time() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"abcd")
    os.close(theirs)
    capture = Capture(2, 1)
    assert [capture.read(ours) for _ in range(4)] == [2, 2, 0, 0]
    os.close(ours)
    assert capture.channel() == Channel(head=b"ab", tail=b"d", total=4) and capture.channel().dropped == 1


def test_nothing_kept_but_the_count(pipe: tuple[int, int]) -> None:
    capture = Capture(0, 0)
    feed(capture, pipe, [b"x" * 50_000] * 20)
    assert capture.channel() == Channel(total=1_000_000)


def test_several_writers_into_one_capture(pipe: tuple[int, int]) -> None:
    """The stages of a pipeline share the error channel: what came first stands first."""
    other = os.pipe()
    capture = Capture(8, 4)
    for turn in range(6):
        feed(capture, pipe if turn % 2 else other, [bytes([97 + turn]) * 3])
    for fd in other:
        os.close(fd)
    assert capture.channel() == Channel(head=b"aaabbbcc", tail=b"efff", total=18)


WRITERS = {
    "one huge line": ("head -c 52428800 /dev/zero | tr '\\0' A", 52_428_800),  # 186
    "and a newline": ("head -c 200000 /dev/zero | tr '\\0' A; echo", 200_001),
    "no newline": ("head -c 200000 /dev/zero | tr '\\0' A", 200_000),
    "endless lines": ("yes | head -c 268435456", 268_435_456),  # 187
    "single bytes": ("seq 3000 | while read -r n; do printf x; done", 3000),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_is_drained_in_bounded_memory(name: str) -> None:
    script, size = WRITERS[name]
    limit = 50_000
    capture = Capture(limit * 3 // 4, limit // 4)
    tracemalloc.start()
    try:
        with Popen(["sh", "-c", script], stdout=PIPE) as process:
            assert process.stdout is not None
            while capture.read(process.stdout.fileno()):
                pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    safe = finalise(capture.channel(), limit)
    assert process.returncode == 0 and capture.total == safe.total_bytes == size
    assert safe.truncated == (size > limit) and len(safe.text.encode()) >= min(size, limit)
    assert peak < 4 << 20


def test_a_full_head_costs_nothing_per_read(pipe: tuple[int, int]) -> None:
    capture = Capture(1000, 1000)
    feed(capture, pipe, [b"x" * 2000])
    tracemalloc.start()
    feed(capture, pipe, [b"y" * 8192] * 500)
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 4096 and capture.total == 2000 + 500 * 8192


def test_errors_of_the_descriptor_are_not_an_end() -> None:
    """A closed descriptor raises; a pipe that would block does too: neither looks like the end of the stream."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    for capture in (Capture(4, 4), Capture(0, 4)):
        with pytest.raises(BlockingIOError):
            capture.read(ours)
        assert capture.channel() == Channel()
    os.close(ours)
    os.close(theirs)
    with pytest.raises(OSError, match="Bad file descriptor"):
        Capture(4, 4).read(ours)
