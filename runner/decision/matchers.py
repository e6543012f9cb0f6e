"""One table: matcher name -> predicate. Adding a matcher is one function and one line."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.command import Command, Effect, Executable
    from ..model.manifest import Matcher


class Subject(Record):
    """What a matcher looks at. names: the basenames the program goes by; which ones count depends on the action."""

    command: Command
    executable: Executable
    effects: tuple[Effect, ...] = ()
    names: tuple[str, ...] = ()


def subject_for(action: str, subject: Subject) -> Subject:
    """A rule that allows sees the resolved file's own name, and only of a trusted file; one that asks or denies also
    sees the name it was called by and found under."""
    found = subject.executable
    own = (_basename(found.canonical),)
    if action == "allow":
        return subject.replace(names=own if found.trusted else ())
    return subject.replace(names=(*own, _basename(found.path), _basename(subject.command.program)))


def _basename(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def matches(matcher: Matcher, subject: Subject) -> bool:
    """Whether the matcher holds. An unknown kind cannot come here: the compiler knows this table."""
    return TABLE[matcher.kind](matcher, subject)


TABLE: dict[str, Callable[[Matcher, Subject], bool]] = {
    "any_command": lambda matcher, subject: True,
    "program": lambda matcher, subject: subject.command.program == matcher.value,
    "basename": lambda matcher, subject: matcher.value in subject.names,
    "all": lambda matcher, subject: all(matches(child, subject) for child in matcher.children),
    "any": lambda matcher, subject: any(matches(child, subject) for child in matcher.children),
    "not": lambda matcher, subject: not matches(matcher.children[0], subject),
}

