"""A whole document -> Manifest: read, inherit, lower, check references, encode. All problems at once."""

from __future__ import annotations

import sys

from ..model import manifest as m
from ..share import profile_path
from . import schema as s
from .canonical import build
from .check import add, nearest, read
from .merge import Laying
from .reader import Problem, fail, parse, read_bytes
from .tools import LEGACY_RUNTIME, lower_tool

BUILTIN = {"builtin:workspace-readonly": "workspace-readonly@1"}
LATER_PROFILES = ("workspace-development", "hook-worker", "yolo")  # of the language, not delivered yet
DEFAULTS = m.RuntimeSpec(
    id="",
    backends=m.Backends(
        values=(
            m.BackendSpec(kind="landlock", id="builtin-landlock", when="linux"),
            m.BackendSpec(kind="seatbelt", id="builtin-seatbelt", when="macos"),
        )
    ),
)
_LEGACY = DEFAULTS.replace(
    id=LEGACY_RUNTIME,
    capabilities=m.Capabilities(
        sandbox="direct_unsafe", network=True, child_processes=True, arbitrary_code=True, privilege_change=True,
        read=(m.Root(path="/"),), write=(m.Root(path="/"),),
    ),
    backends=m.Backends(values=(m.BackendSpec(kind="direct", id="legacy-direct"),)),
)  # fmt: skip


def platform_word() -> str:
    """`linux`, `macos` or `other`: what `when` is compared with."""
    return {"linux": "linux", "darwin": "macos"}.get(sys.platform, "other")


def compile_document(data: bytes, *, file: str, source_dir: str, platform: str | None = None) -> m.Manifest:
    """Raises DeclarationError with every problem found."""
    problems: list[Problem] = []
    elements = [read(node, problems) for node in parse(data, file)]
    accesses = [item for item in elements if isinstance(item, s.ShellAccess)]
    declared_tools = [item for item in elements if isinstance(item, s.Tool)]
    _unique(accesses, "id", "duplicate_runtime", problems)
    _unique(declared_tools, "name", "duplicate_tool", problems)
    _not_ours(accesses, problems)
    if problems:
        raise fail(problems)
    specs = _Inheritance(accesses, source_dir, problems).resolve()
    tools = [lower_tool(item, problems) for item in declared_tools]
    if any(tool.runtime == LEGACY_RUNTIME for tool in tools):
        specs[LEGACY_RUNTIME] = _LEGACY.replace(source_dir=source_dir)
    chosen = platform or platform_word()
    _references(tools, declared_tools, specs, problems)
    _compatible(accesses, specs, chosen, problems)
    if problems:
        raise fail(problems)
    return build(list(specs.values()), tools, chosen)


def _unique(elements: list[s.ShellAccess] | list[s.Tool], name: str, code: str, problems: list[Problem]) -> None:
    seen: set[str] = set()
    for element in elements:
        value = getattr(element, name)
        if value in seen:
            add(problems, element.node, code, f"`{value}` is declared twice")
        seen.add(value)


def _not_ours(elements: list[s.ShellAccess], problems: list[Problem]) -> None:
    """A runtime of the author's never stands for one of ours: those names would be looked up elsewhere."""
    for element in elements:
        if element.id == LEGACY_RUNTIME or element.id.startswith("builtin:"):
            add(problems, element.node, "invalid_runtime_id", f"the id `{element.id}` is reserved", "choose another")


