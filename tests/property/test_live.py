"""Live and finished output are one text: for every chunking, with secrets, sequences, repaints and damage in it."""

from __future__ import annotations

import os
import random

from runner.model.manifest import Limits
from runner.model.outcome import Channel
from runner.output import finalise
from runner.output.live import EVENT_BYTES, Pipe, Stream, unsupported
from runner.output.redact import Redactor

FULL = os.environ.get("FUMEHOOD_FULL") == "1"
CHUNKINGS = 200_000 if FULL else 20_000
SECRETS = ("Zq7/Xw+Kj9\"Vm", "hunter2", "line one of it\nline two of it", "éß-schlüssel", "aab")
_BITS = [
    b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b", b"\x07", b"\x1b\\", b"\r", b"\b", b"\n", b"\n", b"\n", b"\r\n", b"\0", b"\x7f", b"K", b"2K", b"m",
    "\x9b".encode(), "\x9d".encode(), "\x9c".encode(), "\x85".encode(), "\u202e".encode(), "\u2028".encode(), "\u200d".encode(),
    "\u200b".encode(), "\ufdd0".encode(), "é".encode(), "😀".encode(), b"\xff", b"\xe2\x80", b"abc", b"de 5%", b"a", b"aa", b"\x1b[31m",
    b"\x1b[0m", b"\x1b[2K\r", b"\x1b[K",
]  # fmt: skip


def _bits(source: random.Random) -> list[bytes]:
    """Pieces of an output; secrets whole, cut, broken by a sequence, encoded, and their beginnings."""
    from base64 import b64encode

    found = []
    for _ in range(source.randint(0, 25)):
        kind = source.randrange(8)
        secret = source.choice(SECRETS).encode()
        cut = source.randint(0, len(secret))
        found.append(
            secret if kind == 0 else secret[:cut] if kind == 1 else secret[:cut] + b"\x1b[1m" + secret[cut:] if kind == 2
            else secret.hex().encode() if kind == 3 else b64encode(b"x" * source.randrange(3) + secret) if kind == 4
            else source.choice(_BITS)
        )  # fmt: skip
    return found


def _chunks(source: random.Random, data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        size = source.choice((1, 1, 2, 3, 7, 20, 200))
        found.append(data[at : at + size])
        at += size
    return found


def _live(chunks: list[bytes], redactor: Redactor | None) -> str:
    pipe = Pipe(redactor)
    return "".join([*map(pipe.add, chunks), pipe.end()])


def test_any_chunking_gives_the_finished_text() -> None:
    source = random.Random(88)
    redactor = Redactor(SECRETS, "[REDACTED]")
    assert not redactor.risky
    for number in range(CHUNKINGS):
        data = b"".join(_bits(source))
        used = redactor if number % 4 else None
        whole = finalise(Channel(head=data, tail=b"", total=len(data)), 1 << 30, used).text
        chunks = _chunks(source, data)
        assert _live(chunks, used) == whole, (number, data, chunks)


def test_a_secret_split_at_every_byte_of_an_output() -> None:
    """4 KiB of text, the secret at every place of it, each time as two chunks that part inside the secret."""
    secret = "t0p-s3cret-value-0123"
    redactor = Redactor((secret,))
    text = ("The quick brown fox jumps over the lazy dog.\n" * 92)[:4096].encode()
    for place in range(len(text)):
        whole = text[:place] + secret.encode() + text[place:]
        cut = place + 1 + place % (len(secret) - 1)
        seen = _live([whole[:cut], whole[cut:]], redactor)
        assert seen == text[:place].decode() + "[REDACTED]" + text[place:].decode(), place


def _streamed(limits: Limits, redactor: Redactor | None, *writes: tuple[str, bytes], stopped: bool = False) -> list[str]:
    """What an observer gets; each channel is one pipe."""
    events: list[str] = []
    stream = Stream(limits, redactor, events.append)
    pipes = {"stdout": stream.pipe(), "stderr": stream.pipe()}
    for channel, data in writes:
        stream.publish(channel, pipes[channel].add(data))
    for channel, pipe in pipes.items():
        stream.publish(channel, pipe.end(stopped=stopped))
    stream.end(stopped=stopped)
    return events


def test_a_secret_split_over_both_channels() -> None:
    redactor = Redactor(("TOKEN-0",))
    assert "".join(_streamed(Limits(), redactor, ("stdout", b"a\nTOK"), ("stderr", b"EN-0"))) == "a\n[REDACTED]"
    # Each is shown redacted; two in a row are one.
    assert "".join(_streamed(Limits(), redactor, ("stdout", b"TOKEN-0TOKEN-0\n"))) == "[REDACTED]\n"


def test_what_was_stopped_keeps_its_undecided_end() -> None:
    redactor = Redactor(("TOKEN-0",))
    assert "".join(_streamed(Limits(), redactor, ("stdout", b"seen\nand TOK"), stopped=True)) == "seen\n"
    assert "".join(_streamed(Limits(), redactor, ("stdout", b"seen\nand TOK"))) == "seen\nand TOK"


def test_pipes_decode_and_filter_apart() -> None:
    smile = "😀\n".encode()
    seen = _streamed(Limits(), None, ("stdout", smile[:2]), ("stderr", b"\x1b[3"), ("stdout", smile[2:]), ("stderr", b"1mred\n"))
    assert "".join(seen) == "😀\nred\n"


def test_a_character_that_does_not_fit_ends_the_channel() -> None:
    assert _streamed(Limits(stdout=1), None, ("stdout", "😀\nmore\n".encode())) == []
    assert "".join(_streamed(Limits(stdout=3), None, ("stdout", b"ab\n"), ("stdout", b"c\n"), ("stderr", b"e\n"))) == "ab\ne\n"
    assert "".join(_streamed(Limits(total_output=4), None, ("stdout", b"ab\n"), ("stderr", "é\nx\n".encode()))) == "ab\n"


def test_events_are_bounded_and_whole() -> None:
    events = _streamed(Limits(), None, ("stdout", ("é" * 5000 + "\n").encode()))
    assert "".join(events) == "é" * 5000 + "\n" and all(len(event.encode()) <= EVENT_BYTES for event in events)


def test_what_cannot_stream() -> None:
    def why(secrets: tuple[str, ...], replacement: str = "[REDACTED]", total: int = 1000) -> bool:
        return bool(unsupported(secrets, Redactor(secrets, replacement) if secrets else None, Limits(total_output=total)))

    assert not why(()) and not why(("ab",)) and not why(("two\nlines",))
    assert why(("ab",), "aX") and why(("[",)) and why(("ab",), "") and why(("ab",), "xabx")
    assert why(("x\x1by",)) and why(("x\u202ey",)) and why(("x" * 1001,)) and why((), total=0)
