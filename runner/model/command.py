"""What travels through the walk: request, executable, effects, decision, plan."""

from __future__ import annotations

from .manifest import Limits
from .record import Record


class Command(Record):
    program: str
    arguments: tuple[str, ...] = ()


class Pipeline(Record):
    """operator is how it follows the pipeline before it: "" (first), ";", "&&" or "||"."""

    commands: tuple[Command, ...]
    operator: str = ""


class PinnedFile(Record):
    """A file that must have exactly this content when it is used, at most max_bytes of it. path: absolute."""

    path: str
    sha256: str
    max_bytes: int


class Request(Record):
    """One call, parsed. kind: structured | script_file | raw_shell. stdin: None is no input given. script: of a
    script_file the program itself, or its interpreter's first argument."""

    id: str
    tool: str
    runtime: str
    pipelines: tuple[Pipeline, ...]
    kind: str = "structured"
    origin: str = "tool"
    script: PinnedFile | None = None
    stdin: bytes | None = None
    rationale: str | None = None


class Fingerprint(Record):
    """Identity of one file at one time; sha256 is over the content, lower-case hex."""

    device: int
    inode: int
    mode: int
    uid: int
    gid: int
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str


class Executable(Record):
    """A resolved program. path: found on the search path, absolute, before links (argv[0]); canonical: after them.

    stable: the file cannot be rewritten by the caller or the command, so its stat key is evidence and the launcher
    runs it by path. Otherwise `content` holds the verified bytes, and exactly those run. interpreters: the `#!` chain.
    """

    requested: str
    path: str
    canonical: str
    trusted: bool
    stable: bool
    fingerprint: Fingerprint
    content: bytes | None = None
    interpreters: tuple[Executable, ...] = ()


class Effect(Record):
    """kind: read | write | network | child_processes | arbitrary_code | privilege_change | unknown; target path or reason."""

    kind: str
    target: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.target}" if self.target else self.kind


class Decision(Record):
    """verdict: allow | ask | deny; reasons are never empty."""

    verdict: str
    reasons: tuple[str, ...]


class Access(Record):
    """What one runtime may touch, in absolute paths; neutral to backends.

    tools: folders and files the command needs to run at all (system, interpreters, toolchains): readable, executable.
    """

    cwd: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    network: bool = False
    home: str = "/"
    private_tmp: bool = True
    proc: bool = True
    dev: str = "minimal"
    limits: Limits = Limits()
    uid: int | None = None
    gid: int | None = None
    required: frozenset[str] = frozenset()  # names of constraints that must be enforced fully


class Stage(Record):
    """One process to start: the absolute path is argv[0]. files: what it reads must be these verified bytes as well."""

    executable: Executable
    arguments: tuple[str, ...]
    cwd: str
    environment: tuple[tuple[str, str], ...]
    files: tuple[Executable, ...] = ()


class Enforcement(Record):
    """How far one constraint holds: fully | partly | not, by which mechanism, and why not more."""

    constraint: str
    level: str
    by: str
    why: str = ""
