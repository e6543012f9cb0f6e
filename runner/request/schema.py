"""What a model is told about a tool: its input schema and its description. Neither grants anything."""

from __future__ import annotations

from .modes import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.manifest import ToolSpec

_STRING: dict[str, Any] = {"type": "string"}
_STRINGS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def input_schema(tool: ToolSpec) -> dict[str, Any]:
    """The closed JSON schema of the payload; properties in a fixed order."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name in MODES[tool.mode].fields:
        if name == "arguments" and tool.mode == "fixed" and tool.arguments.mode == "none":
            continue
        properties[name] = _STRINGS if name == "arguments" else _STRING
        if name != "arguments" or tool.mode == "structured" or (tool.mode == "fixed" and tool.arguments.mode == "required"):
            required.append(name)
    for name, mode in (("stdin", tool.stdin), ("rationale", tool.rationale)):
        if mode != "none":
            properties[name] = _STRING
            if mode == "required":
                required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def description(tool: ToolSpec) -> str:
    """Built-in guidance, then the declaration's own words."""
    parts = (_mode(tool), _stdin(tool), _rationale(tool), _result(tool), _stream(tool), _GOVERNANCE)
    text = " ".join(part for part in parts if part)
    own = (tool.description or "").strip()
    return f"{text}\n\nAdditional tool guidance: {own}" if own else text


_GOVERNANCE = (
    "Every call is subject to the runtime's policy, approvals, sandbox, limits, interceptors, output sanitisation, secret "
    "redaction and audit, whatever this description says."
)


_MODE_TEXTS = {
    "structured": (
        "Runs one executable: name it in `program` and give its `arguments` as a list of strings. They are passed "
        "literally; no shell reads them, so operators, variables and globs have no meaning."
    ),
    "chain": (
        "Runs the commands written in `command`: pipelines (`|`), sequences (`;` or a new line) and conditions (`&&`, `||`). "
        "It is parsed, not given to a shell: quote as in a POSIX shell, but no variable, glob, redirection, group or "
        "background job exists, and each of them is an error that says what to write instead."
    ),
    "raw": "Runs `script`, source text for the shell that the author configured; everything that shell knows works.",
}


def _mode(tool: ToolSpec) -> str:
    if tool.mode in _MODE_TEXTS:
        return _MODE_TEXTS[tool.mode]
    if tool.script is not None:
        file = tool.script.path.rpartition("/")[2]
        return (
            f"Runs the script `{file}`, whose content is verified before every call. You may give `arguments`, a list of "
            "strings; each is one argument as it stands."
        )
    command = tool.command
    name = (command.program or command.executable_ref) if command is not None else None
    leading = [source.value for source in command.arguments if source.kind == "literal"] if command is not None else []
    text = f"Runs the fixed command `{' '.join([str(name), *leading])}`."
    if tool.arguments.mode == "none":
        return f"{text} It takes no arguments from you."
    need = "Give at least one" if tool.arguments.mode == "required" else "You may give"
    return f"{text} {need} literal argument in `arguments`; each is one argument as it stands, and no shell reads it."


def _stdin(tool: ToolSpec) -> str:
    if tool.stdin == "none":
        return ""
    need = "Required" if tool.stdin == "required" else "Optional"
    return f"{need}: `stdin`, text for the command's standard input."


def _rationale(tool: ToolSpec) -> str:
    if tool.rationale == "none":
        return ""
    need = "Required" if tool.rationale == "required" else "Optional"
    return f"{need}: `rationale`, why this call is made; a reviewer may read it."


def _result(tool: ToolSpec) -> str:
    form = {
        "combined": "Returns standard output followed by standard error.",
        "stdout": "Returns standard output alone.",
        "structured": "Returns a JSON object with the status, both outputs and what was truncated.",
    }[tool.result]
    if tool.nonzero == "error":
        return f"{form} A command that does not exit with 0 is reported as an error with its result attached."
    return f"{form} A command that does not exit with 0 is a normal result."


def _stream(tool: ToolSpec) -> str:
    if tool.stream != "sanitized":
        return ""
    return "Bounded progress is shown while it runs; it lags a little and may differ from the result."
