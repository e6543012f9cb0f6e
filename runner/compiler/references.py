"""What a manifest's parts say of each other: every name is declared, every backend fits, nothing waits for itself."""

from __future__ import annotations

from collections.abc import Iterator

from ..model import extensions as x
from ..model import manifest as m
from . import elements as s
from .check import add, nearest
from .documents import Declared
from .reader import Problem

Specs = dict[str, m.RuntimeSpec]
_KINDS = {"reviewer": "shell_reviewer", "before": "shell_before_interceptor", "after": "shell_after_interceptor",
          "analyzer": "shell_effect_analyzer", "filter": "shell_audit_filter", "matcher": "shell_matcher"}  # fmt: skip


def check_tools(tools: list[m.ToolSpec], elements: list[s.Tool], specs: Specs, problems: list[Problem]) -> None:
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
        if tool.stream == "sanitized":
            _streams(tool, element, specs[tool.runtime], problems)


def _streams(tool: m.ToolSpec, element: s.Tool, spec: m.RuntimeSpec, problems: list[Problem]) -> None:
    """Live output is published before a result exists, so nothing that changes results may stand behind it."""
    after = [item.id for item in spec.interceptors if item.phase == "after"]
    if after:
        message = f"the tool `{tool.name}` streams, and its runtime has the after-interceptor `{after[0]}`"
        add(problems, element.node, "tool_stream_unsupported", message, 'write stream="finalized"')


def check_runtimes(declared: list[Declared], specs: Specs, scripts: dict[str, x.Script], platform: str, problems: list[Problem]) -> None:
    for item in declared:
        spec = specs.get(item.element.id)
        if spec is None:
            continue
        _backends(item.element, spec, platform, problems)
        _scripts(item.element, spec, scripts, problems)
        for place, hook in hooks(spec):
            if hook.runtime not in specs:
                message = f"the {place} of `{spec.id}` works in `{hook.runtime}`, which is not declared"
                add(problems, item.element.node, "unknown_worker_runtime", message, nearest(hook.runtime, list(specs)))
    _acyclic(declared, specs, problems)


def _backends(element: s.ShellAccess, spec: m.RuntimeSpec, platform: str, problems: list[Problem]) -> None:
    """Every sandbox mode has a backend that can serve it on this platform."""
    kept = [item for item in spec.backends.values if item.when in ("any", platform)]
    direct = any(unconfined(item) for item in kept)
    confining = any(not unconfined(item) for item in kept)
    mode = spec.capabilities.sandbox
    fits = {"required": confining, "direct_unsafe": direct, "preferred": confining or direct}[mode]
    if not fits:
        message = f"`{element.id}` declares sandbox=\"{mode}\", and no backend for {platform} serves it"
        add(problems, element.node, "incompatible_backend", message, "declare one in `<backends>`")


def unconfined(item: m.BackendSpec) -> bool:
    return item.kind == "direct" or (item.kind == "external_backend" and dict(item.options).get("confinement") == "none")


def _scripts(element: s.ShellAccess, spec: m.RuntimeSpec, scripts: dict[str, x.Script], problems: list[Problem]) -> None:
    for place, name in script_references(spec):
        found = scripts.get(name)
        if found is None:
            message = f"the {place} of `{spec.id}` names the script `{name}`, which is not declared"
            add(problems, element.node, "unknown_script", message, nearest(name, list(scripts)))
        elif found.kind != _KINDS[place]:
            message = f"the {place} of `{spec.id}` names `{name}`, a script of kind `{found.kind}`"
            add(problems, element.node, "script_kind_mismatch", message, f"it needs one of kind `{_KINDS[place]}`")


def script_references(spec: m.RuntimeSpec) -> Iterator[tuple[str, str]]:
    """(place, script id) of every script that the runtime names."""
    for reviewer in spec.reviewers:
        if reviewer.script is not None:
            yield "reviewer", reviewer.script
    for interceptor in spec.interceptors:
        if interceptor.script is not None:
            yield interceptor.phase, interceptor.script
    for analyzer in spec.effect_analysis:
        if analyzer.script is not None:
            yield "analyzer", analyzer.script
    if spec.audit.filter is not None and spec.audit.filter.script is not None:
        yield "filter", spec.audit.filter.script
    for matcher in matchers(spec):
        if matcher.script is not None:
            yield "matcher", matcher.script


def matchers(spec: m.RuntimeSpec) -> Iterator[x.Matcher]:
    """Every matcher of the runtime, the inner ones too."""
    waiting = [rule.matcher for rule in spec.policy.rules]
    waiting += [item.matcher for item in spec.interceptors if item.matcher is not None]
    while waiting:
        found = waiting.pop()
        yield found
        waiting += found.children


def hooks(spec: m.RuntimeSpec) -> Iterator[tuple[str, x.Hook]]:
    """(place, hook) of every executable extension of the runtime."""
    for reviewer in spec.reviewers:
        if reviewer.hook is not None:
            yield "reviewer", reviewer.hook
    for interceptor in spec.interceptors:
        if interceptor.hook is not None:
            yield "interceptor", interceptor.hook
    for analyzer in spec.effect_analysis:
        if analyzer.hook is not None:
            yield "analyzer", analyzer.hook
    if spec.audit.filter is not None and spec.audit.filter.hook is not None:
        yield "filter", spec.audit.filter.hook


def _acyclic(declared: list[Declared], specs: Specs, problems: list[Problem]) -> None:
    """No runtime's extension works in a runtime whose extensions work in it."""
    edges = {name: list(dict.fromkeys(hook.runtime for _, hook in hooks(spec))) for name, spec in specs.items()}
    told: set[str] = set()
    for item in declared:
        path = _cycle(item.element.id, edges)
        if path and not told & set(path):
            told |= set(path)
            add(problems, item.element.node, "runtime_dependency_cycle", f"worker runtimes wait for each other: {' -> '.join(path)}")


def _cycle(start: str, edges: dict[str, list[str]]) -> list[str]:
    """A path from start back to start, or nothing; without recursion."""
    waiting, seen = [[start]], {start}
    while waiting:
        path = waiting.pop()
        for after in edges.get(path[-1], ()):
            if after == start:
                return [*path, start]
            if after not in seen:
                seen.add(after)
                waiting.append([*path, after])
    return []
