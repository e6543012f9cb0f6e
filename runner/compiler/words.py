"""One command line -> its words, conservatively: quotes as POSIX reads them, everything a shell would expand is an error."""

from __future__ import annotations

_BLANK = " \t\r"
_SPECIAL = {
    "|": "a pipeline", "&": "a background job or condition", ";": "a second command", "\n": "a second command",
    "<": "a redirection", ">": "a redirection", "(": "grouping", ")": "grouping", "{": "a brace", "}": "a brace",
    "$": "an expansion", "`": "a command substitution", "*": "a glob", "?": "a glob", "!": "history or negation",
}  # fmt: skip


class WordError(ValueError):
    """What stands at `offset` (bytes from 0) cannot be a literal word."""

    def __init__(self, message: str, text: str, place: int) -> None:
        super().__init__(message)
        self.offset = len(text[:place].encode())


def split(text: str) -> list[str]:
    """The words of exactly one command. Raises WordError."""
    words: list[str] = []
    place = 0
    while place < len(text):
        if text[place] in _BLANK:
            place += 1
            continue
        word, place = _word(text, place)
        words.append(word)
    if not words or not words[0]:
        raise WordError("no command", text, 0)
    if "=" in words[0].split("/")[0] and words[0].split("=")[0].isidentifier():
        raise WordError("a variable assignment is not a program", text, 0)
    return words


def _word(text: str, start: int) -> tuple[str, int]:
    parts: list[str] = []
    place = start
    while place < len(text) and text[place] not in _BLANK:
        char = text[place]
        if char == "'":
            stop = text.find("'", place + 1)
            if stop < 0:
                raise WordError("unterminated single quote", text, place)
            parts.append(text[place + 1 : stop])
            place = stop + 1
        elif char == '"':
            part, place = _double(text, place)
            parts.append(part)
        elif char == "\\":
            if place + 1 >= len(text):
                raise WordError("trailing escape", text, place)
            parts.append(text[place + 1])
            place += 2
        else:
            _plain(text, start, place)
            parts.append(char)
            place += 1
    return "".join(parts), place


def _plain(text: str, start: int, place: int) -> None:
    char = text[place]
    if char in _SPECIAL:
        raise WordError(f"`{char}` would be {_SPECIAL[char]}: quote it", text, place)
    if char in "~#" and place == start:
        raise WordError(f"`{char}` at the start of a word means something to a shell: quote it", text, place)
    alone = place == start and (place + 1 == len(text) or text[place + 1] in _BLANK)
    if char in "[]" and not alone:
        raise WordError(f"`{char}` would be a glob: quote it", text, place)


def _double(text: str, start: int) -> tuple[str, int]:
    parts: list[str] = []
    place = start + 1
    while place < len(text):
        char = text[place]
        if char == '"':
            return "".join(parts), place + 1
        if char in "$`":
            raise WordError(f"`{char}` is expanded inside double quotes: use single quotes", text, place)
        if char == "\\" and text[place + 1 : place + 2] in ("$", "`", '"', "\\", "\n"):
            parts.append("" if text[place + 1] == "\n" else text[place + 1])
            place += 2
            continue
        parts.append(char)
        place += 1
    raise WordError("unterminated double quote", text, start)
