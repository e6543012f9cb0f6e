"""Properties of the output path and of the Result, with oracles written apart from the code."""

from __future__ import annotations

import json
import os

from hypothesis import example, given, settings
from hypothesis import strategies as st

from runner.execution.capture import Capture
from runner.model.command import Enforcement
from runner.model.manifest import Limits
from runner.model.outcome import Channel, CommandEntry, Outcome, Status
from runner.output import finalise, finalise_both
from runner.output.bounds import MARKER_BYTES
from runner.output.redact import Redactor, slack
from runner.output.terminal import clean, visible
from runner.result import Result

SECRETS = ("Zq7/Xw+Kj9\"Vm", "hunter2hunter2", "Ünï-cödé-Gehéim", "shrt")
MARK = "\N{BULLET}"
CONTROLS = [
    "\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x1b[0m", "\x1b[2K", "\x1b[K", "\x1b]0;t\x07", "\x07", "\r", "\b", "\n", "\r\n", "\0", "\x7f",
    "\x85", "\x90", "\x9b", "\x9c", "\x9d", "\u2028", "\u2029", "\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\ufdd0", "\ufdd1", "\ufffd",
    "\U000e0041", "\U000e0100", "K", "m", ";", "0", "[", "]", " ", "\t", "a", "word", "é", "你", "😀",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(CONTROLS), st.text(max_size=3)), max_size=50).map("".join)
noise = st.one_of(st.sampled_from(CONTROLS).map(str.encode), st.binary(max_size=5))
streams = st.lists(st.one_of(noise, noise, st.sampled_from(SECRETS).map(str.encode)), max_size=50).map(b"".join)
calm = st.lists(st.sampled_from(["a", "b ", "\n", "\t", "é", "\x1b[1m", "\x1b[0m", "😀"]), max_size=40).map("".join)


def captured(data: bytes, head: int, tail: int) -> Channel:
    kept = min(tail, max(0, len(data) - head))
    return Channel(head=data[:head], tail=data[len(data) - kept :], total=len(data))


def is_safe(text: str) -> bool:
    """By numbers, not by the code's own tables."""
    for char in text:
        code = ord(char)
        if (code < 32 and code not in (9, 10)) or 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or 0xFDD0 <= code <= 0xFDEF:
            return False
        if code in (0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF) or 0x202A <= code <= 0x202E or 0x2060 <= code <= 0x206F:
            return False
    return True


def pieces(secret: str, text: str) -> bool:
    return any(secret[at : at + 4] in text for at in range(len(secret) - 3))


