"""Field cases of output, through the whole of finalise(): what a hostile or careless command writes, what may be shown."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from time import process_time
from typing import SupportsIndex

import pytest

from runner.model.outcome import Channel
from runner.output import finalise
from runner.output.bounds import MARKER_BYTES
from runner.output.finder import Finder
from runner.output.redact import Redactor, slack
from runner.output.terminal import clean, visible

TOKEN = "tok_4f9c2e7ab1d0"
HARD = 'p@ss/w0rd+"x\\y'


def captured(data: bytes, head: int, tail: int) -> Channel:
    kept = min(tail, max(0, len(data) - head))
    return Channel(head=data[:head], tail=data[len(data) - kept :], total=len(data))


def shown(data: bytes | str, *secrets: str, replacement: str = "[X]") -> str:
    raw = data if isinstance(data, bytes) else data.encode()
    return finalise(Channel(head=raw, total=len(raw)), 1 << 24, Redactor(secrets, replacement)).text


def pieces(secret: str, text: str) -> list[str]:
    return [secret[at : at + 4] for at in range(len(secret) - 3) if secret[at : at + 4] in text]


# -- terminal controls ------------------------------------------------------------------------------------------------

STRINGS = ["]8;;file:///etc/passwd", "]0;title", "]52;c;QUFB", "P1$r0m", "_Gf=24;AAAA", "^private", "Xstring", "]"]


@pytest.mark.parametrize("payload", STRINGS)
@pytest.mark.parametrize("end", ["\x07", "\x1b\\", "\x9c"])
def test_control_strings(payload: str, end: str) -> None:  # 175, 176
    eight_bit = chr(ord(payload[0]) + 0x40) + payload[1:]
    for begin in ("\x1b" + payload, eight_bit):
        assert shown(f"click{begin}{end} build\n") == "click build\n"


def test_hyperlink_and_title() -> None:  # 175
    script = r"""printf '\033]8;;file:///etc/passwd\033\\click\033]8;;\033\\ \033]0;title\007build\n'"""
    assert shown(subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout) == "click build\n"


@pytest.mark.parametrize("body", ["", "2J", "@", "31;1m", "?25l", ">0q", "1;1H", "!p", " q", "38:2::1:2:3m", "0"])
def test_csi_in_both_spellings(body: str) -> None:  # 176
    final = "" if body[-1:].isalpha() or body == "@" else "m"
    for begin in ("\x1b[", "\x9b"):
        assert shown(f"X{begin}{body}{final}Y") == "XY"


def test_raw_eight_bit_controls_are_no_text() -> None:  # 176
    for code in range(0x80, 0xA0):
        assert shown(b"X" + bytes([code]) + b"2JY") == "X�2JY"
        assert not any("\x80" <= char <= "\x9f" for char in shown(f"X{chr(code)}2JY"))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("rm -rf data\rall tests ok\n", ["rm -rf data", "all tests ok"]),
        ("rm -rf data\r\x1b[Kall tests ok\n", ["rm -rf data", "all tests ok"]),
        ("rm -rf data\r\x1b[2K\rall tests ok\n", ["rm -rf data", "all tests ok"]),
        ("rm -rf data\r\x9bKall tests ok\n", ["rm -rf data", "all tests ok"]),
        ("rm -rf data\r            \rall tests ok", ["rm -rf data", "all tests ok"]),
        ("rm -rf data\x1b[1G\x1b[Kall tests ok\n", ["rm -rf data", "all tests ok"]),
        ("rm -rf data\n\x1b[1A\x1b[2Kall tests ok\n", ["rm -rf data", "all tests ok"]),
        ("rm -rf data\x1b[8m hidden\x1b[0m\n", ["rm -rf data hidden"]),
        ("first line\r\nsecond line\r\n", ["first line\nsecond line\n"]),
    ],
)
def test_what_is_painted_over_stays_in_sight(text: str, wanted: list[str]) -> None:  # 181
    result = shown(text)
    assert all(part in result for part in wanted), result
    assert not set(result) & set("\x1b\r\b\x9b")


def test_backspaces_and_vertical_moves_are_gone() -> None:  # 181
    assert shown("secret\b\b\b\b\b\bpublic\nx\x1b[1A\x1b[2Ky\na\vb\fc\n") == "public\nxy\nabc\n"


def test_separators_nul_and_del() -> None:  # 183
    text = shown(b'ok\342\200\250{"event":"allow"}\302\205x\000y\177z\342\200\251\n')
    assert text == 'ok\n{"event":"allow"}\nxyz\n\n' and text.splitlines() == text.split("\n")[:-1]
    word = visible('ok\u2028{"event":"allow"}\x85x\x7fz\u2029')
    assert json.dumps(word, ensure_ascii=False).splitlines() == [json.dumps(word)]


# -- cutting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("char", ["é", "你", "😀"])
@pytest.mark.parametrize("lead", range(4))
def test_cut_inside_a_character(char: str, lead: int) -> None:  # 185
    data = ("a" * lead + char * 200).encode()
    for head in range(70, 80):
        for tail in range(20, 30):
            text = finalise(captured(data, head, tail), 100).text
            kept = "".join(line for line in text.split("\n") if not line.startswith("[… "))
            assert set(kept) <= {"a", char} and 80 <= len(kept.encode()) <= 100


def test_a_cut_does_not_hide_damage_of_the_output_itself() -> None:  # 185
    assert finalise(captured(b"ab\xff" + b"x" * 50 + b"\xffyz", 3, 3), 100).text.count("�") == 2
    assert finalise(captured("é".encode()[:1], 3, 3), 100).text == "�"


@pytest.mark.parametrize("size", [50_001, 200_000, 5_000_000])
@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_one_huge_line_keeps_both_its_ends(size: int, newline: bytes) -> None:  # 186
    data = b"A" * size + newline
    safe = finalise(captured(data, 37_500, 12_500), 50_000)
    assert safe.truncated and safe.total_bytes == len(data) and safe.omitted_bytes == len(data) - 50_000
    assert len(safe.text.encode()) <= 50_000 + MARKER_BYTES and safe.text.startswith("A" * 37_500)
    assert safe.text.endswith(data[-12_500:].decode())


# -- secrets ----------------------------------------------------------------------------------------------------------


def test_secret_cut_at_any_place_by_any_limit() -> None:  # 193
    redactor = Redactor((TOKEN,), "*")
    for spare in (0, 3, slack((TOKEN,))):
        for limit in range(1, 41):
            for before in (0, 1, limit, limit * 3 // 4 - 8, limit + 8):
                for behind in (0, 1, limit // 4, 500):
                    data = b"A" * before + TOKEN.encode() + b"B" * behind
                    channel = captured(data, limit * 3 // 4 + spare, limit // 4 + spare)
                    assert not pieces(TOKEN, finalise(channel, limit, redactor).text), (spare, limit, before, behind)


def test_secret_across_either_edge() -> None:  # 193
    redactor = Redactor((TOKEN,), "*")
    for at in range(17):
        head = b"A" * (100 - at) + TOKEN.encode() + b"B" * 500
        tail = b"A" * 500 + TOKEN.encode() + b"B" * (100 - at)
        for data, sizes in ((head, (100, 20)), (tail, (20, 100)), (head, (100, 0)), (tail, (0, 100))):
            assert not pieces(TOKEN, finalise(captured(data, *sizes), 1000, redactor).text)


INSIDE = ["\x1b[0m", "\x1b[01;31m\x1b[K", "\x9b1m", "\x1b]0;title\x07", "\x1b]8;;x\x1b\\", "\x90q\x9c", "\x1b(B", "\u200b", "\u200d", "\0"]


@pytest.mark.parametrize("inside", INSIDE)
def test_cut_in_a_secret_with_something_inside(inside: str) -> None:  # 193 and 198
    """The cut may fall into the sequence: then the other half is no sequence any more, and the secret's rest follows it."""
    redactor = Redactor((TOKEN,), "*")
    for place in (1, 5, 12):
        data = f"{'A' * 20}{TOKEN[:place]}{inside}{TOKEN[place:]}{'B' * 20}".encode()
        for at in range(18, len(data) - 18):
            for channel in (captured(data, at, 4), captured(data, 4, len(data) - at)):
                text = finalise(channel, 1000, redactor).text.replace("\u200d", "")
                assert not pieces(TOKEN, text), (place, at, text)


