"""What holds of safe text whatever was written."""

from __future__ import annotations

import base64
import unicodedata
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from runner.model.outcome import Channel
from runner.output import finalise
from runner.output.bounds import MARKER_BYTES
from runner.output.redact import Redactor, slack
from runner.output.terminal import clean

SECRET = "Zq7/Xw+Kj9\"Vm"
_BITS = [
    b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b", b"\x07", b"\x1b\\", b"\r", b"\b", b"\n", b"\r\n", b"\0", b"\x7f", b"K", b"2K", b"m",
    "\x9b".encode(), "\x9d".encode(), "\x9c".encode(), "\x85".encode(), "\u202e".encode(), "\u2028".encode(),
    "\u200d".encode(), "\u200b".encode(), "\ufdd0".encode(), "é".encode(), "😀".encode(), b"\xff", b"\xe2\x80", b"abc", b"de 5%",
]  # fmt: skip
pieces = st.one_of(st.sampled_from(_BITS), st.binary(max_size=6))
streams = st.lists(pieces, max_size=60).map(b"".join)
fillers = st.lists(st.sampled_from([b"a", b"bc", b"\n", b" ", "é".encode(), b"\x1b[1m", b"\x1b[0m"]), max_size=60).map(b"".join)


def captured(data: bytes, head: int, tail: int) -> Channel:
    """As execution.capture keeps it."""
    if len(data) <= head + tail:
        return Channel(head=data[:head], tail=data[head:], total=len(data))
    return Channel(head=data[:head], tail=data[len(data) - tail :], total=len(data))


def assert_safe(text: str) -> None:
    text.encode()
    for char in text:
        assert char in "\n\t" or unicodedata.category(char) != "Cc", ascii(text)
        assert not "\u202a" <= char <= "\u202e" and not "\u2066" <= char <= "\u2069" and not "\ufdd0" <= char <= "\ufdef"


@given(streams, st.integers(1, 200), st.integers(0, 40))
@settings(max_examples=400, deadline=None)
def test_safe_and_within_the_limit(data: bytes, limit: int, spare: int) -> None:
    channel = captured(data, limit * 3 // 4 + spare, limit // 4 + spare)
    safe = finalise(channel, limit, Redactor((SECRET,)))
    assert_safe(safe.text)
    assert len(safe.text.encode()) <= limit + (MARKER_BYTES if safe.truncated else 0)
    assert safe.total_bytes == len(data) and safe.truncated == (safe.omitted_bytes > 0)
    assert safe.truncated or not channel.dropped


@given(streams)
@settings(max_examples=400, deadline=None)
def test_filter_is_idempotent(data: bytes) -> None:
    once = clean(data.decode("utf-8", "replace"))
    assert clean(once) == once


@given(streams, st.integers(0, 400))
def test_where_the_capture_divides_the_bytes_makes_no_difference(data: bytes, at: int) -> None:
    parts = Channel(head=data[:at], tail=data[at:], total=len(data))
    assert finalise(parts, 4096) == finalise(Channel(head=data, total=len(data)), 4096)


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=80))
def test_ordinary_text_is_untouched(text: str) -> None:
    data = text.encode()
    assert finalise(Channel(head=data, total=len(data)), 4096, Redactor(("\x00\x01never",))).text == text


def spelled(kind: str, lead: int) -> str:
    data = b"u" * lead + SECRET.encode()
    return {
        "plain": SECRET,
        "base64": base64.b64encode(data).decode(),
        "urlsafe": base64.urlsafe_b64encode(data).decode(),
        "hex": SECRET.encode().hex(),
        "url": quote(SECRET, safe=""),
        "json": SECRET.replace('"', '\\"'),
    }[kind]


@given(
    fillers, fillers, st.sampled_from(["plain", "base64", "urlsafe", "hex", "url", "json"]), st.integers(0, 2),
    st.integers(1, 120), st.booleans(), st.booleans(),
)  # fmt: skip
@settings(max_examples=600, deadline=None)
def test_no_form_and_no_piece_of_a_secret(
    before: bytes, behind: bytes, kind: str, lead: int, limit: int, spare: bool, stopped: bool
) -> None:
    form = spelled(kind, lead)
    data = before + form.encode() + behind
    extra = slack((SECRET,)) if spare else 0
    channel = captured(data, limit * 3 // 4 + extra, limit // 4 + extra)
    text = finalise(channel, limit, Redactor((SECRET,), "*"), stopped=stopped).text
    own = form[-(-lead * 8 // 6) + 1 :] if kind in ("base64", "urlsafe") else form  # the neighbours' bits may stay
    own = own.rstrip("=")[1:-1] if kind in ("base64", "urlsafe") else own
    assert not any(own[at : at + 4] in text for at in range(len(own) - 3)), (form, text)


@given(fillers, st.integers(0, len(SECRET)), st.sampled_from(["\x1b[1m", "\0", "\u200b", "\u200d", "\x07", "x\b", "\x1b]0;t\x07"]))
def test_no_escape_hides_a_secret(before: bytes, at: int, between: str) -> None:
    data = before + (SECRET[:at] + between + SECRET[at:]).encode()
    text = finalise(Channel(head=data, total=len(data)), 4096, Redactor((SECRET,), "*")).text
    assert SECRET not in text.replace("\u200d", "") and SECRET[-4:] not in text
