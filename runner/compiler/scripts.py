"""Sources that enter the manifest by their digest: extension scripts, and the files of script tools."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from ..errors import DeclarationError, RunnerError
from ..model import extensions as x
from ..model import manifest as m
from . import elements as s
from .check import add
from .documents import Declared
from .reader import Problem, read_bytes
from .variables import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMITS = tuple(x.ScriptLimits._fields)


def lower_script(item: Declared, problems: list[Problem]) -> x.Script | None:
    """The script with its whole source, or None where it has none."""
    element: s.Script = item.element
    name = element.id or ("main" if element.kind == "moderator" else None)
    if name is None:
        add(problems, element.node, "script_id_required", f"a script of kind `{element.kind}` needs `id`")
    text = _text(item, problems)
    given = {limit: getattr(element, limit) for limit in _LIMITS if getattr(element, limit) is not None}
    for limit in sorted(limit for limit, value in given.items() if not value):
        add(problems, element.node, "script_invalid_limit", f"`{limit}` must be more than zero")
    if name is None or text is None:
        return None
    return x.Script(
        id=name, kind=element.kind, language=element.language, text=text,
        source_sha256=sha256(text.encode()).hexdigest(), limits=x.ScriptLimits(**given),
    )  # fmt: skip


def _text(item: Declared, problems: list[Problem]) -> str | None:
    element: s.Script = item.element
    inline = element.node.body if element.node.text else None
    if element.src is not None and inline is not None:
        add(problems, element.node, "script_conflicting_source", "the script has `src` and a source inside", "keep one")
        return None
    if element.src is None:
        if inline is None:
            add(problems, element.node, "script_empty_source", "the script has neither `src` nor a source inside")
        return inline
    try:
        text = read_bytes(os.path.join(item.source.folder, element.src)).decode()
    except (DeclarationError, UnicodeDecodeError) as error:
        why = "not UTF-8" if isinstance(error, UnicodeDecodeError) else error.message.rsplit(": ", 1)[-1]
        add(problems, element.node, "script_source_unavailable", f"`{element.src}` cannot be read: {why}", "`src` is relative to the declaring file")
        return None
    if not text.strip():
        add(problems, element.node, "script_empty_source", f"`{element.src}` is empty")
        return None
    return text


def with_digest(tool: m.ToolSpec, element: s.Tool, bases: Mapping[str, str], problems: list[Problem]) -> m.ToolSpec:
    """A script tool with the digest of its file as it is now; what runs later must have the same."""
    if tool.script is None:
        return tool
    try:
        path = resolve(tool.script.path, {**bases, "source_dir": tool.source.folder or bases["source_dir"]})
        content = read_bytes(path)
    except RunnerError as error:
        why = error.message.rsplit(": ", 1)[-1]
        add(problems, element.node, "script_unavailable", f"the script of `{tool.name}` cannot be read: {why}", "name a file that exists")
        return tool
    if len(content) > tool.script.max_source_bytes:
        message = f"the script of `{tool.name}` has {len(content)} bytes, more than {tool.script.max_source_bytes}"
        add(problems, element.node, "script_too_large", message, "raise `max_source_bytes`")
    return tool.replace(script=tool.script.replace(sha256=sha256(content).hexdigest()))
