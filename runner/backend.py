"""The page a backend author reads: three protocols, the built-in table, and load(name).

A backend only starts and ends processes. Pipelines, limits, timeouts, kill and reap exist once, in `execution`.
"""

from __future__ import annotations

from .errors import IsolationError

TYPE_CHECKING = False
if TYPE_CHECKING:  # the protocols are for readers and type checkers; a one-shot run pays for neither
    from typing import Protocol

    from .model.command import Access, Enforcement, Executable, Stage
    from .model.outcome import Status, Usage
else:
    Protocol = object


class Exit(Protocol):
    """One stage has ended. Counters are the kernel's own since the instance was armed. failure: (launcher step, errno)
    where the command itself never ran. changed: the program's file was replaced while it ran, so no digest is vouched for."""

    status: Status
    usage: Usage
    oom_kills: int
    forks_refused: int
    failure: tuple[str, int] | None
    changed: bool


class Instance(Protocol):
    """Lives for one request. All its stages share one /tmp and one process view, and nothing else does."""

    def fileno(self) -> int:
        """A descriptor for selectors: readable when exits() has news or the sandbox is gone."""

    def start(self, stage: Stage, stdin: int, stdout: int, stderr: int) -> int:
        """Start one process with these three descriptors (caller keeps and closes its copies); its stage number."""

    def exits(self) -> list[tuple[int, Exit]]:
        """What has ended since the last call; never blocks. Raises IsolationError when the sandbox is gone."""

    def cpu_time(self) -> float:
        """Seconds of CPU used by everything inside so far."""

    def signal(self, number: int) -> None:
        """Send a signal to everything inside (never to the launcher)."""

    def close(self) -> None:
        """Everything inside is dead when it returns. Idempotent."""


class Sandbox(Protocol):
    """One prepared confinement: a factory of single-request instances."""

    def open(self) -> Instance:
        """Take an armed worker, or make one."""

    def enforcement(self) -> tuple[Enforcement, ...]:
        """Per constraint: fully, partly, not; by which mechanism; and why."""

    def describe(self) -> str:
        """Exactly what it will do, printable."""

    def visible(self, executable: Executable) -> bool:
        """Whether this program can be reached inside the prepared view."""

    def close(self) -> None:
        """End every worker. Idempotent."""


class Backend(Protocol):
    name: str
    confinement: str  # verified | declared | none

    def probe(self) -> tuple[Enforcement, ...]:
        """What this host can enforce, constraint by constraint. Cached, cheap, executes nothing of the caller's."""

    def prepare(self, access: Access, *, ahead: int = 1) -> Sandbox:
        """Once per runtime; ahead: how many instances are kept armed (0: made when asked for). Raises IsolationError when `access.required` cannot be enforced fully."""


BUILTIN = {  # declared kind -> (module, class); imported where used
    "landlock": ("backends.landlock", "LandlockBackend"),
    "direct": ("backends.direct", "DirectBackend"),
}


def load(kind: str) -> Backend:
    """The backend of that declared kind, or an IsolationError that says what there is."""
    if kind not in BUILTIN:
        raise IsolationError(f"backend `{kind}` is not built in", remedy=f"use one of: {', '.join(BUILTIN)}")
    module, name = BUILTIN[kind]
    from importlib import import_module

    backend: Backend = getattr(import_module(module), name)()
    return backend
