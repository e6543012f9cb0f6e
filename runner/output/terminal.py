"""What a terminal would finally show, as plain text: no escape survives, nothing stays hidden by overwriting.

Removed: ESC and C1 sequences (CSI, OSC, DCS, APC, PM, SOS; ECMA-48), C0 but tab and newline, DEL, C1, bidirectional and
other invisible format controls. Carriage return and backspace are resolved on their line. Linear in the text's length.
"""

from __future__ import annotations

_PLAIN = frozenset(chr(code) for code in (*range(0x20, 0x7F), 0x09, 0x0A))
_STRINGS = "P]X^_"  # DCS, OSC, SOS, PM, APC after ESC
_C1_STRINGS = "\x90\x98\x9d\x9e\x9f"
_CSI, _ST, _BEL, _ESC = "\x9b", "\x9c", "\x07", "\x1b"
_INVISIBLE = frozenset(
    chr(code)
    for code in (
        *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0x061C, 0x00AD, 0x180E,
        *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080),
    )
    if code not in (0x200C, 0x200D)  # joiners shape letters and emoji
)  # fmt: skip
_TABLE = dict.fromkeys((*range(0, 9), *range(11, 32), *range(127, 160)))
_TABLE |= {ord(char): None for char in _INVISIBLE}
_TABLE[0x2028] = _TABLE[0x2029] = _TABLE[0x85] = "\n"  # type: ignore[assignment]
_CONTROLS = bytes((*range(0x00, 0x09), *range(0x0B, 0x20), 0x7F))


def clean(text: str) -> str:
    """The text without anything a terminal would obey."""
    if text.isascii() and not _has_controls(text):
        return text
    if _ESC in text or any(char in text for char in (_CSI, *_C1_STRINGS)):
        text = _without_sequences(text)
    text = text.replace("\r\n", "\n")
    if "\r" in text or "\b" in text:
        text = "\n".join(_shown(line) if "\r" in line or "\b" in line else line for line in text.split("\n"))
    return text.translate(_TABLE)


def _has_controls(text: str) -> bool:
    data = text.encode("ascii")
    return len(data.translate(None, _CONTROLS)) != len(data)


def _without_sequences(text: str) -> str:
    kept: list[str] = []
    at, size = 0, len(text)
    while at < size:
        stop = _next_start(text, at)
        kept.append(text[at:stop])
        at = _after_sequence(text, stop) if stop < size else size
    return "".join(kept)


def _next_start(text: str, at: int) -> int:
    """The next character that opens a sequence, or the end. Plain runs are skipped by str.find."""
    places = [place for place in (text.find(_ESC, at), _find_c1(text, at)) if place >= 0]
    return min(places, default=len(text))


def _find_c1(text: str, at: int) -> int:
    if text.isascii():
        return -1
    stop = text.find(_ESC, at)
    stop = len(text) if stop < 0 else stop
    for place in range(at, stop):
        if "\x90" <= text[place] <= "\x9f":
            return place
    return -1


def _after_sequence(text: str, at: int) -> int:
    """The place behind the sequence that starts at `at`; an unfinished one takes the rest of its line."""
    size, first = len(text), text[at]
    if first == _ESC:
        at += 1
        if at >= size:
            return size
        if text[at] == "[":
            return _after_csi(text, at + 1)
        if text[at] in _STRINGS:
            return _after_string(text, at + 1)
        while at < size and "\x20" <= text[at] <= "\x2f":  # intermediate bytes
            at += 1
        return at + 1 if at < size and "\x30" <= text[at] <= "\x7e" else at
    if first == _CSI:
        return _after_csi(text, at + 1)
    return _after_string(text, at + 1) if first in _C1_STRINGS else at + 1


def _after_csi(text: str, at: int) -> int:
    size = len(text)
    while at < size and "\x20" <= text[at] <= "\x3f":  # parameters and intermediates
        at += 1
    return at + 1 if at < size and "\x40" <= text[at] <= "\x7e" else at


def _after_string(text: str, at: int) -> int:
    """A control string ends at BEL, ST or ESC \\; one that never ends is dropped up to the end of its line."""
    size, start = len(text), at
    while at < size:
        char = text[at]
        if char in (_BEL, _ST):
            return at + 1
        if char == _ESC:
            return at + 2 if text[at + 1 : at + 2] == "\\" else at
        if char == "\n":
            return at
        at += 1
    return max(at, start)


def _shown(line: str) -> str:
    """One line after its carriage returns and backspaces: later characters stand over earlier ones."""
    cells: list[str] = []
    column = 0
    for char in line:
        if char == "\r":
            column = 0
        elif char == "\b":
            column = max(0, column - 1)
        elif column < len(cells):
            cells[column] = char
            column += 1
        else:
            cells.append(char)
            column += 1
    return "".join(cells)
