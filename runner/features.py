"""What of the language this host can make live. A manifest that needs more is refused by name, never taken in part.

A feature lands here with the code that serves it.
"""

from __future__ import annotations

from .errors import ManifestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model.manifest import Manifest

SUPPORTED = frozenset((
    "shell.tool.fixed.v1", "shell.tool.structured.v1", "shell.tool.chain.v1", "shell.tool.raw.v1", "shell.tool.script.v1",
    "shell.tool.stream.v1",
    "shell.backend.landlock.v1", "shell.backend.direct.v1",
    "shell.resource_limits.v1",
    "shell.secret.literal.v1", "shell.secret.file.v1",
    "shell.matcher.regex.v1",
))  # fmt: skip


def require_supported(manifest: Manifest) -> None:
    """Raise ManifestError `shell.unsupported_feature` with every feature that is missing."""
    missing = [name for name in manifest.required_features if name not in SUPPORTED]
    if missing:
        raise ManifestError(
            f"the manifest needs what this host does not have: {', '.join(f'`{name}`' for name in missing)}",
            code="shell.unsupported_feature",
            remedy="declare it without them, or use a release that has them",
        )
