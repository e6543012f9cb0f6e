"""Tool modes: how the fields a model gave become pipelines of literal words. One table row per mode."""

from __future__ import annotations

from ..errors import RequestError
from ..grammar import GrammarError, parse
from ..model.command import Command, PinnedFile, Pipeline
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..model.manifest import ArgumentSource, ToolSpec


class Context(Record):
    """What lowering may ask for: the effective environment, and a path expression's absolute form."""

    environment: Mapping[str, str]
    resolve_path: Callable[[str], str]


class Lowered(Record):
    """secrets: values that fixed arguments brought in, to be redacted. script: the file that must be as declared."""

    pipelines: tuple[Pipeline, ...]
    secrets: tuple[str, ...] = ()
    script: PinnedFile | None = None


# -- one function a mode ----------------------------------------------------------------------------------------------


def _fixed(tool: ToolSpec, values: dict[str, Any], context: Context) -> Lowered:
    command = tool.command
    program = (command.program or command.executable_ref) if command is not None else None
    if command is None or program is None:
        raise RequestError("the tool names no program", code="shell.tool_missing_program")
    arguments = _arguments(tool, values)
    secrets: list[str] = []
    leading = [_SOURCES[source.kind](source, context, secrets) for source in command.arguments]
    return _single(program, *leading, *arguments).replace(secrets=tuple(secrets))


def _structured(tool: ToolSpec, values: dict[str, Any], context: Context) -> Lowered:
    if "program" not in values:
        raise RequestError("`program` is required", code="shell.tool_program_required")
    if "arguments" not in values:
        raise RequestError("`arguments` is required", code="shell.tool_arguments_required")
    if not values["program"]:
        raise RequestError("`program` is empty")
    return _single(values["program"], *_arguments(tool, values))


def _chain(tool: ToolSpec, values: dict[str, Any], context: Context) -> Lowered:
    if "command" not in values:
        raise RequestError("`command` is required", code="shell.tool_command_required")
    try:
        return Lowered(pipelines=parse(values["command"]))
    except GrammarError as error:
        message = f"`command` at byte {error.offset}: {error}"
        raise RequestError(message, code="shell.tool_chain_parse", remedy=error.remedy) from error


def _raw(tool: ToolSpec, values: dict[str, Any], context: Context) -> Lowered:
    shell = tool.shell
    assert shell is not None
    if "script" not in values:
        raise RequestError("`script` is required", code="shell.tool_script_required")
    return _single(context.resolve_path(shell.executable), *shell.arguments_before_script, values["script"])


def _script(tool: ToolSpec, values: dict[str, Any], context: Context) -> Lowered:
    """`interpreter script fixed… arguments…`, or the script itself in the first place."""
    file = tool.script
    assert file is not None
    path = context.resolve_path(file.path)
    before = () if file.interpreter is None else (context.resolve_path(file.interpreter),)
    lowered = _single(*before, path, *file.fixed_arguments, *_arguments(tool, values))
    return lowered.replace(script=PinnedFile(path=path, sha256=file.sha256, max_bytes=file.max_source_bytes))


def _single(program: str, *arguments: str) -> Lowered:
    return Lowered(pipelines=(Pipeline(commands=(Command(program=program, arguments=arguments),)),))


class Mode(Record):
    """fields: what a model gives beside stdin and rationale; kind: of the request; lower: fields -> pipelines."""

    fields: tuple[str, ...]
    lower: Callable[[ToolSpec, dict[str, Any], Context], Lowered]
    kind: str = "structured"


MODES = {
    "fixed": Mode(fields=("arguments",), lower=_fixed),
    "structured": Mode(fields=("program", "arguments"), lower=_structured),
    "chain": Mode(fields=("command",), lower=_chain),
    "raw": Mode(fields=("script",), lower=_raw, kind="raw_shell"),
    "script": Mode(fields=("arguments",), lower=_script, kind="script_file"),
}


# -- arguments --------------------------------------------------------------------------------------------------------


def _arguments(tool: ToolSpec, values: dict[str, Any]) -> tuple[str, ...]:
    bounds = tool.arguments
    items = values.get("arguments")
    if items is not None and bounds.mode == "none":
        raise RequestError("this tool takes no `arguments`", code="shell.tool_arguments_forbidden")
    items = items or []
    least = max(bounds.min_count, 1 if bounds.mode == "required" else 0)
    if len(items) < least:
        message = f"{len(items)} arguments, fewer than {least}"
        raise RequestError(message, code="shell.tool_too_few_arguments")
    if bounds.max_count is not None and len(items) > bounds.max_count:
        message = f"{len(items)} arguments, more than {bounds.max_count}"
        raise RequestError(message, code="shell.tool_too_many_arguments")
    for place, item in enumerate(items):
        if len(item) * 4 > bounds.max_item_bytes and len(item.encode()) > bounds.max_item_bytes:
            message = f"argument {place} has {len(item.encode())} bytes, more than {bounds.max_item_bytes}"
            raise RequestError(message, code="shell.tool_argument_too_large")
    return tuple(items)


def _literal(source: ArgumentSource, context: Context, secrets: list[str]) -> str:
    return source.value


def _secret(source: ArgumentSource, context: Context, secrets: list[str]) -> str:
    value = context.environment.get(source.env)
    if value is None:
        message = f"the runtime's environment has no `{source.env}`"
        raise RequestError(message, code="shell.tool_secret_missing", remedy="declare `<pass>` for it")
    secrets.append(value)
    return source.prefix + value


def _path(source: ArgumentSource, context: Context, secrets: list[str]) -> str:
    text = f"${{{source.base}}}/{source.path}" if source.base else source.path
    return context.resolve_path(text)


_SOURCES: dict[str, Callable[[ArgumentSource, Context, list[str]], str]] = {
    "literal": _literal,
    "secret": _secret,
    "path": _path,
}
