"""One table: matcher name -> predicate. Adding a matcher is one function and one line."""

from __future__ import annotations

import os

from ..errors import ManifestError
from ..model.paths import inside
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..model.command import Command, Effect, Executable
    from ..model.manifest import Matcher


class Subject(Record):
    """What a matcher looks at. sure: the rule may only hold for what is proven, as one that allows must; otherwise it
    also holds for what the program merely claims to be. Inside `not` the other one counts."""

    command: Command
    executable: Executable
    effects: tuple[Effect, ...] = ()
    kind: str = "structured"  # of the request
    canonicalise: Callable[[str], str] = staticmethod(os.path.normpath)  # type: ignore[assignment]  # bare, it would bind
    sure: bool = False


def subject_for(action: str, subject: Subject) -> Subject:
    """A rule that allows must be sure; one that asks or denies takes the program at its word as well."""
    return subject.replace(sure=action == "allow")


def _named(name: str | None, subject: Subject) -> bool:
    """By the resolved file's own name, and only of a trusted file; unsure, also by what it was called or found under."""
    found = subject.executable
    own = _basename(found.canonical)
    if subject.sure:
        return found.trusted and name == own
    return name in (own, _basename(found.path), _basename(subject.command.program))


def _called(text: str | None, subject: Subject) -> bool:
    return subject.command.program == text and _chosen(subject)


def _chosen(subject: Subject) -> bool:
    """Whether the requested text counts. Sure, a bare name does only of a trusted file: what it finds is not the author's
    choice."""
    return not subject.sure or subject.executable.trusted or "/" in subject.command.program


def _regex(pattern: str) -> Any:
    """Compiled once. RE2: linear in the text whatever the pattern, so no model can stall a decision with a name."""
    if pattern not in _compiled:
        try:
            import re2
        except ImportError as error:
            raise ManifestError(
                "`<program_regex>` needs the package google-re2", code="shell.unsupported_feature",
                remedy="install `fumehood[regex]`, or use `<program>` or `<basename>`",
            ) from error  # fmt: skip
        options = re2.Options()
        options.log_errors = False
        try:
            _compiled[pattern] = re2.compile(pattern, options)
        except re2.error as error:
            why = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
            raise ManifestError(
                f"`{pattern}` is no regular expression (RE2): {why}", code="shell.invalid_program_regex",
                remedy="there are no back references and no look-around",
            ) from error  # fmt: skip
    return _compiled[pattern]


_compiled: dict[str, Any] = {}


def _spelled(matcher: Matcher, subject: Subject) -> bool:
    return _regex(matcher.value or "").search(subject.command.program) is not None and _chosen(subject)


def _begins(values: tuple[str, ...], subject: Subject) -> bool:
    words = (subject.command.program, *subject.command.arguments)
    return words[: len(values)] == values and _chosen(subject)


def _is(path: str, declared: str) -> bool:
    return path == declared


def _affects(matcher: Matcher, subject: Subject) -> bool:
    """Unsure, one effect of the kind and below the folder is enough; sure, everything of the kind lies there."""
    found = [effect.target for effect in subject.effects if effect.kind == matcher.value]
    if matcher.under is None or not found:
        return bool(found)
    enough = all if subject.sure else any
    return enough(_stands(inside, path, subject.canonicalise(path), matcher, subject) for path in found)


def _stands(relation: Callable[[str, str], bool], written: str, real: str, matcher: Matcher, subject: Subject) -> bool:
    """Whether a path stands in the relation to the declared one. Sure, only where it leads and where the declared one led
    when the manifest was made live, whoever has moved either since; unsure also where that leads now, and by their names."""
    declared, led = matcher.values
    if relation(real, led):
        return True
    return not subject.sure and (relation(os.path.normpath(written), declared) or relation(real, subject.canonicalise(declared)))


def _basename(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def matches(matcher: Matcher, subject: Subject) -> bool:
    """Whether the matcher holds. An unknown kind cannot come here: the compiler knows this table."""
    return TABLE[matcher.kind](matcher, subject)


TABLE: dict[str, Callable[[Matcher, Subject], bool]] = {
    "any_command": lambda matcher, subject: True,
    "program": lambda matcher, subject: _called(matcher.value, subject),
    "basename": lambda matcher, subject: _named(matcher.value, subject),
    "resolved_path": lambda matcher, subject: _stands(_is, subject.executable.path, subject.executable.canonical, matcher, subject),
    "trusted_executable": lambda matcher, subject: subject.executable.trusted,
    "program_regex": _spelled,
    "argv_prefix": lambda matcher, subject: _begins(matcher.values, subject),
    "argument": lambda matcher, subject: matcher.value in subject.command.arguments,
    "argument_contains": lambda matcher, subject: any((matcher.value or "") in item for item in subject.command.arguments),
    "effect": _affects,
    "no_unknown_effects": lambda matcher, subject: not any(effect.kind == "unknown" for effect in subject.effects),
    "raw_shell": lambda matcher, subject: subject.kind == "raw_shell",
    "all": lambda matcher, subject: all(matches(child, subject) for child in matcher.children),
    "any": lambda matcher, subject: any(matches(child, subject) for child in matcher.children),
    "not": lambda matcher, subject: not matches(matcher.children[0], subject.replace(sure=not subject.sure)),
}


def live(matcher: Matcher, place: Callable[[str], str]) -> Matcher:
    """The matcher on this machine, patterns compiled. place: a path expression's absolute form; a declared path becomes
    `values`, as written and where it leads now. Raises ManifestError."""
    if matcher.kind == "program_regex":
        _regex(matcher.value or "")
    changes: dict[str, Any] = {"children": tuple(live(child, place) for child in matcher.children)}
    path = matcher.value if matcher.kind == "resolved_path" else matcher.under
    if path is not None:
        changes["values"] = place(path), os.path.realpath(place(path))
    return matcher.replace(**changes)


def looks_at_paths(matcher: Matcher) -> bool:
    """Whether what it says may change while the command and the manifest stay the same."""
    return matcher.under is not None or matcher.kind == "resolved_path" or any(map(looks_at_paths, matcher.children))
