"""A declared runtime on this machine: symbolic paths resolved, environment and secrets read, the ceiling drawn.

One RuntimeSpec in, one frozen Live out; nothing is started here. Where the machine does not have what was declared this
raises ManifestError and names it.
"""

from __future__ import annotations

import os

from . import environment, host, secrets, toolchains
from .compiler.variables import resolve
from .decision import capabilities, matchers
from .enact import CONFINED, ENFORCEABLE, home_of, total_memory
from .errors import ManifestError
from .model.command import Access
from .model.paths import inside
from .model.record import Record
from .planning import limits as limit_table
from .planning.hidden import default_hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .model.manifest import Alias, Limits, Policy, Root, RuntimeSpec

    Place = Callable[[str], str]

_VIEW = ("private_tmp", "proc", "dev")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")  # the sandbox's own, nobody's data


class Live(Record):
    """place: a path expression's absolute form, links not yet resolved. fleeting: whether a policy rule looks at paths, so
    that a verdict may change while command and manifest stay the same."""

    place: Callable[[str], str]
    limits: Limits
    environment: dict[str, str]
    secrets: tuple[str, ...]
    aliases: tuple[Alias, ...]
    search_path: tuple[str, ...]
    trusted: tuple[str, ...]
    policy: Policy
    fleeting: bool
    access: Access
    ceiling: capabilities.Ceiling


def instantiate(spec: RuntimeSpec, bases: Mapping[str, str], environ: Mapping[str, str]) -> Live:
    """bases: what the path variables stand for. environ: the host's variables. Raises ManifestError."""
    known = {**bases, "source_dir": spec.source.folder or bases["source_dir"]}

    def place(expression: str) -> str:
        return resolve(expression, known)

    limit_table.check(spec.limits)
    limits = limit_table.with_defaults(spec.limits, total_memory())
    variables, passed = environment.build(spec.environment, environ, place)
    aliases = tuple(alias.replace(path=place(alias.path)) for alias in spec.resolver.executables)
    search_path = tuple(map(place, spec.resolver.search_path)) or tuple(variables["PATH"].split(":"))
    home = home_of({"HOME": variables.get("HOME") or known["home"]})
    access = _access(spec, limits, home, _tools(search_path, aliases, home), place, environ)
    policy = _policy(spec.policy, place)
    return Live(
        place=place,
        limits=limits,
        environment=_fitted(variables, spec, access),
        secrets=(*passed, *secrets.load(spec.secrets.sources, environ, place)),
        aliases=aliases,
        search_path=search_path,
        trusted=tuple(os.path.realpath(place(path)) for path in spec.resolver.trusted_roots),
        policy=policy,
        fleeting=any(matchers.looks_at_paths(rule.matcher) for rule in policy.rules),
        access=access,
        ceiling=_ceiling(spec, access),
    )


def _tools(search_path: tuple[str, ...], aliases: tuple[Alias, ...], home: str) -> tuple[str, ...]:
    """What programs found there need beside themselves."""
    companions = (place for alias in aliases for place in toolchains.companion(os.path.realpath(alias.path), home))
    return tuple(dict.fromkeys((*toolchains.discover(":".join(search_path), home), *companions)))


def _access(
    spec: RuntimeSpec, limits: Limits, home: str, tools: tuple[str, ...], place: Place, environ: Mapping[str, str]
) -> Access:
    declared = spec.capabilities
    read, write = _roots(declared.read, place, environ), _roots(declared.write, place, environ)
    hidden = tuple(os.path.realpath(place(path)) for path in declared.hide)
    return Access(
        cwd=_cwd(spec, place),
        read=read,
        write=write,
        hide=(*hidden, *default_hidden(home, (*read, *write), tools)),
        protect=tuple(host.canonicalise_pattern(place(path)) for path in declared.protect),
        tools=tools,
        network=declared.network,
        home=home,
        limits=limits,
        required=_required(spec),
    ).replace(**_view_options(spec))


def _roots(roots: tuple[Root, ...], place: Place, environ: Mapping[str, str]) -> tuple[str, ...]:
    found = []
    for root in roots:
        if root.path_env is not None and root.path_env not in environ:
            if root.optional:
                continue
            raise ManifestError(
                f"the environment has no `{root.path_env}`, a declared root", code="shell.capability_path_missing"
            )
        path = environ[root.path_env] if root.path_env is not None else place(root.path or "")
        real = os.path.realpath(path)
        if not os.path.exists(real):
            raise ManifestError(
                f"the root `{path}` does not exist", code="shell.directory_unavailable", remedy="make it, or declare another"
            )
        found.append(real)
    return tuple(dict.fromkeys(found))


def _cwd(spec: RuntimeSpec, place: Place) -> str:
    path = os.path.realpath(place(spec.cwd))
    if not os.path.isdir(path):
        raise ManifestError(f"the working folder `{path}` does not exist", code="shell.directory_unavailable")
    return path


def _required(spec: RuntimeSpec) -> frozenset[str]:
    """Constraints that must hold fully: what the sandbox is, and everything the author asked for by name."""
    if spec.capabilities.sandbox != "required":
        return frozenset()
    names = CONFINED | {name for name in ENFORCEABLE if f"limits.{name}" in spec.declared}
    names |= {name for name in ("protect", "hide") if f"capabilities.{name}" in spec.declared}
    return names | {name for name in _VIEW if f"backends.landlock.{name}" in spec.declared}


def _view_options(spec: RuntimeSpec) -> dict[str, bool]:
    for item in spec.backends.values:
        if item.kind == "landlock":
            options = dict(item.options)
            return {name: bool(options[name]) for name in ("private_tmp", "proc") if name in options}
    return {}


def _fitted(variables: dict[str, str], spec: RuntimeSpec, access: Access) -> dict[str, str]:
    """Inherited folders as they are inside: the home at its real path, no temporary folder of the host's."""
    written = {operation.name for operation in spec.environment.operations if operation.kind == "set"}
    fitted = dict(variables)
    if "HOME" in fitted and "HOME" not in written:
        fitted["HOME"] = access.home
    folder = os.path.realpath(fitted.get("TMPDIR", "/tmp"))
    if "TMPDIR" not in written and not any(inside(folder, root) for root in access.write):
        fitted.pop("TMPDIR", None)
    return fitted


def _policy(policy: Policy, place: Place) -> Policy:
    """The declared rules on this machine, their patterns compiled."""
    return policy.replace(rules=tuple(rule.replace(matcher=matchers.live(rule.matcher, place)) for rule in policy.rules))


def _ceiling(spec: RuntimeSpec, access: Access) -> capabilities.Ceiling:
    declared = spec.capabilities
    return capabilities.Ceiling(
        read=(*access.read, *_DEVICES, *((access.home,) if access.home != "/" else ())),
        write=(*access.write, *_DEVICES),
        hide=access.hide,
        protect=access.protect,
        network=declared.network,
        child_processes=declared.child_processes,
        arbitrary_code=declared.arbitrary_code,
        privilege_change=declared.privilege_change,
    )