def test_erase_inside_a_secret_that_is_painted_over() -> None:  # 198 and 181
    for at in range(1, len(TOKEN)):
        for sequence in ("\x1b[K", "\x1b[m\x1b[K", "\x1b[2K", "\x9bK"):
            assert not pieces(TOKEN, shown(f"{TOKEN[:at]}{sequence}{TOKEN[at:]}\rXX\n", TOKEN)), (at, sequence)


@pytest.mark.parametrize("after", ["\rXX\n", "\b\b\bXXX\n", "\r\x1b[K\n", "\r  \r\n", "\n"])
@pytest.mark.parametrize("before", ["", "\n", "\x1b[0m", "\r"])
def test_cut_secret_that_is_painted_over(before: str, after: str) -> None:  # 193 and 181
    redactor = Redactor((TOKEN,), "*")
    data = f"{'A' * 20}{before}{TOKEN}{after}".encode()
    for head in range(1, len(data)):
        for tail in range(len(data) - head):
            assert not pieces(TOKEN, finalise(captured(data, head, tail), 1000, redactor).text), (head, tail)


def percent(data: bytes, keep: bytes = b"") -> str:
    return "".join(chr(byte) if (byte < 128 and chr(byte).isalnum()) or byte in keep else f"%{byte:02X}" for byte in data)


