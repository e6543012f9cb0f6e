"""A model's payload for one tool, checked and turned into a Request; what a mode makes of its fields is in modes.py.

Order of the checks is fixed: shape, stdin, rationale, the mode's fields, arguments. Every failure is a RequestError with
a stable code; nothing has been looked up or started by then.
"""

from __future__ import annotations

from ..errors import RequestError
from ..model.command import Pipeline, Request
from ..model.record import Record
from ..output.terminal import clean
from .modes import MODES, Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from ..model.manifest import ToolSpec

FIELDS = ("program", "command", "script", "arguments", "stdin", "rationale")
MAX_ARGUMENT = (128 << 10) - 1  # bytes of one argument, execve(2): MAX_ARG_STRLEN holds the NUL as well
TOTAL_ARGUMENTS = 2 << 20  # bytes of one argument list, as execve(2) bounds it on common systems
MAX_RATIONALE = 4096  # characters


class Parsed(Record):
    """The request, and the secret values that its fixed arguments brought in (to be redacted)."""

    request: Request
    secrets: tuple[str, ...] = ()


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
    mode = MODES[tool.mode]
    lowered = mode.lower(tool, values, Context(environment=environment, resolve_path=resolve_path))
    _total(lowered.pipelines)
    request = Request(
        id=request_id,
        tool=tool.name,
        runtime=tool.runtime,
        kind=mode.kind,
        pipelines=lowered.pipelines,
        script=lowered.script,
        stdin=stdin,
        rationale=rationale,
    )
    return Parsed(request=request, secrets=lowered.secrets)


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
    allowed = (*MODES[tool.mode].fields, "stdin", "rationale")
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
    return clean(text[:MAX_RATIONALE])  # a person may read it at a terminal


def _total(pipelines: tuple[Pipeline, ...]) -> None:
    """Refuse what execve(2) would: of all commands, so that none of a chain has run by then."""
    for command in (command for pipeline in pipelines for command in pipeline.commands):
        words = (command.program, *command.arguments)
        if sum(len(word) * 4 + 9 for word in words) <= MAX_ARGUMENT:
            continue
        sizes = [len(word.encode()) for word in words]
        if max(sizes) > MAX_ARGUMENT:
            message = f"one argument has {max(sizes)} bytes, more than {MAX_ARGUMENT}"
            raise RequestError(message, code="shell.tool_argument_too_large", remedy="give it as `stdin`")
        size = sum(sizes) + 9 * len(sizes)
        if size > TOTAL_ARGUMENTS:
            message = f"the arguments have {size} bytes in all, more than {TOTAL_ARGUMENTS}"
            raise RequestError(message, code="shell.tool_argument_too_large")
