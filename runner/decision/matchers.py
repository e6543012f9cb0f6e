"""One table: matcher name -> predicate. Adding a matcher is one function and one line."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.command import Command, Effect, Executable
    from ..model.manifest import Matcher


class Subject(Record):
    """What a matcher looks at. sure: the rule may only hold for what is proven, as one that allows must; otherwise it
    also holds for what the program merely claims to be. Inside `not` the other one counts."""

    command: Command
    executable: Executable
    effects: tuple[Effect, ...] = ()
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
    """By the requested text. Sure, a bare name counts only of a trusted file: what it finds is not the author's choice."""
    program = subject.command.program
    return program == text and (not subject.sure or subject.executable.trusted or "/" in program)


def _basename(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def matches(matcher: Matcher, subject: Subject) -> bool:
    """Whether the matcher holds. An unknown kind cannot come here: the compiler knows this table."""
    return TABLE[matcher.kind](matcher, subject)


TABLE: dict[str, Callable[[Matcher, Subject], bool]] = {
    "any_command": lambda matcher, subject: True,
    "program": lambda matcher, subject: _called(matcher.value, subject),
    "basename": lambda matcher, subject: _named(matcher.value, subject),
    "all": lambda matcher, subject: all(matches(child, subject) for child in matcher.children),
    "any": lambda matcher, subject: any(matches(child, subject) for child in matcher.children),
    "not": lambda matcher, subject: not matches(matcher.children[0], subject.replace(sure=not subject.sure)),
}

