"""Cutting: on characters, head and tail, counted; both channels within a total; hostile output in time."""

from __future__ import annotations

from time import process_time

import pytest

from runner.model.manifest import Limits
from runner.model.outcome import Channel
from runner.output import finalise, finalise_both
from runner.output.bounds import MARKER_BYTES, marker, share
from runner.output.decode import decode
from runner.output.redact import Redactor


def whole(data: bytes) -> Channel:
    return Channel(head=data, total=len(data))


@pytest.mark.parametrize("char", ["é", "你", "😀"])
@pytest.mark.parametrize("lead", range(4))
def test_cut_inside_character(char: str, lead: int) -> None:  # case 185
    data = ("a" * lead + char * 200).encode()
    for limit in range(90, 101):
        for channel in (
            whole(data),
            Channel(head=data[: limit * 3 // 4], tail=data[len(data) - limit // 4 :], total=len(data)),
        ):
            safe = finalise(channel, limit)
            head, rest = safe.text.split("\n[… ")
            tail = rest.split(" …]\n")[1]
            assert set(head + tail) <= {"a", char} and len((head + tail).encode()) <= limit
            assert len((head + tail).encode()) > limit - 8
            assert safe.omitted_bytes >= len(data) - limit and f"[… {safe.omitted_bytes} bytes" in safe.text


@pytest.mark.parametrize("newline", [b"", b"\n"])
@pytest.mark.parametrize("size", [200_000, 50 << 20])
def test_one_huge_line(newline: bytes, size: int) -> None:  # case 186
    tail = (b"A" * 12_500 + newline)[-12_500:]
    safe = finalise(Channel(head=b"A" * 37_500, tail=tail, total=size + len(newline)), 50_000)
    assert (safe.truncated, safe.total_bytes, safe.omitted_bytes) == (True, size + len(newline), size + len(newline) - 50_000)
    assert safe.text.count("A") == 50_000 - len(newline)


def test_nothing_is_left_out_within_the_limit() -> None:
    safe = finalise(Channel(head=b"caf\xc3", tail=b"\xa9\n", total=6), 6)
    assert (safe.text, safe.truncated, safe.total_bytes, safe.omitted_bytes) == ("café\n", False, 6, 0)
    assert finalise(Channel(), 1).text == ""


def test_shape_of_a_cut() -> None:
    assert finalise(whole(b"0123456789\n" * 4), 20).text == "0123456789\n0123\n[… 24 bytes left out …]\n6789\n"
    assert finalise(whole(b"ab\n" * 10), 4).text == "ab\n[… 26 bytes left out …]\n\n"
    assert finalise(whole(b"abc"), 1).text == "a\n[… 2 bytes left out …]\n"
    assert len(marker(1 << 63, after="x").encode()) <= MARKER_BYTES


def test_decode_at_cuts() -> None:
    data = "é€😀".encode()
    assert decode(data[:-1], cut_after=True) == "é€" and decode(data[:-1]) == "é€�"
    assert decode(data[1:], cut_before=True) == "€😀"
    assert decode(b"\x80\x80\x80\x80x", cut_before=True) == "�x"
    assert decode(b"a\xffb\xf0\x9f\x98c") == "a�b�c"


@pytest.mark.parametrize(
    ("wanted", "total", "given"),
    [((5, 5), 10, (5, 5)), ((50, 5), 20, (15, 5)), ((5, 50), 20, (5, 15)), ((50, 50), 20, (10, 10)), ((0, 9), 4, (0, 4))],
)
def test_share(wanted: tuple[int, int], total: int, given: tuple[int, int]) -> None:
    assert share(*wanted, total) == given


def test_total_bounds_both() -> None:
    limits = Limits(stdout=100, stderr=60, total_output=80)
    out, err = finalise_both(whole(b"o" * 90), whole(b"e" * 70), limits)
    assert (out.text.count("o") - 1, err.text.count("e") - 2) == (40, 40)  # `out` and `bytes left` of the marker
    out, err = finalise_both(whole(b"o" * 90), whole(b"e\n"), limits)
    assert (out.text.count("o") - 1, err.text, err.truncated) == (78, "e\n", False)


HOSTILE = {
    "osc": b"\x1b]" * (1 << 19),
    "csi": b"\x1b[" * (1 << 19),
    "csi with parameters": b"\x1b[1;" * (1 << 18),
    "one csi": b"\x1b[" + b"1" * (1 << 20),
    "dcs": "\x90".encode() * (1 << 19),
    "repaint": b"a\r" * (1 << 19),
    "repaint a long line": b"A" * (1 << 19) + b"\rab" * ((1 << 19) // 3),
    "erase": b"ab\x1b[2K" * (1 << 17) + b"\r",
    "backspace": b"a\b" * (1 << 19),
    "a then =": b"a" * (1 << 20) + b"=",
    "prefixes": b"tok_" * (1 << 18),
    "secrets": b"tok_4f9c2e7ab1d0" * (1 << 16),
    "invalid": b"\xff" * (1 << 20),
    "joiners": "a\u200d".encode() * (1 << 18),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_output_is_linear(name: str) -> None:  # case 200
    """Quadratic work on 1 MiB would take minutes, so the bound can be generous to a busy machine."""
    redactor = Redactor(("tok_4f9c2e7ab1d0",))
    started = process_time()
    safe = finalise(whole(HOSTILE[name]), 1 << 20, redactor)
    assert process_time() - started < 5
    assert "\x1b" not in safe.text and "\r" not in safe.text and "4f9c" not in safe.text


def test_a_thousand_secrets() -> None:  # case 200
    secrets = [f"tok_{number:04d}_{number * 7919:08x}" for number in range(1000)]
    redactor = Redactor(secrets, "#")
    data = b"tok_" * (1 << 17) + secrets[77].encode() + b"tok_" * (1 << 17) + secrets[999].encode().hex().encode()
    started = process_time()
    text = finalise(whole(data), 1 << 22, redactor).text
    assert process_time() - started < 5
    assert text == "tok_" * (1 << 17) + "#" + "tok_" * (1 << 17) + "#"
