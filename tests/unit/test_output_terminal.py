"""Terminal filter: what a sequence is, what a line finally shows, and what stays in sight."""

from __future__ import annotations

import pytest

from runner.model.outcome import Channel
from runner.output import finalise
from runner.output.terminal import clean, visible

ST = "\x1b\\"


def shown(data: bytes) -> str:
    return finalise(Channel(head=data, total=len(data)), 1 << 20).text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        # case 175: hyperlinks and titles, BEL or ST at the end
        (b"\x1b]8;;file:///etc/passwd\x1b\\click\x1b]8;;\x1b\\ \x1b]0;title\x07build\n", "click build\n"),
        (b"\x1b]52;c;QUFB\x07done", "done"),
        ("\x9d0;title\x9cname".encode(), "name"),
        # case 176: one-character spellings, with and without parameters, and raw bytes
        (b"X\xc2\x9b2JY", "XY"),
        (b"X\xc2\x9d52;c;A\xc2\x9cY", "XY"),
        (b"X\xc2\x9b@Y", "XY"),
        (b"X\x9b2JY", "X�2JY"),
        (b"X\x90q\x9cY", "X�q�Y"),
        ("a\x80\x84\x8d\x91\x9ab".encode(), "ab"),
        # the other control strings
        (b"a\x1bP1$r0m\x1b\\b\x1b_G1;AAAA\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde"),
        ("a\x90q\x9cb\x98q\x9cc\x9eq\x9cd\x9fq\x9ce".encode(), "abcde"),
        # an unfinished sequence takes no more than its line, and a new ESC begins a new one
        (b"a\x1b]0;never ends\nb", "a\nb"),
        (b"a\x1b[31\nb", "a\nb"),
        (b"a\x1b]0;t\x1b[1mb", "ab"),
        (b"a\x1b", "a"),
        (b"a\x1b(Bb\x1bcc\x1b7d\x1b#8e", "abcde"),
        (b"a\x1b[\x0031mb\x1b\x00[0mc", "abc"),  # NUL inside a sequence is ignored by terminals
        (b"\x1b[38;2;1;2;3mred\x1b[0m \x1b[?25l\x1b[2 q!", "red !"),
        # case 183: separators, NUL, DEL
        (b'ok\342\200\250{"event":"allow"}\302\205x\0y\177z\n', 'ok\n{"event":"allow"}\nxyz\n'),
        # bidirectional and invisible controls; joiners stay
        ("a\u202eb\u2066c\u2069\u200fd\u061ce\ufefff\u200bg\U000e0041h".encode(), "abcdefgh"),
        ("👩\u200d💻 می\u200cخواهم".encode(), "👩\u200d💻 می\u200cخواهم"),
        ("\ufdd0\ufdd1x".encode(), "��x"),
        (b"tab\tand\nnewline\r\nstay\r\r\n", "tab\tand\nnewline\nstay\n"),
    ],
)
def test_sequences(data: bytes, text: str) -> None:
    assert shown(data) == text


@pytest.mark.parametrize(
    ("text", "final"),
    [
        # case 181: what is overwritten stays in sight
        ("rm -rf data\rall tests ok\n", "rm -rf data\nall tests ok\n"),
        ("rm -rf data\r\x1b[2Kall ok\n", "rm -rf data\nall ok\n"),
        ("one thing\rrm -rf data\rall tests ok\n", "one thing\nrm -rf data\nall tests ok\n"),
        ("evil words\r          \n", "evil words\n\n"),
        ("evil words\r\x1b[K", "evil words\n"),
        ("secret\b\b\b\b\b\bpublic\n", "public\n"),
        ("x\x1b[1A\x1b[2Ky\n", "xy\n"),
        ("a\vb\fc\n", "abc\n"),
        # what a terminal would finally show
        ("10%\r20%\r100%\n", "100%\n"),
        ("100%\r 7\n", " 70%\n"),
        ("load 10%\rload 20%\rload 100%, done\n", "load 100%, done\n"),
        ("load 5%\r\x1b[Kload 6%\r\x1b[Kfinished\n", "load 6%\nfinished\n"),
        ("go 5%\r      \rgo 9%\n", "go 9%\n"),
        ("12345\r67\n", "67345\n"),
        ("12345\b\b67\n", "12367\n"),
        ("\b\b1\n", "1\n"),
        ("N\bNA\bAM\bM\n", "NAM\n"),
        ("_\bu\n", "u\n"),
        ("12345\r\x1b[K67", "67"),
        ("123\r", "123"),
    ],
)
def test_lines(text: str, final: str) -> None:
    assert clean(text) == final


def test_every_control_alone_is_gone() -> None:
    for code in (*range(0, 9), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)):
        assert clean(f"a{chr(code)}1") in ("a1", "a\n1", "1", "a"), hex(code)


def test_visible_writes_what_clean_takes_out() -> None:
    assert visible("ls\r\x1b[8m\u202e\x85\u2028\0x\udcff") == "ls\\x0d\\x1b[8m\\u202e\\x85\\u2028\\x00x���"
    assert visible("naïve — ok\n\t") == "naïve — ok\n\t"
