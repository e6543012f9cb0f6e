"""What decides about a command: policy and matchers, approvals, reviewers, interceptors, analyzers; secrets and audit."""

from __future__ import annotations

from typing import Literal

from ..units import Boolean, Bytes, Csv, Digest, Duration, EnvironmentName, Path, Scopes
from .base import Action, Element, Failure, Lifecycle, Merge, Text

# -- matchers ---------------------------------------------------------------------------------------------------------


class AnyCommand(Element):
    """Every command."""


class Program(Element):
    """The program as requested, or the resolved file's path, is exactly this; the file is trusted or is that path."""

    value: Text


class Basename(Element):
    """The resolved, trusted file has this name."""

    value: Text


class ResolvedPath(Element):
    """The resolved file, after links, is this one."""

    value: Path


class TrustedExecutable(Element):
    """The resolved file lies below a trusted root and only root can replace it."""


class ProgramRegex(Element):
    """The requested program holds a match of this expression (RE2 syntax, anywhere in it)."""

    value: Text


class ArgvPrefix(Element):
    """The command line begins with these words, the program first."""

    values: Csv


class Argument(Element):
    """Some argument is exactly this."""

    OPTIONAL_EMPTY = frozenset({"value"})
    value: Text


class ArgumentContains(Element):
    """Some argument contains this."""

    OPTIONAL_EMPTY = frozenset({"value"})
    value: Text


class EffectMatcher(Element):
    """Some inferred effect is of this kind; for reads and writes perhaps only below a folder."""

    name: Literal["read", "write", "network", "child_processes", "arbitrary_code", "privilege_change", "unknown"]
    under: Path | None = None


class NoUnknownEffects(Element):
    """Everything that the command does is known."""


class RawShell(Element):
    """The request is raw shell source."""


class ScriptMatch(Element):
    """What a matcher script says."""

    script: Text
    function: Text = "match_command"
    failure: Failure | None = None


class All(Element):
    """Every matcher inside."""


class Any_(Element):
    """At least one matcher inside."""


class Not(Element):
    """Not the matcher inside."""


MATCHERS: dict[str, type[Element]] = {
    "any_command": AnyCommand, "program": Program, "basename": Basename, "resolved_path": ResolvedPath,
    "trusted_executable": TrustedExecutable, "program_regex": ProgramRegex, "argv_prefix": ArgvPrefix,
    "argument": Argument, "argument_contains": ArgumentContains, "effect": EffectMatcher,
    "no_unknown_effects": NoUnknownEffects, "raw_shell": RawShell, "script_match": ScriptMatch,
    "chatml_match": ScriptMatch, "all": All, "any": Any_, "not": Not,
}  # fmt: skip
_MATCHER_CHILDREN = dict.fromkeys(MATCHERS, True)
for _group in (All, Any_, Not):
    _group.CHILDREN = _MATCHER_CHILDREN


# -- policy and approvals ---------------------------------------------------------------------------------------------


class Example(Element):
    """A command line and what the policy must say of it; a wrong one is an error of the document."""

    argv: Text
    action: Action


class Rule(Element):
    """One rule: an action and exactly one matcher. The strictest of the rules that match wins."""

    CHILDREN = {**_MATCHER_CHILDREN, "example": True}
    id: Text
    action: Action
    override: Boolean = False


class Policy(Element):
    """What may run, be asked for, or never runs. `default` holds where no rule matches."""

    CHILDREN = {"rule": True}
    default: Action | None = None
    merge: Merge = "append"


class Approvals(Element):
    """Who is asked where the policy says `ask`, and for how long an answer may hold."""

    provider: Literal["ui", "none"] | None = None
    unavailable: Literal["deny", "error"] | None = None
    scopes: Scopes | None = None
    durable: Boolean | None = None


class HookElement(Element):
    """Attributes of an executable that speaks `shell-hook-json-v1` in a worker runtime."""

    executable: Path | None = None
    sha256: Digest | None = None
    runtime: Text | None = None
    protocol: Literal["shell-hook-json-v1"] = "shell-hook-json-v1"
    timeout: Duration | None = None
    max_input: Bytes | None = None
    max_output: Bytes | None = None


class Reviewer(HookElement):
    """Somebody or something that answers `ask`."""

    id: Text
    kind: Literal["ui", "script", "chatml", "model", "executable"]
    script: Text | None = None
    lifecycle: Lifecycle | None = None
    agent: Text | None = None
    model: Text | None = None
    failure: Failure | None = None


class Reviewers(Element):
    """Reviewers in order; the first answer that is one holds."""

    CHILDREN = {"reviewer": True}
    strategy: Literal["first_terminal"] = "first_terminal"
    merge: Merge = "append"


class Match(Element):
    """Which commands an interceptor sees: exactly one matcher."""

    CHILDREN = _MATCHER_CHILDREN


class Interceptor(HookElement):
    """Looks at each command before it runs, or at its result."""

    CHILDREN = {"match": False}
    id: Text
    phase: Literal["before", "after"]
    script: Text | None = None
    lifecycle: Lifecycle | None = None
    failure: Failure | None = None


class Interceptors(Element):
    """Interceptors in order."""

    CHILDREN = {"interceptor": True}
    merge: Merge = "append"


class Analyzer(HookElement):
    """Adds to, or replaces, the effects that were inferred."""

    id: Text
    kind: Literal["script", "chatml", "executable"] = "script"
    script: Text | None = None
    lifecycle: Lifecycle | None = None
    replace: Boolean = False
    failure: Failure | None = None


class EffectAnalysis(Element):
    """Analyzers in order."""

    CHILDREN = {"analyzer": True}
    merge: Merge = "append"


# -- secrets and audit ------------------------------------------------------------------------------------------------


class FromEnv(Element):
    """A secret value in a variable of the host."""

    name: EnvironmentName
    optional: Boolean = False


class FromFile(Element):
    """A secret value in a file."""

    path: Path
    optional: Boolean = False
    strip: Boolean = True


class Literal_(Element):
    """A secret value, written here. It never enters the manifest."""

    value: Text


class Secrets(Element):
    """Values that are replaced wherever output shows them."""

    CHILDREN = {"from_env": True, "from_file": True, "literal": True}
    OPTIONAL_EMPTY = frozenset({"replacement"})
    replacement: Text | None = None
    merge: Merge = "append"


class Filter(HookElement):
    """Drops or replaces fields of audit events."""

    script: Text | None = None
    lifecycle: Lifecycle | None = None


class Audit(Element):
    """Where the evidence goes, how much of it, and what a failure to write it means."""

    CHILDREN = {"filter": False}
    format: Literal["none", "stderr", "jsonl", "session"]
    path: Path | None = None
    content: Literal["metadata", "redacted", "full"] = "redacted"
    failure: Literal["continue", "deny_start", "terminate"] = "continue"
