"""Inheritance: each `<shell_access>` laid over its parent, down to the defaults. Collections append or replace.

One function per section, RuntimeSpec in, RuntimeSpec out; what the child does not say is the parent's.
"""

from __future__ import annotations

from typing import Any

from ..model import manifest as m
from . import authority
from . import elements as s
from .reader import Problem

Named = dict[str, Any]


class Laying:
    """Lays elements over specs and collects what is wrong."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems

    def over(self, base: m.RuntimeSpec, element: s.ShellAccess) -> m.RuntimeSpec:
        """The child's effective spec; its own id, its own source."""
        spec = base.replace(id=element.id, declared=base.declared | _declared(element))
        if element.cwd is not None:
            spec = spec.replace(cwd=element.cwd)
        if element.pipefail is not None:
            spec = spec.replace(pipefail=element.pipefail)
        for section in element.children:
            spec = _SECTIONS[type(section)](self, spec, section)
        return spec

    def problem(self, element: s.Element, code: str, message: str, remedy: str = "") -> None:
        node = element.node
        self.problems.append(Problem(code="shell." + code, message=message, file=node.file, line=node.line, remedy=remedy))

    # -- sections -------------------------------------------------------------------------------------------------

    def capabilities(self, spec: m.RuntimeSpec, element: s.Capabilities) -> m.RuntimeSpec:
        old = spec.capabilities
        names = ("sandbox", "network", "child_processes", "arbitrary_code", "privilege_change")
        scalars = {name: getattr(element, name) for name in names if getattr(element, name) is not None}
        lists = {
            "read": tuple(self._root(item) for item in element.children if type(item) is s.Read),
            "write": tuple(self._root(item) for item in element.all(s.Write)),
            "protect": tuple(item.path for item in element.all(s.Protect)),
            "hide": tuple(item.path for item in element.all(s.Hide)),
        }
        return spec.replace(capabilities=old.replace(**scalars, **joined(old, lists, element.merge)))

    def _root(self, item: s.Read) -> m.Root:
        if (item.path is None) == (item.path_env is None):
            self.problem(item, "invalid_root", f"`<{item.node.tag}>` needs exactly one of `path` and `path_env`")
        if item.optional and item.path_env is None:
            self.problem(item, "invalid_root", "`optional` is for `path_env` only")
        return m.Root(path=item.path, path_env=item.path_env, optional=item.optional)

    def resolver(self, spec: m.RuntimeSpec, element: s.Resolver) -> m.RuntimeSpec:
        old = spec.resolver
        lists = {
            "search_path": tuple(item.path for item in element.all(s.SearchPath)),
            "trusted_roots": tuple(item.path for item in element.all(s.TrustedRoot)),
        }
        aliases = [
            (item, m.Alias(id=item.id, path=item.path, sha256=item.sha256, trusted=item.trusted))
            for item in element.all(s.Executable)
        ]
        changed = joined(old, lists, element.merge)
        changed["executables"] = self.by_id(old.executables, aliases, element.merge)
        if element.allow_relative_search_path is not None:
            changed["allow_relative_search_path"] = element.allow_relative_search_path
        return spec.replace(resolver=old.replace(**changed))

    def environment(self, spec: m.RuntimeSpec, element: s.Environment) -> m.RuntimeSpec:
        old = spec.environment
        operations = {"operations": tuple(self._operation(item) for item in element.children)}
        changed = joined(old, operations, element.merge)
        if element.inherit is not None:
            changed["inherit"] = element.inherit
        return spec.replace(environment=old.replace(**changed))

    def _operation(self, item: s.Element) -> m.EnvironmentOperation:
        kind = item.node.tag
        values = {name: getattr(item, name) for name in ("name", "value", "required", "secret", "suffix", "position") if hasattr(item, name)}  # fmt: skip
        if isinstance(item, s.PathOperation):
            if (item.prepend is None) == (item.append is None):
                self.problem(item, "invalid_path_operation", "`<path>` needs exactly one of `prepend` and `append`")
            values = {"value": item.prepend or item.append or "", "position": "prepend" if item.prepend else "append"}
        return m.EnvironmentOperation(kind=kind, **values)

    def limits(self, spec: m.RuntimeSpec, element: s.Limits) -> m.RuntimeSpec:
        changed = {name: getattr(element, name) for name in m.Limits._fields if getattr(element, name) is not None}
        if changed.get("wall_time") == "none":
            self.problem(element, "required_limit_disabled", "`wall_time` cannot be switched off")
            del changed["wall_time"]
        cleared = {name: None if value == "none" else value for name, value in changed.items()}
        gone = {f"limits.{name}" for name, value in cleared.items() if value is None}  # cleared, so nothing is asked for
        for name in ("wall_time", "stdout", "stderr", "total_output", "open_files", "processes"):
            if cleared.get(name) == 0:
                self.problem(element, "limit_out_of_range", f"`{name}` must be more than zero")
        return spec.replace(limits=spec.limits.replace(**cleared), declared=spec.declared - gone)

    def backends(self, spec: m.RuntimeSpec, element: s.Backends) -> m.RuntimeSpec:
        old = spec.backends
        changed = joined(old, {"values": tuple(self._backend(item) for item in element.children)}, element.merge)
        ids = [item.id for item in changed.get("values", ()) if item.id is not None]
        for name in sorted({name for name in ids if ids.count(name) > 1}):
            self.problem(element, "duplicate_named_entry", f"two backends have the id `{name}`")
        if element.accept_declared_confinement is not None:
            changed["accept_declared_confinement"] = element.accept_declared_confinement
        return spec.replace(backends=old.replace(**changed))

    def _backend(self, item: Any) -> m.BackendSpec:
        options = {name: getattr(item, name) for name in item.attributes() if name not in ("id", "when")}
        given = tuple((name, value) for name, value in options.items() if value is not None)
        atoms = tuple(
            m.Atom(kind=child.node.tag, text=getattr(child, "value", getattr(child, "flag", ""))) for child in item.children
        )
        if isinstance(item, s.ExternalBackend):
            self._external(item, atoms)
        return m.BackendSpec(kind=item.node.tag, id=item.id, when=item.when, options=given, atoms=atoms)

    def _external(self, item: s.ExternalBackend, atoms: tuple[m.Atom, ...]) -> None:
        if [atom.kind for atom in atoms].count("command_argv") != 1:
            self.problem(item, "external_backend_command_argv", "`<external_backend>` needs `<command_argv/>` exactly once")
        if item.confinement == "verified":
            message = "a wrapper's confinement cannot be verified, only declared"
            self.problem(item, "external_backend_unverifiable", message, 'write confinement="declared"')

    def by_id(self, old: tuple[Any, ...], new: list[tuple[Any, Any]], merge: str) -> tuple[Any, ...]:
        """Entries by id: a second one of the same id is an error unless it says override, which keeps the place."""
        entries = {} if merge == "replace" else {item.id: item for item in old}
        for element, item in new:
            if item.id in entries and not element.override:
                remedy = 'write override="true" to replace it'
                self.problem(element, "duplicate_named_entry", f"the id `{item.id}` is given twice", remedy)
            entries[item.id] = item
        return tuple(entries.values())


_SECTIONS: dict[type[s.Element], Any] = {
    s.Capabilities: Laying.capabilities, s.Resolver: Laying.resolver, s.Environment: Laying.environment,
    s.Limits: Laying.limits, s.Backends: Laying.backends, s.Policy: authority.policy, s.Approvals: authority.approvals,
    s.Reviewers: authority.reviewers, s.Interceptors: authority.interceptors, s.EffectAnalysis: authority.analysis,
    s.Secrets: authority.secrets, s.Audit: authority.audit,
}  # fmt: skip


def joined(old: Any, lists: dict[str, tuple[Any, ...]], merge: str) -> Named:
    return {name: found if merge == "replace" else (*getattr(old, name), *found) for name, found in lists.items()}


def _declared(element: s.ShellAccess) -> frozenset[str]:
    """Dotted names of what the author wrote in this element."""
    found: set[str] = set()
    for section in element.children:
        tag = section.node.tag
        found |= {f"{tag}.{name}" for name in section.node.attributes}
        for child in section.children:
            found.add(f"{tag}.{child.node.tag}")
            found |= {f"{tag}.{child.node.tag}.{name}" for name in child.node.attributes}
    return frozenset(found)