@pytest.mark.parametrize("secret", [HARD, TOKEN, "a&b<c>d\"12é'~", "pass phrase with spaces", "-----x\nline two of it\n"])
def test_encoded_secrets(secret: str) -> None:  # 194
    data = secret.encode()
    spelled = [data.hex(), data.hex().upper(), data.hex(":", 64), percent(data, b"-._~"), percent(data, b"-._~/")]
    spelled += [json.dumps(secret), json.dumps(secret, ensure_ascii=False), json.dumps({"a": json.dumps(secret)}), repr(secret), repr(data)]
    spelled += [json.dumps(secret).translate({38: "\\u0026", 60: "\\u003c", 62: "\\u003e"})]  # as Go writes it
    for form in spelled:
        assert shown(f"see: {form} end", secret).startswith("see: ") and "[X]" in shown(f"see: {form} end", secret), form
        assert shown(form, secret).translate({ord(char): "" for char in "'\"b"}).replace('{a: \\[X]\\}', "[X]") in ("[X]", "[X]\\n"), form
    for lead in range(6):
        for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes):
            form = encode(b"user:"[:lead] + data + b"~").decode()
            assert len(shown(form, secret).replace("[X]", "")) <= 16, form


@pytest.mark.parametrize(
    "script",
    [
        "printf %s \"$1\" | base64", "printf 'user:%s' \"$1\" | base64 -w 8", "printf %s \"$1\" | od -An -tx1", "set -x; : \"$1\"",
        "printf %q \"$1\"", "printf %s \"$1\" | basenc --base64url", "printf %s \"$1\" | basenc --base16 -w 7",
    ],
)  # fmt: skip
def test_secret_as_tools_encode_it(script: str) -> None:  # 194
    done = subprocess.run(["bash", "-c", script, "_", HARD], capture_output=True, check=True)
    text = shown(done.stdout + done.stderr, HARD)
    assert "[X]" in text and len(text.replace("[X]", "").replace("printf user:", "")) <= 16, text


JOINING = [
    "\x1b[0m", "\x1b[m\x1b[K", "\x07", "\0", "\x7f", "\x84", "\x9b1m", "\xad", "\u034f", "\u061c", "\u115f", "\u180e", "\u180b", "\u200b", "\u200c",
    "\u200d", "\u200e", "\u202e", "\u2060", "\u2066", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\ufff0", "\U0001d173", "\U0001bca0", "\U000e0020",
    "\U000e0100", "\U000e01ef", "Q\b", "\x1b]0;t\x07",
]  # fmt: skip


@pytest.mark.parametrize("between", JOINING)
def test_secret_hidden_by_what_nobody_sees(between: str) -> None:  # 198
    for at in range(1, len(TOKEN)):
        assert shown(f"id42{TOKEN[:at]}{between}{TOKEN[at:]}z", TOKEN) == "id42[X]z", (at, ascii(between))
    assert shown(between.join(TOKEN), TOKEN) == "[X]"


