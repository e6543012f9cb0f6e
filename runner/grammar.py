"""The conservative command language: text -> pipelines of literal words. Nothing is ever expanded.

    chain    := pipeline ((';' | newline | '&&' | '||') pipeline)*
    pipeline := command ('|' command)*
    command  := WORD+

Words are quoted as POSIX has it (XCU 2.2). Whatever a shell would expand or treat specially outside single quotes is an
error that names its byte offset and what to write instead: a model must learn at once that nothing expands, and must
never get another meaning than the one it would get from a shell. A newline separates as `;` does, and may follow an
operator; a backslash before it joins lines.
"""

from __future__ import annotations

from .model.command import Command, Pipeline
from .model.record import Record

_BLANK = " \t\r"
_REFUSED = {
    "<": ("redirection is not supported", "give the input as `stdin`, or name the file as an argument"),
    ">": ("redirection is not supported", "use a program that writes files, as `tee`"),
    "(": ("grouping is not supported", "quote it, or write the commands one after the other"),
    ")": ("grouping is not supported", "quote it, or write the commands one after the other"),
    "$": ("nothing expands here, `$` would", "write the value itself, or quote it with '…'"),
    "`": ("command substitution is not supported", "run that command first, and give its output"),
    "*": ("no name expands here, `*` would", "name the files, use a program that finds them, or quote it"),
    "?": ("no name expands here, `?` would", "name the files, use a program that finds them, or quote it"),
    "[": ("no name expands here, `[` would", "name the files, use a program that finds them, or quote it"),
}
_RESERVED = frozenset(
    "if then else elif fi for while until do done case esac in function select time coproc { } ! [[ ]]".split()
)
_ESCAPED_IN_QUOTES = '$`"\\'


class GrammarError(ValueError):
    """What stands at `offset` (bytes from 0) cannot be read; remedy says what to write."""

    def __init__(self, message: str, offset: int, remedy: str = "") -> None:
        super().__init__(message)
        self.offset, self.remedy = offset, remedy


class Token(Record):
    """kind: `word`, or the operator itself. bare: the text stood there without any quote or escape."""

    kind: str
    text: str
    place: int
    bare: bool = False


def parse(text: str) -> tuple[Pipeline, ...]:
    """The pipelines of the text, at least one. Raises GrammarError."""
    scanner = _Scanner(text)
    try:
        return _chain(scanner.tokens(), len(text))
    except _Fault as fault:
        raise GrammarError(fault.message, len(text[: fault.place].encode()), fault.remedy) from None


def parse_single(text: str) -> Command:
    """The one command of the text. Raises GrammarError, also where there are more."""
    pipelines = parse(text)
    if len(pipelines) > 1 or len(pipelines[0].commands) > 1:
        scanner = _Scanner(text)
        place = next(token.place for token in scanner.tokens() if token.kind != "word")
        raise GrammarError("one command is expected, not several", len(text[:place].encode()), "use a chain tool")
    return pipelines[0].commands[0]


class _Fault(Exception):
    """Like GrammarError, with the place in characters."""

    def __init__(self, message: str, place: int, remedy: str = "") -> None:
        super().__init__(message)
        self.message, self.place, self.remedy = message, place, remedy


# -- grammar ----------------------------------------------------------------------------------------------------------


def _chain(tokens: list[Token], end: int) -> tuple[Pipeline, ...]:
    pipelines: list[Pipeline] = []
    commands: list[Command] = []
    words: list[Token] = []
    operator = ""
    for token in [*tokens, Token(kind="end", text="", place=end)]:
        if token.kind == "word":
            words.append(token)
            continue
        if not words:
            if token.kind == "newline" or (token.kind == "end" and not commands and operator in ("", "newline")):
                continue  # a blank line, a newline after an operator, the text's end after a newline
            raise _Fault("expected a command", token.place, "remove the operator, or write a command on both sides of it")
        commands.append(_command(words))
        words = []
        if token.kind != "|":
            pipelines.append(Pipeline(commands=tuple(commands), operator=";" if operator == "newline" else operator))
            commands, operator = [], token.kind
    if not pipelines:
        raise _Fault("the command is empty", 0, "write one")
    return tuple(pipelines)


def _command(words: list[Token]) -> Command:
    first = words[0]
    if first.bare and first.text in _RESERVED:
        raise _Fault(f"`{first.text}` is shell syntax, no program", first.place, "write plain commands, or use a raw tool")
    if not first.text:
        raise _Fault("the program's name is empty", first.place, "name a program")
    for word in words[1:]:
        if word.bare and word.text == "!":
            raise _Fault("`!` alone means something to a shell", word.place, "quote it")
    return Command(program=first.text, arguments=tuple(word.text for word in words[1:]))


