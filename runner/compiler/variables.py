"""Path expressions: absolute, `${variable}` or `${variable}/rest`, or text relative to the declaring file's folder."""

from __future__ import annotations

import os

from ..errors import ManifestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES = ("workspace", "source_dir", "prompt_dir", "tool_dir", "session_dir", "cache_dir", "home")


def symbolic(text: str) -> str:
    """The canonical symbolic form (`/abs` or `${variable}[/rest]`). Raises ValueError for anything else."""
    if not text or "\0" in text:
        raise ValueError("a path is neither empty nor holds a NUL byte")
    if text.startswith("/"):
        return text
    if not text.startswith("${"):
        if "${" in text:
            raise ValueError("a variable stands only at the start of a path")
        return "${source_dir}/" + text
    name, brace, rest = text[2:].partition("}")
    if not brace or name not in VARIABLES:
        raise ValueError(f"`${{{name}}}` is no path variable; there are: {', '.join(VARIABLES)}")
    if rest and not rest.startswith("/"):
        raise ValueError("after a variable comes `/` or the end")
    if "${" in rest:
        raise ValueError("a variable stands only at the start of a path")
    return text


def resolve(expression: str, bases: Mapping[str, str]) -> str:
    """The absolute path of a symbolic expression, `.` and `..` resolved as text."""
    text = symbolic(expression)
    if text.startswith("/"):
        return os.path.normpath(text)
    name, _, rest = text[2:].partition("}")
    if name not in bases:
        raise ManifestError(f"`${{{name}}}` has no value here", code="shell.source_dir_unavailable")
    return os.path.normpath(bases[name] + rest)


def bases_of(file: str, workspace: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """What the path variables stand for. source_dir and prompt_dir: the declaration's folder; workspace: default here."""
    source = os.path.dirname(os.path.realpath(file))
    work = os.path.realpath(os.getcwd() if workspace is None else os.fspath(workspace))
    home = os.path.realpath(os.environ.get("HOME") or work)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return {
        "workspace": work, "source_dir": source, "prompt_dir": source, "tool_dir": work, "home": home,
        "cache_dir": os.path.join(cache, "fumehood"), "session_dir": os.path.join(state, "fumehood"),
    }  # fmt: skip
