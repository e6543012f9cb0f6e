"""The canonical manifest: RFC 8785 bytes and their SHA-256. What it holds is what can be authorised.

Independent of the order of runtimes, tools and scripts and of where the checkout lies (paths stay symbolic, files are
named relative to the document); a literal secret is a marker; everything that changes what a command may do changes the
digest: imported files and scripts are inside by theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from ..model.extensions import Script
from ..model.manifest import ImportedFile, Manifest, RuntimeSpec, ToolSpec
from .references import hooks, matchers, script_references

VERSION = "fumehood.manifest.v1"
SURFACE = "fumehood.script.surface.v1"
_LITERAL = "[literal secret]"


def build(
    runtimes: list[RuntimeSpec],
    tools: list[ToolSpec],
    platform: str,
    *,
    scripts: list[Script],
    moderator_runtime: str | None,
    imports: tuple[ImportedFile, ...],
    host_tools: tuple[str, ...],
    warnings: tuple[str, ...],
) -> Manifest:
    """The Manifest record with its bytes and digest."""
    import rfc8785

    features = tuple(sorted(_features(runtimes, tools, platform)))
    document = {
        "encoding_version": VERSION,
        "platform": platform,
        "runtimes": [_runtime(item) for item in sorted(runtimes, key=lambda item: item.id)],
        "tools": [_tool(item) for item in sorted(tools, key=lambda item: item.name)],
        "moderator_runtime": moderator_runtime,
        "extension_scripts": [_script(item) for item in sorted(scripts, key=lambda item: item.id)],
        "imports": sorted({(item.file, item.sha256, item.namespace or "") for item in imports}),
        "dependencies": sorted(set(_dependencies(runtimes, tools, moderator_runtime))),
        "required_features": features,
    }
    canonical: bytes = rfc8785.dumps(_json(document))
    return Manifest(
        runtimes=tuple(runtimes), tools=tuple(tools), canonical=canonical, sha256=sha256(canonical).hexdigest(),
        scripts=tuple(scripts), moderator_runtime=moderator_runtime, imports=imports, host_tools=host_tools,
        required_features=features, warnings=warnings,
    )  # fmt: skip


def _runtime(spec: RuntimeSpec) -> dict[str, Any]:
    found = spec.as_dict()
    del found["declared"]
    found["source"] = _source(found["source"])
    for source in found["secrets"]["sources"]:
        if source["kind"] == "literal":
            source["value"] = _LITERAL
    return found


def _tool(spec: ToolSpec) -> dict[str, Any]:
    found = spec.as_dict()
    found["source"] = _source(found["source"])
    return found


def _source(source: dict[str, Any]) -> dict[str, Any]:
    """Without the line and the folder: neither changes what may be done."""
    return {"file": source["file"], "namespace": source["namespace"]}


def _script(script: Script) -> dict[str, Any]:
    found = script.as_dict()
    del found["text"]
    return {**found, "surface_version": SURFACE}


def _dependencies(runtimes: list[RuntimeSpec], tools: list[ToolSpec], moderator: str | None) -> Iterator[tuple[str, str, str]]:
    for tool in tools:
        yield f"tool:{tool.name}", tool.runtime, "runtime"
    if moderator is not None:
        yield "moderator", moderator, "runtime"
    for spec in runtimes:
        for _, hook in hooks(spec):
            yield spec.id, hook.runtime, "worker"
        for _, name in script_references(spec):
            yield spec.id, f"script:{name}", "script"


# -- features ---------------------------------------------------------------------------------------------------------


def _features(runtimes: list[RuntimeSpec], tools: list[ToolSpec], platform: str) -> set[str]:
    """What a host must have to make the manifest live; runner.features says what this one has."""
    found = {f"shell.tool.{tool.mode}.v1" for tool in tools}
    found |= {"shell.tool.stream.v1" for tool in tools if tool.stream == "sanitized"}
    for spec in runtimes:
        found |= set(_of_runtime(spec, platform))
    return found


def _of_runtime(spec: RuntimeSpec, platform: str) -> Iterator[str]:
    for item in spec.backends.values:
        if item.when in ("any", platform):
            yield "shell.external_backend.v1" if item.kind == "external_backend" else f"shell.backend.{item.kind}.v1"
    if any(getattr(spec.limits, name) is not None for name in ("cpu_time", "memory", "file_size", "open_files", "processes", "cpus", "tmp_size")):
        yield "shell.resource_limits.v1"
    for source in spec.secrets.sources:
        if source.kind != "from_env":
            yield f"shell.secret.{source.kind.removeprefix('from_')}.v1"
    for matcher in matchers(spec):
        if matcher.kind == "program_regex":
            yield "shell.matcher.regex.v1"
    for place, _ in script_references(spec):
        yield f"shell.script.{_PLACES[place]}.v1"
    if next(hooks(spec), None) is not None:
        yield "shell.executable_hooks.v1"
    for reviewer in spec.reviewers:
        yield f"shell.reviewer.{reviewer.kind}.v1"
    for interceptor in spec.interceptors:
        yield f"shell.interceptor.{interceptor.phase}.v1"
    if spec.effect_analysis:
        yield "shell.effect_analysis.v1"
    if spec.audit.format != "none":
        yield f"shell.audit.{spec.audit.format}.v1"


_PLACES = {"reviewer": "reviewer", "before": "before_interceptor", "after": "after_interceptor", "analyzer": "effect_analyzer",
           "filter": "audit_filter", "matcher": "matcher"}  # fmt: skip


def _json(value: Any) -> Any:
    """Plain JSON: whole floats as integers (RFC 8785 prints them alike), tuples as lists."""
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
