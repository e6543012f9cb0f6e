"""Terminal filter: text without anything a terminal would obey, and without anything it would hide.

Removed: escape sequences in both spellings, ESC and one C1 character (CSI, OSC, DCS, APC, PM, SOS; ECMA-48), C0 but tab
and newline, DEL, C1, bidirectional and other invisible format controls (zero-width joiners shape letters and stay).
CRLF, U+0085, U+2028 and U+2029 are newlines. Linear in the length of the text.

Carriage return, backspace and erase-in-line are resolved to what a terminal would finally show on that line. A repaint
may be a lie as well as a progress bar, so words that it took away stand on lines of their own above the final one.

An escape sequence never reaches over a newline: an unfinished one could otherwise swallow all that follows.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SECRET = "\ufdd0"  # stands for a secret while lines are resolved; noncharacters of the input itself are replaced before
ERASE = "\ufdd1"  # CSI K: to the end of the line
ERASE_ALL = "\ufdd2"  # CSI 2K: all of it
_NONCHARACTERS = range(0xFDD0, 0xFDF0)
_INVISIBLE = (
    0x00AD, 0x061C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF,
    *range(0xFFF0, 0xFFFC), *range(0x1BCA0, 0x1BCA4), *range(0x1D173, 0x1D17B), *range(0xE0000, 0xE0100),
)  # fmt: skip
_ACTIVE = (0x07, 0x08, 0x0D, 0x18, 0x1A, 0x1B, 0x90, 0x98, *range(0x9B, 0xA0))  # what begins, ends or overwrites
_LINE_ENDS = (0x85, 0x2028, 0x2029)
_CONTROLS = (*range(0x00, 0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))

# Inert first: a terminal ignores NUL and its like even inside a sequence, so they may not break one up for us either.
_INERT: dict[int, str | None] = {
    **{code: None for code in (*_CONTROLS, *_INVISIBLE) if code not in _ACTIVE},
    **dict.fromkeys(_LINE_ENDS, "\n"),
    **dict.fromkeys(_NONCHARACTERS, "\ufffd"),
}
_REST: dict[int, str | None] = dict.fromkeys((*_ACTIVE, ord(ERASE)))

# Every class excludes what follows it, so nothing is ever matched twice.
_SEQUENCE = (
    "(?:\x1b\\[|\x9b)[0-?]*+[ -/]*+[@-~]?"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c\n]*+(?:\x07|\x9c|\x1b\\\\)?"
    "|\x1b[ -/]*+[0-~]?"
)
_ERASE_RIGHT, _ERASE_LINE = "(?:\x1b\\[|\x9b)0?K", "(?:\x1b\\[|\x9b)2K"
_WORD = "[^\\W\\d_]{2,}|" + SECRET
_NO_WORDS: frozenset[str] = frozenset()
_BLANK = " \t\b" + ERASE


def clean(text: str, mark: Callable[[str], str] | None = None) -> str:
    """The text as it may be shown. Idempotent.

    mark puts SECRET for each secret: asked before sequences go (one may swallow a secret's first character), and again
    before lines are resolved (a repaint may take some of it away), for then the rest would not be recognised.
    """
    if _harmless(text):
        return text
    mark = mark or str
    return settled(mark(text.translate(_INERT)), mark)


def settled(text: str, mark: Callable[[str], str]) -> str:
    """clean() for text that `inert` and mark have seen already."""
    text = _without_sequences(text).replace("\r\n", "\n")
    if "\r" in text or "\b" in text or ERASE_ALL in text:
        text = _resolved(mark(text).replace(ERASE_ALL, "\r" + ERASE))
    return text.translate(_REST)


def inert(text: str) -> str:
    """Without what a terminal ignores everywhere, and every line end a newline: of a part as of the whole."""
    return text if text.isascii() and text.isprintable() else text.translate(_INERT)


def visible(text: str) -> str:
    """The text with every character that `clean` would take out written as an escape; for words, not for output."""
    if _harmless(text):
        return text
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return "".join(_escaped(char) if ord(char) in _INERT or ord(char) in _REST else char for char in text)


def sequence_rests(text: str) -> set[int]:
    """How many characters at the start could be the end of a sequence that was cut before; none of it is one too.

    Of ESC or CSI: parameters and a final character, also when the cut was between ESC and `[`. Of a control string: all
    up to its end on the same line.
    """
    string = next((at for at, char in enumerate(text) if char in "\n\x07\x9c\x1b"), len(text))
    rests = {0, _csi_rest(text, 0), _csi_rest(text, 1) if text[:1] == "[" else 0}
    if text[string : string + 1] in ("\x07", "\x9c"):
        rests.add(string + 1)
    return rests | {string + 2} if text.startswith("\x1b\\", string) else rests


def _csi_rest(text: str, at: int) -> int:
    while at < len(text) and "\x20" <= text[at] <= "\x3f":
        at += 1
    return at + 1 if at < len(text) and "\x40" <= text[at] <= "\x7e" else 0


def _harmless(text: str) -> bool:
    return text.replace("\n", "").replace("\t", "").isprintable()


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _without_sequences(text: str) -> str:
    if "\x1b" not in text and (text.isascii() or not any(chr(code) in text for code in _ACTIVE if code >= 0x90)):
        return text
    import re  # only hostile or colourful output pays for it

    if "\r" in text:  # asked of each line: it is shown alike alone and among others
        text = "\n".join(
            re.sub(_ERASE_LINE, ERASE_ALL, re.sub(_ERASE_RIGHT, ERASE, line)) if "\r" in line else line for line in text.split("\n")
        )
    return re.sub(_SEQUENCE, "", text)


def _resolved(text: str) -> str:
    return "\n".join(_shown(line) if "\r" in line or "\b" in line else line for line in text.split("\n"))


def _shown(line: str) -> str:
    """The final line, above it the repainted ones whose words the next repaint took away."""
    import re

    words_of = re.compile(_WORD).findall
    plain = "\b" not in line and ERASE not in line
    lost: list[str] = []
    cells: list[str] = []
    last, words, covered = "", _NO_WORDS, False
    for stroke in line.rstrip("\r").split("\r"):
        if plain:
            cells[: len(stroke)] = stroke
        else:
            _paint(cells, stroke)
        if not stroke.strip(_BLANK):
            covered = True
            continue
        now = frozenset(words_of(stroke)) if len(stroke) > 1 or stroke == SECRET else _NO_WORDS
        if not words <= now:
            lost.append(_alone(last))
        last, words, covered = stroke, now, False
    final = "".join(cells)
    if covered and not words <= set(words_of(final)):
        lost.append(_alone(last))
    return "\n".join((*lost, final.rstrip(" ") if "\r" in line else final))


def _paint(cells: list[str], stroke: str) -> None:
    """Write over the line from its first column on. Lists are changed in place: a long line costs nothing per stroke."""
    column = 0
    for char in stroke:
        if char == "\b":
            column = max(0, column - 1)
        elif char == ERASE:
            del cells[column:]
        elif column < len(cells):
            cells[column] = char
            column += 1
        else:
            cells.append(char)
            column += 1


def _alone(stroke: str) -> str:
    stroke = stroke.replace(ERASE, "")
    if "\b" not in stroke:
        return stroke.rstrip(" ")
    cells: list[str] = []
    _paint(cells, stroke)
    return "".join(cells).rstrip(" ")
