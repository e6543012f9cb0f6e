"""A whole document -> Manifest: collect, inherit, lower, check references, encode. All problems at once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ..model import extensions as x
from ..model import manifest as m
from . import elements as s
from .canonical import build
from .check import add
from .documents import Declared, collect
from .inherit import LEGACY, Inheritance
from .reader import Problem, fail
from .references import check_runtimes, check_tools, script_references
from .scripts import lower_script, with_digest
from .tools import LEGACY_RUNTIME, lower_tool
from .variables import bases_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def platform_word() -> str:
    """`linux`, `macos` or `other`: what `when` is compared with."""
    return {"linux": "linux", "darwin": "macos"}.get(sys.platform, "other")


def compile_document(
    data: bytes, *, file: str, source_dir: str, platform: str | None = None, bases: Mapping[str, str] | None = None
) -> m.Manifest:
    """bases: what path variables stand for, to find script files. Raises DeclarationError with every problem found."""
    problems: list[Problem] = []
    collected = collect(data, file=file, source_dir=source_dir, problems=problems)
    accesses, tools, scripts, moderators = _sorted_out(collected.declarations)
    _unique(accesses, "id", "duplicate_runtime", problems)
    _unique(tools, "name", "duplicate_tool", problems)
    _not_ours(accesses, problems)
    _stop(problems)

    specs = Inheritance(accesses, problems).resolve()
    lowered = [lower_tool(item.element, item.source, problems) for item in tools]
    if any(tool.runtime == LEGACY_RUNTIME for tool in lowered):
        specs[LEGACY_RUNTIME] = LEGACY.replace(source=m.Source(folder=source_dir))
    places = bases or bases_of(os.path.join(source_dir, os.path.basename(file)))
    lowered = [with_digest(tool, item.element, places, problems) for tool, item in zip(lowered, tools, strict=True)]
    declared_scripts = _scripts(scripts, problems)
    chosen = platform or platform_word()
    check_tools(lowered, [item.element for item in tools], specs, problems)
    check_runtimes(accesses, specs, declared_scripts, chosen, problems)
    moderator = _moderator(moderators, specs, problems)
    _stop(problems)

    used = {name for spec in specs.values() for _, name in script_references(spec)}
    used |= {script.id for script in declared_scripts.values() if script.kind == "moderator"}
    return build(
        list(specs.values()), lowered, chosen,
        scripts=[script for name, script in declared_scripts.items() if name in used],
        moderator_runtime=moderator, imports=collected.imports, host_tools=collected.host_tools,
        warnings=tuple(_unused(item, used) for item in scripts if _script_id(item.element) not in used),
    )  # fmt: skip


def _stop(problems: list[Problem]) -> None:
    if problems:
        raise fail(problems)


def _sorted_out(declarations: tuple[Declared, ...]) -> tuple[list[Declared], list[Declared], list[Declared], list[Declared]]:
    def of(kind: type[Any]) -> list[Declared]:
        return [item for item in declarations if isinstance(item.element, kind)]

    return of(s.ShellAccess), of(s.Tool), of(s.Script), of(s.ModeratorRuntime)


def _unique(declared: list[Declared], name: str, code: str, problems: list[Problem]) -> None:
    seen: dict[str, Declared] = {}
    for item in declared:
        value = getattr(item.element, name)
        if value in seen:
            first = seen[value].source
            add(problems, item.element.node, code, f"`{value}` is declared twice, first at `{first.file}:{first.line}`")
        seen.setdefault(value, item)


def _not_ours(declared: list[Declared], problems: list[Problem]) -> None:
    """A runtime of the author's never stands for one of ours: those names would be looked up elsewhere."""
    for item in declared:
        name = item.element.id
        if name == LEGACY_RUNTIME or name.startswith("builtin:"):
            add(problems, item.element.node, "invalid_runtime_id", f"the id `{name}` is reserved", "choose another")


def _script_id(element: s.Script) -> str | None:
    return element.id or ("main" if element.kind == "moderator" else None)


def _scripts(declared: list[Declared], problems: list[Problem]) -> dict[str, x.Script]:
    found: dict[str, x.Script] = {}
    for item in declared:
        script = lower_script(item, problems)
        if script is None:
            continue
        if script.id in found:
            add(problems, item.element.node, "duplicate_script", f"the script `{script.id}` is declared twice")
        if script.kind == "moderator" and any(other.kind == "moderator" for other in found.values()):
            add(problems, item.element.node, "multiple_moderators", "there is more than one moderator script")
        found.setdefault(script.id, script)
    return found


def _unused(item: Declared, used: set[str]) -> str:
    element = item.element
    message = f"nothing refers to the script `{element.id}`; it is no part of the manifest"
    problem = Problem(code="shell.unused_script", message=message, file=element.node.file, line=element.node.line)
    return str(problem).replace(": error[", ": warning[", 1)


def _moderator(declared: list[Declared], specs: dict[str, m.RuntimeSpec], problems: list[Problem]) -> str | None:
    for item in declared[1:]:
        add(problems, item.element.node, "duplicate_section", "a second `<moderator_runtime>`", "keep one")
    if not declared:
        return None
    name: str = declared[0].element.shell_runtime
    if name not in specs:
        add(problems, declared[0].element.node, "unknown_runtime", f"the moderator runs in `{name}`, which is not declared")
    return name