# -- words ------------------------------------------------------------------------------------------------------------


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        nul = text.find("\0")
        if nul >= 0:
            raise GrammarError("a NUL byte cannot be part of a command", len(text[:nul].encode()), "remove it")

    def tokens(self) -> list[Token]:
        found: list[Token] = []
        first = True  # whether the next word is a program's name
        while self._skip_blanks():
            token = self._operator() or self._word(first)
            first = token.kind != "word"
            found.append(token)
        return found

    def _skip_blanks(self) -> bool:
        while self.place < len(self.text):
            if self.text[self.place] in _BLANK:
                self.place += 1
            elif self.text.startswith("\\\n", self.place):
                self.place += 2
            else:
                return True
        return False

    def _operator(self) -> Token | None:
        start, char = self.place, self.text[self.place]
        two = self.text[start : start + 2]
        if two in ("&&", "||"):
            self.place += 2
            return Token(kind=two, text=two, place=start)
        if char == "&" or two == "|&":
            place = start if char == "&" else start + 1
            raise _Fault("background jobs are not supported", place, "quote `&`, or run the command in the foreground")
        if char in "|;\n":
            self.place += 1
            return Token(kind="newline" if char == "\n" else char, text=char, place=start)
        return None

    def _word(self, first: bool) -> Token:
        start, parts, bare = self.place, [], True
        marks = _Marks(start)
        while self.place < len(self.text):
            char = self.text[self.place]
            if char in _BLANK or char in "|;\n&":
                break
            if char in "'\"\\":
                part = self._quoted(char)
                bare = bare and part is None
                if part is not None:
                    parts.append(part)
                    marks.quoted()
                continue
            if char not in "[]" or not self._alone(start):
                self._refuse(char, start)
            parts.append(char)
            marks.plain(char, self.place)
            self.place += 1
        text = "".join(parts)
        marks.finish(first)
        return Token(kind="word", text=text, place=start, bare=bare)

    def _alone(self, start: int) -> bool:
        """Whether the word is this one character."""
        rest = self.text[self.place + 1 : self.place + 2]
        return self.place == start and (not rest or rest in _BLANK or rest in "|;\n&")

    def _refuse(self, char: str, start: int) -> None:
        if char in _REFUSED:
            raise _Fault(_REFUSED[char][0], self.place, _REFUSED[char][1])
        if self.place == start and char in "~#":
            meaning = "the home folder" if char == "~" else "a comment"
            raise _Fault(f"`{char}` at the start of a word would be {meaning}", self.place, "write the path itself, or quote it")

    def _quoted(self, char: str) -> str | None:
        """The literal text of a quoted piece or an escape; None for a joined line."""
        if char == "'":
            stop = self.text.find("'", self.place + 1)
            if stop < 0:
                raise _Fault("unterminated single quote", self.place, "close it")
            part, self.place = self.text[self.place + 1 : stop], stop + 1
            return part
        if char == '"':
            return self._double()
        if self.place + 1 >= len(self.text):
            raise _Fault("trailing escape", self.place, "write the character after it, or remove it")
        part = self.text[self.place + 1]
        self.place += 2
        return None if part == "\n" else part

    def _double(self) -> str:
        parts: list[str] = []
        start = self.place
        self.place += 1
        while self.place < len(self.text):
            char = self.text[self.place]
            if char == '"':
                self.place += 1
                return "".join(parts)
            if char in "$`":
                raise _Fault(f"nothing expands here, `{char}` inside double quotes would", self.place, "use single quotes")
            after = self.text[self.place + 1 : self.place + 2]
            if char == "\\" and after and after in _ESCAPED_IN_QUOTES + "\n":
                parts.append("" if after == "\n" else after)
                self.place += 2
                continue
            parts.append(char)
            self.place += 1
        raise _Fault("unterminated double quote", start, "close it")


class _Marks:
    """What a shell would see in the unquoted characters of one word: assignments, braces, tildes behind `=` or `:`."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.braces: list[tuple[int, bool]] = []  # place, whether something separates inside
        self.name = ""  # what stands before an `=`, as long as it may be a variable's name
        self.assigned = False
        self.before = ""

    def quoted(self) -> None:
        self.before = "'"
        if not self.assigned:
            self.name += "'"  # a quote in it: no variable's name

    def plain(self, char: str, place: int) -> None:
        if char == "~" and self.assigned and self.before in "=:":
            raise _Fault("`~` after `=` would be the home folder", place, "write the path itself, or quote it")
        if char == "=" and not self.assigned and self._is_name():
            self.assigned = True
        elif not self.assigned:
            self.name += char
        self._brace(char, place)
        self.before = char

    def _is_name(self) -> bool:
        name = self.name.removesuffix("+")
        return name.isascii() and name.isidentifier()

    def _brace(self, char: str, place: int) -> None:
        if char == "{":
            self.braces.append((place, False))
        elif self.braces and (char == "," or (char == "." and self.before == ".")):
            self.braces = [*self.braces[:-1], (self.braces[-1][0], True)]
        elif char == "}" and self.braces:
            opened, separated = self.braces.pop()
            if separated:
                raise _Fault("braces do not expand here", opened, "write the words out, or quote them")

    def finish(self, first: bool) -> None:
        if first and self.assigned:
            raise _Fault("a variable assignment is no program", self.start, "use a tool whose runtime sets the variable, or `env`")
