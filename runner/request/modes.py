"""A model's payload for one tool, checked and turned into a Request. One table row per mode.

Order of the checks is fixed: shape, stdin, rationale, the mode's fields, arguments. Every failure is a RequestError with
a stable code; nothing has been looked up or started by then.
"""

from __future__ import annotations

from ..errors import RequestError
from ..model.command import Command, Pipeline, Request
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..model.manifest import ArgumentSource, ToolSpec

FIELDS = ("program", "command", "script", "arguments", "stdin", "rationale")
TOTAL_ARGUMENTS = 2 << 20  # bytes of one argument list, as execve(2) bounds it on common systems
MAX_RATIONALE = 4096


class Parsed(Record):
    """The request, and the secret values that its fixed arguments brought in (to be redacted)."""

    request: Request
    secrets: tuple[str, ...] = ()


class Context(Record):
    """What lowering may ask for: the effective environment, and a path expression's absolute form."""

    environment: Mapping[str, str]
    resolve_path: Callable[[str], str]


def parse_payload(
    tool: ToolSpec,
    payload: object,
    *,
    max_stdin: int,
    request_id: str,
    environment: Mapping[str, str],
    resolve_path: Callable[[str], str],
) -> Parsed:
    """payload: a mapping, or JSON text (str or bytes). Raises RequestError."""
    values = _decode(payload)
    _shape(tool, values)
    stdin = _stdin(tool, values, max_stdin)
    rationale = _rationale(tool, values)
    command, secrets = MODES[tool.mode](tool, values, Context(environment=environment, resolve_path=resolve_path))
    _total(command)
    request = Request(
        id=request_id,
        tool=tool.name,
        runtime=tool.runtime,
        pipelines=(Pipeline(commands=(command,)),),
        stdin=stdin,
        rationale=rationale,
    )
    return Parsed(request=request, secrets=secrets)


# -- shape ------------------------------------------------------------------------------------------------------------


def _decode(payload: object) -> dict[str, Any]:
    if isinstance(payload, str | bytes | bytearray):
        payload = _json(payload)
    if not isinstance(payload, dict) or not all(isinstance(key, str) for key in payload):
        raise RequestError("the input is not a JSON object")
    return payload


def _json(text: str | bytes | bytearray) -> object:
    import json

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise RequestError(f"the key `{_shown(key)}` is given twice", code="shell.tool_duplicate_input")
            found[key] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise RequestError("the input is not JSON", remedy="send one JSON object") from error


def _shown(key: str) -> str:
    """A key of the model's in a message of one short printable line."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in key[:40])


def _shape(tool: ToolSpec, values: dict[str, Any]) -> None:
    allowed = (*_MODE_FIELDS[tool.mode], "stdin", "rationale")
    for key, value in values.items():
        if key not in FIELDS:
            raise RequestError(f"`{_shown(key)}` is no input of this tool", code="shell.tool_unknown_input")
        if key not in allowed:
            raise RequestError(f"`{key}` is not for a {tool.mode} tool", code="shell.tool_field_forbidden")
        _text_values(key, value)


def _text_values(key: str, value: object) -> None:
    if key == "arguments":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise RequestError("`arguments` is not a list of strings")
        items = value
    elif isinstance(value, str):
        items = [value]
    else:
        raise RequestError(f"`{key}` is not a string")
    for item in items:
        if "\0" in item and key != "stdin":
            raise RequestError(f"`{key}` holds a NUL byte")
        try:
            item.encode()
        except UnicodeEncodeError as error:
            raise RequestError(f"`{key}` is not valid text") from error


def _stdin(tool: ToolSpec, values: dict[str, Any], limit: int) -> bytes | None:
    text = values.get("stdin")
    if text is None or (text == "" and tool.stdin != "none"):
        if tool.stdin == "required":
            raise RequestError("`stdin` is required", code="shell.tool_stdin_required")
        return None
    if tool.stdin == "none":
        raise RequestError("this tool takes no `stdin`", code="shell.tool_stdin_forbidden")
    data: bytes = text.encode()
    if len(data) > limit:
        message = f"`stdin` has {len(data)} bytes, more than {limit}"
        raise RequestError(message, code="shell.tool_stdin_too_large")
    return data


def _rationale(tool: ToolSpec, values: dict[str, Any]) -> str | None:
    text: str | None = values.get("rationale")
    if text is not None and tool.rationale == "none":
        raise RequestError("this tool takes no `rationale`", code="shell.tool_rationale_forbidden")
    if text is None or not text.strip():
        if tool.rationale == "required":
            raise RequestError("`rationale` is required", code="shell.tool_rationale_required")
        return None
    return text[:MAX_RATIONALE]


# -- modes ------------------------------------------------------------------------------------------------------------


def _fixed(tool: ToolSpec, values: dict[str, Any], context: Context) -> tuple[Command, tuple[str, ...]]:
    command = tool.command
    program = (command.program or command.executable_ref) if command is not None else None
    if command is None or program is None:
        raise RequestError("the tool names no program", code="shell.tool_missing_program")
    arguments = _arguments(tool, values)
    secrets: list[str] = []
    leading = [_SOURCES[source.kind](source, context, secrets) for source in command.arguments]
    return Command(program=program, arguments=(*leading, *arguments)), tuple(secrets)


def _structured(tool: ToolSpec, values: dict[str, Any], context: Context) -> tuple[Command, tuple[str, ...]]:
    if "program" not in values:
        raise RequestError("`program` is required", code="shell.tool_program_required")
    if "arguments" not in values:
        raise RequestError("`arguments` is required", code="shell.tool_arguments_required")
    if not values["program"]:
        raise RequestError("`program` is empty")
    return Command(program=values["program"], arguments=_arguments(tool, values)), ()


MODES: dict[str, Callable[[ToolSpec, dict[str, Any], Context], tuple[Command, tuple[str, ...]]]] = {
    "fixed": _fixed,
    "structured": _structured,
}
_MODE_FIELDS = {"fixed": ("arguments",), "structured": ("program", "arguments")}


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


def _total(command: Command) -> None:
    if sum(len(item) * 4 + 9 for item in (command.program, *command.arguments)) <= TOTAL_ARGUMENTS:
        return
    size = sum(len(item.encode()) + 9 for item in (command.program, *command.arguments))
    if size > TOTAL_ARGUMENTS:
        message = f"the arguments have {size} bytes in all, more than {TOTAL_ARGUMENTS}"
        raise RequestError(message, code="shell.tool_argument_too_large")


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