@given(texts)
@settings(max_examples=500, deadline=None)
@example("\x1b\x1b[[0mm\x9b\x1b]\x9c")
@example("old words\x1b[2Knew\r\nx")
def test_clean_is_idempotent_safe_and_invents_nothing(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    once = clean(text)
    assert clean(once) == once and is_safe(once)
    assert set(once) <= set(text) | set("\n\ufffd ")


@given(texts)
def test_visible_is_safe_and_loses_nothing(text: str) -> None:
    shown = visible(text)
    assert is_safe(shown) and visible(shown) == shown and len(shown) >= len(text)


@given(streams, st.integers(1, 120), st.integers(0, 60), st.booleans())
@settings(max_examples=500, deadline=None)
def test_bounded_valid_and_counted(data: bytes, limit: int, spare: int, stopped: bool) -> None:
    channel = captured(data, limit - limit // 4 + spare, limit // 4 + spare)
    safe = finalise(channel, limit, Redactor(SECRETS, MARK), stopped=stopped)
    assert is_safe(safe.text) and safe.total_bytes == len(data)
    lines = [line for line in safe.text.split("\n") if line == f"[… {safe.omitted_bytes} bytes left out …]"]
    assert len(lines) == safe.truncated and (safe.truncated or not channel.dropped)
    assert len(safe.text.encode()) <= limit + safe.truncated * MARKER_BYTES
    assert not any(secret in safe.text for secret in SECRETS)


@given(streams, streams, st.integers(1, 90), st.integers(1, 90), st.integers(1, 120))
@settings(deadline=None)
def test_both_within_the_total(out: bytes, err: bytes, first: int, second: int, total: int) -> None:
    limits = Limits(stdout=first, stderr=second, total_output=total)
    texts = finalise_both(captured(out, 200, 50), captured(err, 200, 50), limits, Redactor(SECRETS, MARK))
    sizes = [len(safe.text.encode()) - safe.truncated * MARKER_BYTES for safe in texts]
    assert sizes[0] <= first and sizes[1] <= second and sum(sizes) <= total


@given(calm, calm, st.sampled_from(SECRETS), st.integers(1, 90), st.sampled_from([0, 3, None]), st.booleans())
@settings(max_examples=600, deadline=None)
def test_no_piece_at_a_cut(before: str, behind: str, secret: str, limit: int, spare: int | None, stopped: bool) -> None:
    data = (before + secret + behind).encode()
    extra = slack(SECRETS) if spare is None else spare
    channel = captured(data, limit - limit // 4 + extra, limit // 4 + extra)
    assert not pieces(secret, finalise(channel, limit, Redactor(SECRETS, MARK), stopped=stopped).text)


@given(
    calm, calm, st.sampled_from(SECRETS[:3]), st.integers(1, 12), st.integers(0, 90), st.integers(0, 60),
    st.lists(st.sampled_from(["\x1b[0m", "\x1b[01;31m", "\x1b[K", "\x1b(B", "\x9b1m", "\x1b]0;title\x07", "\0", "\u200b"]), min_size=1, max_size=3),
    st.sampled_from(["", "\rXX\n", "\b\b\bXXX\n", "\r\x1b[K\n"]),
)  # fmt: skip
@example("", "aaaaaaaa", "Ünï-cödé-Gehéim", 3, 0, 34, ["\x1b]0;title\x07", "\x1b[K", "\x1b[K"], "")  # two rests, both plausible
@settings(max_examples=600, deadline=None)
def test_no_piece_at_a_cut_in_hostile_text(
    before: str, behind: str, secret: str, place: int, head: int, tail: int, inside: list[str], after: str
) -> None:
    data = (before + secret[:place] + "".join(inside) + secret[place:] + after + behind).encode()
    text = finalise(captured(data, head, tail), 1 << 16, Redactor(SECRETS, MARK)).text
    assert not pieces(secret, text), ascii(text)


@given(st.lists(st.sampled_from("abc \n"), max_size=60).map("".join), st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_redaction_against_a_simple_one(text: str, secrets: list[str]) -> None:
    """Every character that any secret covers goes, each run of them is one mark, and nothing else changes."""
    hit = [False] * len(text)
    for secret in secrets:
        for at in range(len(text) - len(secret) + 1):
            if text.startswith(secret, at):
                hit[at : at + len(secret)] = [True] * len(secret)
    wanted = "".join("" if hit[at] and at and hit[at - 1] else MARK if hit[at] else char for at, char in enumerate(text))
    assert Redactor(secrets, MARK)(text) == wanted


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=25), st.integers(0, 120), st.integers(0, 120))
@settings(deadline=None)
def test_chunking_makes_no_difference(chunks: list[bytes], head: int, tail: int) -> None:
    ours, theirs = os.pipe()
    capture = Capture(head, tail)
    for chunk in chunks:
        os.write(theirs, chunk)
        left = len(chunk)
        while left:
            left -= capture.read(ours)
    os.close(ours)
    os.close(theirs)
    data = b"".join(chunks)
    assert capture.channel() == captured(data, head, tail)
    assert finalise(capture.channel(), 100) == finalise(captured(data, head, tail), 100)


@given(
    streams, streams, st.lists(texts, max_size=4), texts, st.sampled_from(["combined", "stdout", "structured"]), st.sampled_from(["result", "error"]),
    st.sampled_from([Status(exited=0), Status(exited=3), Status(signaled=9), None]), st.sampled_from([None, "wall_time", "memory"]), st.booleans(),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_whatever_happened_every_form_is_safe(
    out: bytes, err: bytes, words: list[str], message: str, mode: str, nonzero: str, status: Status | None, limit: str | None, failed: bool
) -> None:
    """No secret, one line of valid JSON where JSON is due, and what validates against the published model."""
    entry = CommandEntry(
        program="x", arguments=(*words, *SECRETS), executable="/x" + SECRETS[1], executable_sha256="9c", status=status or Status(exited=0)
    )
    error = ("denied", message + SECRETS[1]) if failed or status is None else None
    outcome = Outcome(
        request_id="shell-1", runtime_id="lab", manifest_sha256="5e", backend="b", status=status, stdout=captured(out, 60, 20),
        stderr=captured(err, 60, 20), commands=(entry,) if status else (), limit=limit, error=error,
        enforcement=(Enforcement(constraint="hide", level="partly", by="view", why=message + SECRETS[1]),),
    )  # fmt: skip
    result = Result.of(outcome, limits=Limits(), redactor=Redactor(SECRETS, MARK), mode=mode, nonzero=nonzero)  # type: ignore[arg-type]
    text, data = result.render(), json.dumps(result.to_json(), ensure_ascii=False)
    assert is_safe(text) and not any(secret in form for secret in SECRETS for form in (text, data))
    assert len(data.splitlines()) == 1 and json.loads(data) == result.to_json()
    assert Result.model_validate(result.model_dump()).to_json()["result" if result.error else "stdout"] is not None or status is None
    if result.failure() or mode == "structured":
        assert len(text.splitlines()) == 1 and isinstance(json.loads(text), dict)
