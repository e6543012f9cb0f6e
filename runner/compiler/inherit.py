"""Each runtime over its parent, the chain ending in a built-in profile or in the defaults."""

from __future__ import annotations

from ..model import manifest as m
from ..share import profile_path
from . import elements as s
from .check import add, nearest, read
from .documents import Declared
from .merge import Laying
from .reader import Problem, parse, read_bytes
from .tools import LEGACY_RUNTIME

PROFILES = ("workspace-readonly@1", "workspace-development@1", "hook-worker@1", "yolo@1")
BUILTIN = {f"builtin:{name}": name for name in PROFILES} | {f"builtin:{name.split('@')[0]}": name for name in PROFILES}
MAX_CHAIN = 128
DEFAULTS = m.RuntimeSpec(
    id="",
    backends=m.Backends(
        values=(
            m.BackendSpec(kind="landlock", id="builtin-landlock", when="linux"),
            m.BackendSpec(kind="seatbelt", id="builtin-seatbelt", when="macos"),
        )
    ),
)
LEGACY = DEFAULTS.replace(
    id=LEGACY_RUNTIME,
    capabilities=m.Capabilities(
        sandbox="direct_unsafe", network=True, child_processes=True, arbitrary_code=True, privilege_change=True,
        read=(m.Root(path="/"),), write=(m.Root(path="/"),),
    ),
    backends=m.Backends(values=(m.BackendSpec(kind="direct", id="legacy-direct"),)),
)  # fmt: skip


class Inheritance:
    """Effective specs by id, in the order of the declarations."""

    def __init__(self, declared: list[Declared], problems: list[Problem]) -> None:
        self.declared = {item.element.id: item for item in declared}
        self.problems = problems
        self.laying = Laying(problems)
        self.done: dict[str, m.RuntimeSpec] = {}

    def resolve(self) -> dict[str, m.RuntimeSpec]:
        for name in self.declared:
            self._spec(name, [])
        return {name: self.done[name] for name in self.declared if name in self.done}

    def _spec(self, name: str, chain: list[str]) -> m.RuntimeSpec:
        if name in self.done:
            return self.done[name]
        item = self.declared[name]
        if name in chain:
            path = " -> ".join([*chain[chain.index(name) :], name])
            add(self.problems, item.element.node, "inheritance_cycle", f"runtimes extend each other: {path}")
            return DEFAULTS
        if len(chain) >= MAX_CHAIN:
            add(self.problems, item.element.node, "inheritance_depth", f"more than {MAX_CHAIN} runtimes extend each other")
            return DEFAULTS
        base = self._parent(item.element, [*chain, name])
        self.done[name] = self.laying.over(base, item.element).replace(source=item.source)
        return self.done[name]

    def _parent(self, element: s.ShellAccess, chain: list[str]) -> m.RuntimeSpec:
        parent = element.extends
        if parent is None:
            return DEFAULTS
        if parent.startswith("builtin:"):
            return self._builtin(element, parent)
        if parent not in self.declared:
            remedy = nearest(parent, [*self.declared, *BUILTIN])
            message = f"`{element.id}` extends `{parent}`, which is not declared"
            add(self.problems, element.node, "unknown_runtime", message, remedy)
            return DEFAULTS
        return self._spec(parent, chain)

    def _builtin(self, element: s.ShellAccess, name: str) -> m.RuntimeSpec:
        if name not in BUILTIN:
            message = f"`{name}` is no built-in profile"
            add(self.problems, element.node, "unknown_builtin_profile", message, nearest(name, list(BUILTIN)))
            return DEFAULTS
        concrete = BUILTIN[name]
        return profile(concrete).replace(requested_profile=name, resolved_profile=f"builtin:{concrete}", declared=frozenset())


def profile(name: str) -> m.RuntimeSpec:
    """A built-in profile, written in the language itself; read once."""
    if name not in _profiles:
        path = profile_path("runtimes", f"{name}.xml")
        problems: list[Problem] = []
        (node,) = parse(read_bytes(path), path)
        element = read(node, problems)
        assert isinstance(element, s.ShellAccess), problems
        spec = Laying(problems).over(DEFAULTS, element)
        assert not problems, problems
        _profiles[name] = spec
    return _profiles[name]


_profiles: dict[str, m.RuntimeSpec] = {}
