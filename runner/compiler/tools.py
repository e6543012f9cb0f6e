"""`<tool>` in its forms -> ToolSpec. Compact command strings are parsed here, at compile time."""

from __future__ import annotations

from collections.abc import Callable

from ..grammar import GrammarError, parse_single
from ..model import manifest as m
from . import elements as s
from .reader import Problem
from .variables import VARIABLES, symbolic

LEGACY_RUNTIME = "legacy:custom"


_MODES: dict[str, tuple[str, ...]] = {  # attributes that only these modes take
    "fixed": ("command", "executable_ref"),
    "structured": (),
    "chain": (),
    "raw": ("executable", "arguments_before_script"),
    "script": ("script", "interpreter", "executable", "fixed_arguments", "verification", "max_source_bytes"),
}
_OF_A_MODE = frozenset(name for names in _MODES.values() for name in names)
Report = Callable[..., None]


def lower_tool(element: s.Tool, source: m.Source, problems: list[Problem]) -> m.ToolSpec:
    """The tool, every default explicit. A legacy one (no runtime, no type) goes to the synthetic runtime."""

    def problem(code: str, message: str, remedy: str = "") -> None:
        node = element.node
        problems.append(Problem(code="shell." + code, message=message, file=node.file, line=node.line, remedy=remedy))

    legacy = element.runtime is None and element.type is None and element.mode is None and element.command is not None
    if element.runtime is None and not legacy:
        problem("tool_missing_attribute", f"the tool `{element.name}` names no `runtime`")
    mode = element.mode or "fixed"
    if element.type is not None and element.mode is None:
        problem("tool_missing_attribute", f"the tool `{element.name}` names no `mode`", "in the long form it is required")
    _only_of(mode, element, problem)
    return m.ToolSpec(
        name=element.name,
        runtime=LEGACY_RUNTIME if legacy else element.runtime or "",
        mode=mode,
        description=element.description,
        stdin=element.stdin,
        rationale=element.rationale or ("none" if mode == "fixed" else "optional"),
        result=element.result,
        stream=element.stream,
        nonzero=element.nonzero,
        command=_command(element, problem) if mode == "fixed" else None,
        shell=_shell(element, problem) if mode == "raw" else None,
        script=_script(element, problem) if mode == "script" else None,
        arguments=_bounds(element.one(s.Arguments), problem),
        source=source,
    )


def _only_of(mode: str, element: s.Tool, problem: Report) -> None:
    for name in sorted(_OF_A_MODE - set(_MODES[mode])):
        if getattr(element, name) is not None:
            owners = " and ".join(owner for owner, names in _MODES.items() if name in names)
            problem("tool_mode_attribute", f"`{name}` is for {owners} tools, `{element.name}` is {mode}")
    for child in element.children if mode != "fixed" else ():
        problem("tool_mode_child", f"`<{child.node.tag}>` is for fixed tools, `{element.name}` is {mode}")


def _shell(element: s.Tool, problem: Report) -> m.ShellSource | None:
    if element.executable is None:
        problem("tool_missing_attribute", f"the raw tool `{element.name}` names no `executable`", "name the shell, as in `/bin/sh`")
        return None
    path = _path("executable", element.executable, problem)
    before = element.arguments_before_script
    return m.ShellSource(executable=path, arguments_before_script=("-c",) if before is None else before)


def _script(element: s.Tool, problem: Report) -> m.ScriptFile | None:
    if element.script is None:
        problem("tool_missing_attribute", f"the script tool `{element.name}` names no `script`")
        return None
    if element.executable not in (None, "true", "false"):
        problem("tool_invalid_attribute", f"`executable` of a script tool is `true` or `false`, not `{element.executable}`")
    if element.interpreter is not None and element.executable == "true":
        problem("tool_conflicting_script", f"the tool `{element.name}` has an interpreter and is run itself", "say one of the two")
    if element.interpreter is None and element.executable == "false":
        problem("script_not_executable", f"the tool `{element.name}` has no interpreter and is not to be run itself", "name one")
    if element.max_source_bytes == 0:
        problem("tool_invalid_attribute", "`max_source_bytes` must be more than zero")
    return m.ScriptFile(
        path=element.script,
        interpreter=element.interpreter,
        fixed_arguments=element.fixed_arguments or (),
        max_source_bytes=element.max_source_bytes or 1 << 20,
    )


def _path(name: str, text: str, problem: Report) -> str:
    try:
        return symbolic(text)
    except ValueError as error:
        problem("tool_invalid_path", f"`{name}`: {error}")
        return text


def _command(element: s.Tool, problem: Report) -> m.FixedCommand | None:
    child = element.one(s.CommandElement)
    sources = [item for item in (child, element.command, element.executable_ref) if item is not None]
    if len(sources) > 1:
        problem("tool_conflicting_command", f"the tool `{element.name}` names its command more than once")
        return None
    if not sources:
        problem("tool_missing_command", f"the tool `{element.name}` names no command")
        return None
    if child is not None:
        return _child_command(child, problem)
    if element.executable_ref is not None:
        return m.FixedCommand(executable_ref=element.executable_ref)
    try:
        command = parse_single(element.command or "")
    except GrammarError as error:
        message = f"`command` of `{element.name}` at byte {error.offset}: {error}"
        problem("tool_invalid_fixed_command", message, error.remedy or "use the child form for literal arguments")
        return None
    return m.FixedCommand(
        program=command.program, arguments=tuple(m.ArgumentSource(kind="literal", value=word) for word in command.arguments)
    )


def _child_command(child: s.CommandElement, problem: Report) -> m.FixedCommand:
    if child.program is not None and child.executable_ref is not None:
        problem("tool_conflicting_command", "`<command>` takes one of `program` and `executable_ref`")
    elif child.program is None and child.executable_ref is None:
        problem("tool_missing_command", "`<command>` needs `program` or `executable_ref`")
    return m.FixedCommand(
        program=child.program,
        executable_ref=child.executable_ref,
        arguments=tuple(_source(item, problem) for item in child.children),
    )


def _source(item: object, problem: Report) -> m.ArgumentSource:
    if isinstance(item, s.Arg):
        return m.ArgumentSource(kind="literal", value=item.value)
    if isinstance(item, s.SecretArg):
        return m.ArgumentSource(kind="secret", env=item.env, prefix=item.prefix)
    assert isinstance(item, s.PathArg)
    if item.base is not None and item.base not in VARIABLES:
        problem("tool_invalid_path", f"`base` of `<path_arg>` is `{item.base}`, no path variable")
    elif item.base is None:
        try:
            return m.ArgumentSource(kind="path", path=symbolic(item.path))
        except ValueError as error:
            problem("tool_invalid_path", f"`path` of `<path_arg>`: {error}")
    return m.ArgumentSource(kind="path", base=item.base, path=item.path)


def _bounds(element: s.Arguments | None, problem: Report) -> m.ArgumentBounds:
    if element is None:
        return m.ArgumentBounds()
    names = ("min_count", "max_count", "max_item_bytes")
    given = {name: getattr(element, name) for name in names if getattr(element, name) is not None}
    bounds = m.ArgumentBounds(mode=element.mode, **given)
    if bounds.max_count is not None and bounds.min_count > bounds.max_count:
        problem("invalid_argument_bounds", f"`min_count` {bounds.min_count} is more than `max_count` {bounds.max_count}")
    return bounds
