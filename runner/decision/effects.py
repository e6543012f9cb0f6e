"""What a command will do, inferred from profiles/effects/*.toml. One interpreter for every row; no row is code.

Keyed by the resolved, trusted executable: `./cat`, a renamed or untrusted binary, a multi-call binary under another name
are arbitrary code. Options are read as getopt_long(3) does: bundled letters, `--name=value`, unambiguous abbreviations.
"""

from __future__ import annotations

import os

from ..model.command import Command, Effect, Executable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Table = dict[str, "dict[str, Any]"]
UNKNOWN = ("arbitrary_code", "child_processes", "unknown")
RAW = tuple(Effect(kind=kind, target="a shell reads it" if kind == "unknown" else "") for kind in UNKNOWN)


def load(text: str) -> Table:
    """Program name -> row."""
    import tomllib

    return {name: row for row in tomllib.loads(text).values() for name in row["programs"]}


def infer(command: Command, executable: Executable, cwd: str, table: Table) -> tuple[Effect, ...]:
    """Every effect, each once. Paths are absolute but not canonical."""
    row = table.get(_family(executable, table)) if executable.trusted else None
    if row is None:
        why = "no row describes it" if executable.trusted else "the program is not trusted"
        found = [Effect(kind=kind, target=why if kind == "unknown" else "") for kind in UNKNOWN]
    else:
        found = _Reader(row, cwd).effects(command.arguments)
    return tuple(dict.fromkeys(found))


def _family(executable: Executable, table: Table) -> str:
    """The row's name: the canonical file's, a version's digits dropped (python3.11). One that is another program under
    the requested name (busybox, a rename) has no row unless the file's own name has one."""
    name = os.path.basename(executable.canonical)
    if name in table:
        return name
    stem = name.rstrip("0123456789.")
    versioned = stem in table and name[len(stem) :].replace(".", "").isdigit()
    # Only a row of code stands for its versions: a `cat2` is anything but cat.
    return stem if versioned and "arbitrary_code" in table[stem].get("effects", ()) else name


class _Reader:
    """Splits arguments into options and positionals by one row."""

    def __init__(self, row: dict[str, Any], cwd: str) -> None:
        self.row, self.cwd = row, cwd
        self.found: list[Effect] = []
        self.positionals: list[str] = []
        self.seen: set[str] = set()
        self.paths = dict.fromkeys(row.get("read_options", ()), "read")
        self.paths |= dict.fromkeys(row.get("write_options", ()), "write")
        self.with_value = {*row.get("values", ()), *self.paths}
        self.names = {*self.with_value, *row.get("options", {}), *row.get("recursive", ())}

    def effects(self, arguments: tuple[str, ...]) -> list[Effect]:
        for text in self.row.get("effects", ()):
            self._add(text)
        if self.row.get("expression"):
            self._expression(list(arguments))
        else:
            self._options(list(arguments))
        self._operands()
        return self.found

    # -- options --

    def _options(self, rest: list[str]) -> None:
        while rest:
            word = rest.pop(0)
            if word == "--":
                self.positionals += rest
                return
            if word.startswith("--"):
                self._long(word, rest)
            elif word.startswith("-") and word != "-":
                self._short(word, rest)
            else:
                self.positionals.append(word)

    def _long(self, word: str, rest: list[str]) -> None:
        name, equals, value = word.partition("=")
        # An abbreviation may stand for any option it begins: all of them count. Whether it takes the next word as its
        # value is then not known (`--binary` is an option of its own), and what is read may be anything.
        names = {name} if name in self.names else {full for full in self.names if full.startswith(name)} or {name}
        takes = names & self.with_value
        if takes and not equals:
            if name not in names:
                self._unknown(f"`{name}` may stand for `{min(takes)}`")
            value = rest.pop(0) if rest else ""
        for full in names:
            self._option(full, value)

    def _short(self, word: str, rest: list[str]) -> None:
        for place in range(1, len(word)):
            name, attached = "-" + word[place], word[place + 1 :]
            if name in self.with_value:
                self._option(name, attached or (rest.pop(0) if rest else ""))
                return
            self._option(name, attached)

    def _option(self, name: str, value: str) -> None:
        self.seen.add(name)
        for text in self.row.get("options", {}).get(name, ()):
            self._add(text)
        if name in self.paths and value:
            self._path(self.paths[name], value)

    # -- find(1): operands first, then an expression of words --

    def _expression(self, rest: list[str]) -> None:
        while rest and not self._starts_expression(rest[0]):
            word = rest.pop(0)
            if word == "-D" and rest:
                rest.pop(0)
            elif word not in ("-H", "-L", "-P", "-D", "--") and not word.startswith("-O"):
                self.positionals.append(word)
        self.starts = list(self.positionals) or ["."]
        while rest:
            word = rest.pop(0)
            takes = word in self.paths and bool(rest)
            self._option(word, rest[0] if takes else "")

    def _starts_expression(self, word: str) -> bool:
        option = word in ("-H", "-L", "-P", "-D", "--") or word.startswith("-O")
        return word in ("(", ")", "!", ",") or (word.startswith("-") and word != "-" and not option)

    # -- operands --

    def _operands(self) -> None:
        words = self.positionals
        if self.row.get("read") == "but_last" and not words:
            self._unknown("no operand")
        if self.row.get("read") == "rest" and not self.seen & set(self.row.get("pattern_options", ())):
            words = words[1:]
        if self.row.get("expression"):
            self._all("read", words)
        self._all("read", _chosen(self.row.get("read"), words, bool(self.seen & self._targets())))
        self._all("write", _chosen(self.row.get("write"), words, bool(self.seen & self._targets())))
        reads_here = self.row.get("none_reads") == "cwd" or self.seen & set(self.row.get("recursive", ()))
        if not words and reads_here:
            self._path("read", ".")

    def _targets(self) -> set[str]:
        return set(self.row.get("write_options", ())) if self.row.get("read") == "but_last" else set()

    def _all(self, kind: str, words: list[str]) -> None:
        # Where a program reads what its operands hold, `-` is its standard input; elsewhere it is a name like any other.
        stdin = kind == "read" and self.row.get("read") in ("all", "rest") and self.row.get("none_reads") != "cwd"
        for word in words:
            if word != "-" or not stdin:
                self._path(kind, word)

    def _path(self, kind: str, word: str) -> None:
        self.found.append(Effect(kind=kind, target=os.path.join(self.cwd, word)))

    def _unknown(self, why: str) -> None:
        self.found += [Effect(kind=kind, target=why if kind == "unknown" else "") for kind in UNKNOWN]

    def _add(self, text: str) -> None:
        kind, _, target = text.partition(":")
        if target == "start":
            self._all(kind, getattr(self, "starts", ["."]))
        else:
            self.found.append(Effect(kind=kind, target=self.cwd if target == "cwd" else target))


def _chosen(which: str | None, words: list[str], target_given: bool) -> list[str]:
    if which in ("all", "rest") or (which == "but_last" and target_given):
        return words
    if which == "but_last":
        return words[:-1]
    return words[-1:] if which == "last" and not target_given else []
