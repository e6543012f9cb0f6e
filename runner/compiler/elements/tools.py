"""`<tool>` in its forms, and the other top-level declarations: `<import>`, `<script>`, `<moderator_runtime>`."""

from __future__ import annotations

from typing import Literal

from ..units import Bytes, Duration, EnvironmentName, Integer, Namespace, Path, Words
from .base import Element, Presence, Text


class SecretArg(Element):
    """A word made of a prefix and a variable of the runtime's environment; the value is redacted everywhere."""

    OPTIONAL_EMPTY = frozenset({"prefix"})
    env: EnvironmentName
    prefix: Text = ""


class PathArg(Element):
    """A path, made absolute. base: a path variable."""

    path: Text
    base: Text | None = None


class CommandElement(Element):
    """The fixed part of a command: exactly one of `program` and `executable_ref`, then words in order."""

    CHILDREN = {"arg": True, "secret_arg": True, "path_arg": True}
    program: Text | None = None
    executable_ref: Text | None = None


class Arguments(Element):
    """Whether, how many and how long arguments the model may give."""

    mode: Presence
    min_count: Integer | None = None
    max_count: Integer | None = None
    max_item_bytes: Integer | None = None


class Tool(Element):
    """One tool that a model may call. Which attributes it takes depends on its mode."""

    CHILDREN = {"command": False, "arguments": False}
    OPTIONAL_EMPTY = frozenset({"description"})
    name: Text
    type: Literal["shell"] | None = None
    mode: Literal["fixed", "structured", "chain", "raw", "script"] | None = None
    runtime: Text | None = None
    description: Text | None = None
    stdin: Presence = "none"
    rationale: Presence | None = None
    result: Literal["combined", "stdout", "structured"] = "combined"
    stream: Literal["finalized", "sanitized"] = "finalized"
    nonzero: Literal["result", "error"] = "result"
    command: Text | None = None
    executable_ref: Text | None = None
    executable: Text | None = None
    arguments_before_script: Words | None = None
    script: Path | None = None
    interpreter: Path | None = None
    fixed_arguments: Words | None = None
    verification: Literal["sha256"] | None = None
    max_source_bytes: Integer | None = None


class Import(Element):
    """Another file's declarations, perhaps under a namespace."""

    src: Text
    namespace: Namespace | None = None


class ModeratorRuntime(Element):
    """The runtime in which the host's moderator runs commands."""

    shell_runtime: Text


class Script(Element):
    """An extension script: `src`, or its source inside."""

    TEXT = True
    language: Literal["starlark", "chatml"]
    kind: Literal[
        "moderator", "shell_matcher", "shell_reviewer", "shell_before_interceptor", "shell_after_interceptor",
        "shell_effect_analyzer", "shell_audit_filter",
    ]  # fmt: skip
    id: Text | None = None
    src: Text | None = None
    wall_time: Duration | None = None
    fuel: Integer | None = None
    max_tasks: Integer | None = None
    max_value: Bytes | None = None
    max_output: Bytes | None = None
    max_array_items: Integer | None = None
    max_depth: Integer | None = None
