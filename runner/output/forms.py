"""The spellings under which a secret turns up in output.

Every secret: itself. Of eight bytes or more also: hexadecimal, base64 (three alignments, both alphabets), percent-encoded,
JSON-, HTML-, Python- and shell-quoted, and each longer line of a secret of several lines. Out of scope, and not claimed:
reversed, compressed, encrypted, base32, spelled out; shorter secrets in encoded form would shred ordinary output.
"""

from __future__ import annotations

from ..model.record import Record
from .terminal import ERASE, ERASE_ALL, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

ENCODED_FROM = 8  # bytes, and characters of a form
JOINERS = dict.fromkeys((
    0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x200C, 0x200D, 0x3164, *range(0xFE00, 0xFE10),
    0xFFA0, *range(0xE0100, 0xE01F0), ord(ERASE), ord(ERASE_ALL),
))  # invisible (Unicode: Default_Ignorable_Code_Point), yet allowed in text; ERASE until lines are resolved  # fmt: skip
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")  # RFC 3986, 2.3
_SHELL_SAFE = _UNRESERVED | frozenset("/@%+=:,")


class Forms(Record):
    """literal: as they stand; packed: without white space, which base64 and hexadecimal may be wrapped with."""

    literal: frozenset[str] = frozenset()
    packed: frozenset[str] = frozenset()


def forms_of(secrets: Iterable[str]) -> Forms:
    """All of all; a blank secret has none."""
    literal: set[str] = set()
    packed: set[str] = set()
    for secret in secrets:
        if secret.strip():
            data = _bytes(secret)
            literal |= _plain(data)
            if len(data) >= ENCODED_FROM:
                literal |= _long(_quoted(data))
                packed |= _long(_packed(data))
    thin = {form.translate(JOINERS) for form in literal}
    return Forms(literal=frozenset(form for form in thin if form.strip()), packed=frozenset(packed))


def _bytes(secret: str) -> bytes:
    """As the command got them: the environment keeps foreign bytes as lone surrogates (PEP 383)."""
    try:
        return secret.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return secret.encode("utf-8", "replace")


def _plain(data: bytes) -> set[str]:
    text = data.decode("utf-8", "replace")
    shown = clean(text)
    lines = [line.strip() for line in shown.split("\n")]
    return {text, shown, shown.strip()} | (_long(lines) if len(lines) > 1 else set())


def _long(forms: Iterable[str]) -> set[str]:
    return {form for form in forms if len(form) >= ENCODED_FROM}


def _quoted(data: bytes) -> set[str]:
    from json import dumps

    text = data.decode("utf-8", "replace")
    json = {dumps(text, ensure_ascii=plain)[1:-1] for plain in (True, False)}
    json |= {form.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e") for form in json}
    json |= {form.replace("/", "\\/") for form in json} | {dumps(form)[1:-1] for form in json}
    python = {repr(text)[1:-1], repr(data)[2:-1]}
    marked = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shell = {text.replace("'", "'\\''"), text.replace("'", "'\"'\"'"), text.replace("\\", "\\\\").replace("'", "\\'")}
    shell.add("".join(char if char in _SHELL_SAFE or ord(char) > 126 else "\\" + char for char in text))
    shell.add("".join("\\" + char if char in '\\"$`' else char for char in text))
    html = {marked, marked.replace('"', "&quot;").replace("'", "&#x27;"), marked.replace('"', "&#34;").replace("'", "&#39;")}
    return {*json, *python, *html, *shell, *_percent(data)}


def _percent(data: bytes) -> set[str]:
    found = set()
    for safe in (_UNRESERVED, _UNRESERVED | {"/"}, _UNRESERVED | frozenset("!'()*")):
        upper = [chr(byte) if chr(byte) in safe else f"%{byte:02X}" for byte in data]
        lower = [part.lower() if len(part) > 1 else part for part in upper]
        for parts in (upper, lower):
            text = "".join(parts)
            found |= {text, text.replace("%20", "+")}
    return found


def _packed(data: bytes) -> set[str]:
    from binascii import b2a_base64

    forms = {data.hex(), data.hex().upper()}
    for shift in range(3):
        # The characters that depend on the secret alone, whatever stands before and behind it.
        text = b2a_base64(b"\0" * shift + data, newline=False).decode().rstrip("=")
        core = text[(shift * 8 + 5) // 6 : len(text) - (1 if (shift + len(data)) % 3 else 0)]
        forms |= {core, core.replace("+", "-").replace("/", "_")}
    return forms