def test_secret_with_what_grep_colours() -> None:  # 198
    done = subprocess.run(["grep", "--color=always", "9c2"], input=f"x {TOKEN}\n".encode(), capture_output=True, check=True)
    assert b"\x1b" in done.stdout and shown(done.stdout, TOKEN) == "x [X]\n"


def test_filter_joins_no_secret_out_of_the_replacement() -> None:  # 198, 202
    for replacement in ("", "tok_", "[X]", "4f9c", TOKEN):
        text = shown(f"{TOKEN[:4]}{TOKEN}{TOKEN[4:]} {TOKEN[:8]}{TOKEN}{TOKEN[8:]}", TOKEN, replacement=replacement)
        assert TOKEN not in text


PATTERNS = ("a.*b(c", "$1\\1", "[x", "....", "p|q12345", "\\d+", "^$", "(?P<", "{1,9}", "\\g<0>", "%s%d")


def test_secrets_are_no_patterns() -> None:  # 202
    for secret in PATTERNS:
        assert shown(f"<{secret}>", secret, replacement="\\1{0}$&\\2") == "<\\1{0}$&\\2>"
    for text in ("axxxb(c", "abcd", "q12345 alone", "p apple", "x", "1", "%d"):
        assert shown(text, *PATTERNS) == text


HOSTILE = {
    "osc without end": b"\x1b]",
    "csi": b"\x1b[1;",
    "escapes": b"\x1b",
    "secret's beginning": b"tok_",
    "secret but its end": b"tok_4f9c2e7ab1d",
    "repaint": b"ab\rcd\b",
    "one letter": b"a",
    "invalid": b"\xe2\x80",
    "line ends": "\u2028".encode(),
}


def calls(work: Callable[[], object]) -> int:
    """How many functions, the interpreter's own too, it calls: work that a clock would only guess at."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_output_is_right_and_its_twice_is_twice(name: str) -> None:  # 200
    """Text and work grow with the input and no faster; run it with -s for the seconds (which are not asserted)."""
    unit, redactor, sizes, counts = HOSTILE[name], Redactor((TOKEN,), "*"), [], []
    for size in (1 << 20, 2 << 20):
        data = (unit * (size // len(unit)) + TOKEN.encode())[-size:]
        started = process_time()
        text = finalise(Channel(head=data, total=size), 1 << 24, redactor).text
        print(f"{name}: {size >> 20} MiB in {process_time() - started:.2f} s")
        assert not set(text) & set("\x1b\r\b\x07") and TOKEN not in text
        sizes.append(len(text))
        part = data[-size // 8 :]  # counting is slow
        counts.append(calls(lambda part=part: finalise(Channel(head=part, total=len(part)), 1 << 24, redactor)))
    assert sizes[1] <= 2 * sizes[0] + 64 and counts[1] <= 2.1 * counts[0] + 64


def test_looking_for_cut_pieces_is_linear_in_the_secret() -> None:  # 200
    copied = []
    for size in (4096, 8192):
        finder = Finder(("".join(f"{number:x}" for number in range(size))[:size],))
        Counted.copied = 0
        assert finder.open_end(Counted("z" * (size - 1))) == 0
        copied.append(Counted.copied)
    assert 0 < copied[1] <= 2 * copied[0] + 8192


class Counted(str):
    """Counts how many characters of it are copied."""

    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Counted:
        part = Counted(super().__getitem__(key))
        Counted.copied += len(part)
        return part


@pytest.mark.parametrize("length", [3, 5, 12])
def test_a_thousand_secrets_of_any_length(length: int) -> None:  # 200
    """Each found, alone and beside others, whichever way of looking its length has."""
    secrets = [f"{number:x}".rjust(length, "#") for number in range(0x100, 0x100 + 1000)]
    redactor = Redactor(secrets, "*")
    assert redactor(" ".join(secrets)) == " ".join("*" * 1000)
    assert redactor("".join(secrets)) == "*"
    text = "".join(f"<{secret[:-1]}>" for secret in secrets)
    assert redactor(text) == text


def test_filter_needs_no_second_look() -> None:
    for text in ("\x1b\x1b[0m[0m", "\x1b[\x1b[0m0m", "\x9b\x9b1m", "a\r\r\n\rb\b\b", "\x1b]\x1b]\x07\x07", "\x00\x1b\x00[\x002J"):
        assert clean(clean(text)) == clean(text) and "\x1b" not in clean(text)