class _Inheritance:
    """Each runtime over its parent, the chain ending in a built-in profile or the defaults."""

    def __init__(self, elements: list[s.ShellAccess], source_dir: str, problems: list[Problem]) -> None:
        self.elements = {element.id: element for element in elements}
        self.source_dir, self.problems = source_dir, problems
        self.laying = Laying(problems)
        self.done: dict[str, m.RuntimeSpec] = {}

    def resolve(self) -> dict[str, m.RuntimeSpec]:
        for name in self.elements:
            self._spec(name, [])
        return self.done

    def _spec(self, name: str, chain: list[str]) -> m.RuntimeSpec:
        if name in self.done:
            return self.done[name]
        element = self.elements[name]
        if name in chain:
            path = " -> ".join([*chain[chain.index(name) :], name])
            add(self.problems, element.node, "inheritance_cycle", f"runtimes extend each other: {path}")
            return DEFAULTS
        base = self._parent(element, [*chain, name])
        spec = self.laying.over(base, element).replace(source_dir=self.source_dir)
        self.done[name] = spec
        return spec

    def _parent(self, element: s.ShellAccess, chain: list[str]) -> m.RuntimeSpec:
        parent = element.extends
        if parent is None:
            return DEFAULTS
        if parent.startswith("builtin:"):
            return self._builtin(element, parent)
        if parent not in self.elements:
            remedy = nearest(parent, [*self.elements, *BUILTIN])
            message = f"`{element.id}` extends `{parent}`, which is not declared"
            add(self.problems, element.node, "unknown_runtime", message, remedy)
            return DEFAULTS
        return self._spec(parent, chain)

    def _builtin(self, element: s.ShellAccess, name: str) -> m.RuntimeSpec:
        concrete = BUILTIN.get(name) or next((item for item in BUILTIN.values() if name == f"builtin:{item}"), None)
        if name.removeprefix("builtin:").removesuffix("@1") in LATER_PROFILES:
            add(self.problems, element.node, "unsupported_feature", f"the profile `{name}` is not delivered yet")
            return DEFAULTS
        if concrete is None:
            remedy = nearest(name, [*BUILTIN, *(f"builtin:{item}" for item in BUILTIN.values())])
            add(self.problems, element.node, "unknown_builtin_profile", f"`{name}` is no built-in profile", remedy)
            return DEFAULTS
        spec = _profile(concrete)
        return spec.replace(requested_profile=name, resolved_profile=f"builtin:{concrete}", declared=frozenset())


def _profile(name: str) -> m.RuntimeSpec:
    """A built-in profile, written in the language itself."""
    path = profile_path("runtimes", f"{name}.xml")
    problems: list[Problem] = []
    (node,) = parse(read_bytes(path), path)
    element = read(node, problems)
    assert isinstance(element, s.ShellAccess) and not problems, problems
    return Laying(problems).over(DEFAULTS, element)


def _references(
    tools: list[m.ToolSpec], elements: list[s.Tool], specs: dict[str, m.RuntimeSpec], problems: list[Problem]
) -> None:
    for tool, element in zip(tools, elements, strict=True):
        if tool.runtime not in specs:
            if tool.runtime:
                message = f"the tool `{tool.name}` runs in `{tool.runtime}`, which is not declared"
                add(problems, element.node, "unknown_runtime", message, nearest(tool.runtime, list(specs)))
            continue
        reference = tool.command.executable_ref if tool.command is not None else None
        known = [alias.id for alias in specs[tool.runtime].resolver.executables]
        if reference is not None and reference not in known:
            message = f"the tool `{tool.name}` runs `{reference}`, no executable of `{tool.runtime}`"
            add(problems, element.node, "unknown_executable", message, nearest(reference, known))


def _compatible(
    elements: list[s.ShellAccess], specs: dict[str, m.RuntimeSpec], platform: str, problems: list[Problem]
) -> None:
    """Every sandbox mode has a backend that can serve it on this platform."""
    for element in elements:
        spec = specs[element.id]
        kinds = [item.kind for item in spec.backends.values if item.when in ("any", platform)]
        direct = "direct" in kinds
        confining = any(kind != "direct" for kind in kinds)
        mode = spec.capabilities.sandbox
        fits = {"required": confining, "direct_unsafe": direct, "preferred": confining or direct}[mode]
        if not fits:
            message = f"`{element.id}` declares sandbox=\"{mode}\", and no backend for {platform} serves it"
            add(problems, element.node, "incompatible_backend", message, "declare one in `<backends>`")
