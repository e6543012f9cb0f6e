"""The canonical manifest: RFC 8785 bytes and their SHA-256. What it holds is what can be authorised.

Independent of the order of runtimes and tools and of where the checkout lies (paths stay symbolic); literal secrets are
a marker; everything that changes what a command may do changes the digest.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from ..model.manifest import Manifest, RuntimeSpec, ToolSpec

VERSION = "fumehood.manifest.v1"
_NOT_IN = ("declared", "source_dir")


def build(runtimes: list[RuntimeSpec], tools: list[ToolSpec], platform: str) -> Manifest:
    """The Manifest record with its bytes and digest."""
    import rfc8785

    document = {
        "encoding_version": VERSION,
        "platform": platform,
        "runtimes": [_runtime(item) for item in sorted(runtimes, key=lambda item: item.id)],
        "tools": [item.as_dict() for item in sorted(tools, key=lambda item: item.name)],
        "dependencies": sorted({(f"tool:{item.name}", item.runtime, "runtime") for item in tools}),
        "required_features": sorted(_features(runtimes, tools)),
    }
    canonical: bytes = rfc8785.dumps(_json(document))
    return Manifest(
        runtimes=tuple(runtimes), tools=tuple(tools), canonical=canonical, sha256=sha256(canonical).hexdigest()
    )


def _runtime(spec: RuntimeSpec) -> dict[str, Any]:
    found = {name: value for name, value in spec.as_dict().items() if name not in _NOT_IN}
    for source in found["secrets"]["sources"]:
        if source["kind"] == "literal":
            source["value"] = "[literal secret]"
    return found


def _features(runtimes: list[RuntimeSpec], tools: list[ToolSpec]) -> set[str]:
    found = {f"shell.tool.{tool.mode}.v1" for tool in tools}
    found |= {f"shell.backend.{item.kind}.v1" for spec in runtimes for item in spec.backends.values}
    limits = ("cpu_time", "memory", "file_size", "open_files", "processes", "cpus", "tmp_size")
    if any(getattr(spec.limits, name) is not None for spec in runtimes for name in limits):
        found.add("shell.resource_limits.v1")
    if any(item.kind == "literal" for spec in runtimes for item in spec.secrets.sources):
        found.add("shell.secret.literal.v1")
    return found


def _json(value: Any) -> Any:
    """Plain JSON: whole floats as integers (RFC 8785 prints them alike), tuples as lists."""
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
