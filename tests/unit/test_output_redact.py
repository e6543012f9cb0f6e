"""Redaction: each form of a secret, at every place, and nothing else."""

from __future__ import annotations

import base64
import json
import random
import shlex
import subprocess
from urllib.parse import quote, quote_plus

import pytest

from runner.model.outcome import Channel
from runner.output import finalise
from runner.output.redact import Redactor, slack

TOKEN = "tok_4f9c2e7ab1d0"
HARD = 'p@ss/w0rd+"x\\y'


def shown(data: bytes, *secrets: str, limit: int = 1 << 20) -> str:
    return finalise(Channel(head=data, total=len(data)), limit, Redactor(secrets, "[X]")).text


def forms(secret: str) -> dict[str, str]:
    data = secret.encode()
    return {
        "plain": secret,
        "base64 0": base64.b64encode(data).decode(),
        "base64 1": base64.b64encode(b"u" + data + b"z").decode(),
        "base64 2": base64.b64encode(b"us" + data + b"zz").decode(),
        "base64 url": base64.urlsafe_b64encode(b"user:" + data).decode(),
        "base64 wrapped": base64.encodebytes(b"x" * 50 + data + b"y" * 50).decode(),
        "hex": data.hex(),
        "HEX": data.hex().upper(),
        "hex spaced": data.hex(" "),
        "hex wrapped": "\n".join((data.hex()[:7], data.hex()[7:])),
        "url": quote(secret, safe=""),
        "url path": quote(secret),
        "url form": quote_plus(secret),
        "url lower": quote(secret, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%5C", "%5c"),
        "json": json.dumps(secret),
        "json twice": json.dumps(json.dumps(secret)),
        "json slash": json.dumps(secret).replace("/", "\\/"),
        "shell": shlex.quote(secret),
        "python": repr(secret),
    }


@pytest.mark.parametrize("secret", [HARD, TOKEN, "it's 100% <b>&mäß€", "🔑🔑🔑"])
def test_encoded_forms(secret: str) -> None:  # case 194
    for name, form in forms(secret).items():
        text = shown(f"before {form} after".encode(), secret)
        assert "[X]" in text, name
        assert text.startswith("before ") and text.endswith(" after"), name
        rest = text.replace("before ", "").replace(" after", "").replace("[X]", "")
        assert len(rest) <= (140 if name == "base64 wrapped" else 16), (name, text)
        assert not any(form[at : at + 8] in rest for at in range(len(form) - 8) if "base64" not in name), (name, text)


def test_shell_spellings() -> None:
    secret = "it's a \"quoted\" $ecret"
    for script in ("printf '%q\\n' \"$1\"", "set -x; : \"$1\"", "declare -p S", "printf %s \"${1@Q}\""):
        done = subprocess.run(["bash", "-c", "S=$1; " + script, "_", secret], capture_output=True, check=True)
        text = shown(done.stdout + done.stderr, secret)
        assert "[X]" in text and "quoted" not in text and "ecret" not in text, (script, text)


def test_short_secret_has_no_encoded_forms() -> None:
    assert shown(b"abc YWJj 616263", "abc") == "[X] YWJj 616263"


@pytest.mark.parametrize("between", ["\x1b[0m", "\x07", "\u200b", "\u200c", "\0", "\x84", "\x1b]0;t\x07", "Q\b", "\u202e"])
def test_secret_hidden_by_escapes(between: str) -> None:  # case 198
    for at in range(1, len(TOKEN)):
        text = shown(f"id42\0{TOKEN[:at]}{between}{TOKEN[at:]}z\n".encode(), TOKEN)
        assert text == "id42[X]z\n", (at, text)


def test_secret_partly_overwritten_leaves_nothing() -> None:
    split = f"{TOKEN[:6]}\x1b[1m{TOKEN[6:]}"
    for text in (f"{TOKEN}\rXX\n", f"{TOKEN}\b\b\bXXX\n", f"a {TOKEN}\r\x1b[Kb\n", f"{split}\rXX\n", f"\x1b[{TOKEN}\n"):
        safe = shown(text.encode(), TOKEN)
        assert not any(TOKEN[at : at + 4] in safe for at in range(len(TOKEN) - 3)), safe


def test_pattern_characters_are_only_characters() -> None:  # case 202
    secrets = ("a.*b(c", "$1\\1", "[x", "....", "p|q12345")
    redactor = Redactor(secrets, "\\1[$&]")
    for secret in secrets:
        assert redactor(f"<{secret}>") == "<\\1[$&]>"
    for text in ("axxxb(c", "abcd", "q12345 alone", "p apple"):
        assert redactor(text) == text


def test_longest_overlapping_and_touching() -> None:
    redactor = Redactor(("abcd", "abcdefgh", "ghij"), "*")
    assert redactor("-abcdefghij-abcd-abcdabcd-") == "-*-*-*-"
    assert Redactor(("aaa",), "*")("aaaaaaaaaa b aa aaa") == "* b aa *"


@pytest.mark.parametrize(
    ("secret", "replacement", "text"),
    [("ab", "", "aabb"), ("axb", "x", "aaxbb"), ("RED", "[REDACTED]", "is RED"), ("abab", "ab", "ababab")],
)
def test_replacement_never_spells_a_secret(secret: str, replacement: str, text: str) -> None:
    assert secret not in Redactor((secret,), replacement)(text)


def test_blank_and_foreign_secrets() -> None:
    assert shown(b"a b\n\n", "", " ", "\n") == "a b\n\n"
    assert shown(b"x p\xffw\xfe12 y", b"p\xffw\xfe12".decode("utf-8", "surrogateescape")) == "x [X] y"
    assert shown(b"key=s3cretvalue;", "s3cretvalue\n") == "key=[X];"
    assert Redactor(("\ud800abcdefgh",), "[X]")("fine") == "fine"


def test_lines_of_a_key_alone() -> None:
    key = "-----BEGIN-----\nMIIEabcdefgh0123\nqrstuvwxyz987654\n-----END-----\n"
    assert shown(b"> qrstuvwxyz987654 <", key) == "> [X] <"
    assert shown(key.replace("\n", "\r\n").encode(), key) == "[X]\n" * 4


def test_many_secrets_find_the_same_as_few() -> None:
    chance = random.Random(7)
    secrets = ["".join(chance.choices("abc12", k=chance.randint(3, 14))) for _ in range(150)]
    text = "".join(chance.choices("abc12 ", k=3000))
    hidden = bytearray(len(text))
    for secret in secrets:
        for at in range(len(text)):
            if text.startswith(secret, at):
                hidden[at : at + len(secret)] = b"\1" * len(secret)
    kept = "".join(char for char, flag in zip(text, hidden, strict=True) if not flag)
    assert 100 < len(kept) < len(text)
    assert Redactor(secrets, "*")(text).replace("*", "") == kept


@pytest.mark.parametrize("filler", [b"A", b"tok_", b"\x1b[0m"])
def test_cut_by_limit(filler: bytes) -> None:  # case 193
    pieces = [TOKEN[at : at + 4] for at in range(len(TOKEN) - 3) if at != 0 or filler != b"tok_"]
    limit = 100
    for k in range(limit - 40, limit + 4):
        data = (filler * 200)[:k] + TOKEN.encode() + b"B" * 500
        for stream in (data, data[::-1].replace(TOKEN[::-1].encode(), TOKEN.encode())):
            text = shown(stream, TOKEN, limit=limit)
            assert not any(piece in text for piece in pieces), (k, text)
    for limit in range(1, 41):
        assert not any(piece in shown(TOKEN.encode(), TOKEN, limit=limit) for piece in pieces)


@pytest.mark.parametrize("spare", [0, slack((TOKEN,))])
def test_cut_by_capture(spare: int) -> None:
    """The capture dropped the middle; the secret lies across either edge, or both, at every offset."""
    for form in (TOKEN, base64.b64encode(TOKEN.encode()).decode().rstrip("="), TOKEN.encode().hex(), "tok_4f\x1b[1m9c2e7ab1d0"):
        for at in range(20, 110):
            data = ("A" * at + form + "B" * 90).encode()
            head, tail = data[: 45 + spare], data[len(data) - 25 - spare :]
            channel = Channel(head=head, tail=tail, total=len(data))
            if channel.dropped <= 0:
                continue
            text = finalise(channel, 80, Redactor((TOKEN,), "[X]")).text
            plain = form.replace("\x1b[1m", "")
            assert not any(plain[n : n + 4] in text for n in range(len(plain) - 3)), (at, text)


def test_a_stopped_command_does_not_end_in_half_a_secret() -> None:
    for count in range(4, len(TOKEN)):
        data = f"out {TOKEN[:count]}".encode()
        channel = Channel(head=data, total=len(data))
        assert finalise(channel, 100, Redactor((TOKEN,)), stopped=True).text == "out "
        assert finalise(channel, 100, Redactor((TOKEN,))).text == data.decode()


def test_a_stopped_command_with_a_dropped_middle() -> None:
    channel = Channel(head=b"begin ", tail=b"the end " + TOKEN[:9].encode(), total=500)
    assert finalise(channel, 100, Redactor((TOKEN,)), stopped=True).text.endswith(" …]\nthe end ")


def test_a_cut_colour_inside_a_cut_secret() -> None:
    """The capture resumed inside the escape sequence that stood inside the secret."""
    for rest in ("m", "1m", "38;5;1m", ""):
        channel = Channel(head=b"begin ", tail=f"{rest}{TOKEN[5:]} end".encode(), total=500)
        assert finalise(channel, 100, Redactor((TOKEN,))).text.endswith(" …]\n end")


def test_slack() -> None:
    assert slack(()) == slack(("", "\n")) == 0
    assert slack(("abc",)) >= 3
    assert slack((TOKEN,)) >= 2 * len(TOKEN)
