"""What an author declared about approvals, reviewers, interceptors, analyzers, audit, scripts and wrappers."""

from __future__ import annotations

from .record import Record


class Hook(Record):
    """An executable that speaks `shell-hook-json-v1`, run in the worker runtime. Sizes in bytes, timeout in seconds."""

    executable: str
    runtime: str
    sha256: str | None = None
    protocol: str = "shell-hook-json-v1"
    timeout: float | None = None
    max_input: int = 1 << 20
    max_output: int = 256 << 10


class Approvals(Record):
    """scopes: of once | exact_session | prefix_session | durable_exact, in the author's order."""

    provider: str = "ui"  # ui | none
    unavailable: str = "deny"  # deny | error
    scopes: tuple[str, ...] = ("once", "exact_session")
    durable: bool = False


class Reviewer(Record):
    """kind: ui | script | model | executable; what its kind does not use is None."""

    id: str
    kind: str
    script: str | None = None
    lifecycle: str = "session"
    agent: str | None = None
    model: str | None = None
    hook: Hook | None = None
    failure: str = "deny"


class Interceptor(Record):
    """phase: before | after. Exactly one of script and hook. matcher: before only; None matches every command."""

    id: str
    phase: str
    script: str | None = None
    hook: Hook | None = None
    lifecycle: str = "session"
    failure: str = "deny"
    matcher: Matcher | None = None


class Analyzer(Record):
    id: str
    script: str | None = None
    hook: Hook | None = None
    lifecycle: str = "invocation"
    replaces: bool = False  # what was inferred, instead of adding to it
    failure: str = "unknown"


class AuditFilter(Record):
    script: str | None = None
    hook: Hook | None = None
    lifecycle: str = "session"


class Audit(Record):
    """format: none | stderr | jsonl | session; content: metadata | redacted | full; failure: continue | deny_start | terminate."""

    format: str = "none"
    path: str | None = None
    content: str = "redacted"
    failure: str = "continue"
    filter: AuditFilter | None = None


class Matcher(Record):
    """kind names a row of decision.matchers. value: its argument; values: of argv_prefix, and once live what a
    path stands for; under: of effect; script,
    function, failure: of script_match; children: those of all, any and not."""

    kind: str
    value: str | None = None
    values: tuple[str, ...] = ()
    under: str | None = None
    script: str | None = None
    function: str | None = None
    failure: str | None = None
    children: tuple[Matcher, ...] = ()


class Atom(Record):
    """One piece of an external wrapper's command line; kind: arg | cwd_value | target_executable | command_argv |
    read_roots | write_roots | network_flag | resource_limit_args; text: its value or flag."""

    kind: str
    text: str = ""


class ScriptLimits(Record):
    """Bounds of one call of an extension script: seconds, steps, tasks, bytes, bytes, items, levels."""

    wall_time: float = 2.0
    fuel: int = 100_000
    max_tasks: int = 256
    max_value: int = 256 << 10
    max_output: int = 16 << 10
    max_array_items: int = 256
    max_depth: int = 32


class Script(Record):
    """One `<script>`; text is its whole source, source_sha256 the digest of its UTF-8 bytes."""

    id: str
    kind: str
    language: str
    text: str
    source_sha256: str
    limits: ScriptLimits = ScriptLimits()
