"""One document and all it imports -> declarations with their sources. Reads files; nothing else here does.

A document may be a host's conversation: what is the host's is passed over, imports inside its messages are followed. Ids
and references of a file imported under a namespace are qualified as they are read, so nothing later knows of namespaces.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Any

from ..errors import DeclarationError
from ..model.manifest import ImportedFile, Source
from ..model.record import Record
from . import elements as s
from .check import add, read
from .reader import Node, Problem, parse, read_bytes

MAX_DEPTH = 128
MAX_FILES = 4096  # of one document, however often each is imported
MESSAGES = ("user", "agent", "system", "developer", "msg")  # of a host's document; imports may stand in them
_ROLES = ("user", "agent", "system", "developer")
HOST = frozenset((
    *MESSAGES, "assistant", "config", "reasoning", "summary", "tool_call", "tool_response", "doc", "img", "session", "prompt",
))  # fmt: skip
_QUALIFIED = {
    ("shell_access", "id"), ("shell_access", "extends"), ("tool", "runtime"), ("script", "id"),
    ("moderator_runtime", "shell_runtime"), ("chatml_match", "script"), ("script_match", "script"),
    *((tag, name) for tag in ("reviewer", "interceptor", "analyzer", "filter") for name in ("script", "runtime")),
}  # fmt: skip


class Declared(Record):
    """One top-level declaration, read against its model, and where it stands."""

    element: Any
    source: Source


class Collected(Record):
    declarations: tuple[Declared, ...]
    imports: tuple[ImportedFile, ...]
    host_tools: tuple[str, ...]


def collect(data: bytes, *, file: str, source_dir: str, problems: list[Problem]) -> Collected:
    """Everything that the document declares, imports included, in document order."""
    reading = _Reading(source_dir, problems)
    reading.document(data, file=file, folder=source_dir, namespace=None, active=(os.path.realpath(file),))
    return Collected(
        declarations=tuple(reading.found), imports=tuple(reading.imports), host_tools=tuple(reading.host_tools)
    )


class _Reading:
    def __init__(self, root: str, problems: list[Problem]) -> None:
        self.root, self.problems = root, problems
        self.found: list[Declared] = []
        self.imports: list[ImportedFile] = []
        self.host_tools: list[str] = []
        self.own: set[str] = set()  # namespaces that the file being read imports under

    def document(self, data: bytes, *, file: str, folder: str, namespace: str | None, active: tuple[str, ...]) -> None:
        nodes = parse(data, file)
        name = os.path.relpath(file, self.root) if len(active) > 1 else ""  # the document itself: its own name says nothing
        place = Source(file=name, folder=folder, namespace=namespace)
        self.own = {node.attributes.get("namespace", "") for node in _imports(nodes)} - {""}
        self._level(nodes, place, active)

    def _level(self, nodes: tuple[Node, ...], place: Source, active: tuple[str, ...]) -> None:
        aliases: set[str] = set()
        own = self.own
        for node in nodes:
            if node.tag == "import":
                self._import(node, place, active, aliases)
            elif node.tag in MESSAGES and _may_import(node):
                self._level(tuple(child for child in node.children if child.tag == "import"), place, active)
            elif node.tag == "tool" and not _is_shell(node):
                self.host_tools.append(node.attributes.get("name", ""))
            elif node.tag not in HOST:
                self._declaration(_qualified(node, place.namespace, own), place)

    def _declaration(self, node: Node, place: Source) -> None:
        element = read(node, self.problems)
        if element is not None:
            self.found.append(Declared(element=element, source=place.replace(line=node.line)))

    def _import(self, node: Node, place: Source, active: tuple[str, ...], aliases: set[str]) -> None:
        element = read(node, self.problems)
        if not isinstance(element, s.Import):
            return
        if element.namespace is not None and element.namespace in aliases:
            add(self.problems, node, "duplicate_import", f"a second import under the namespace `{element.namespace}`", "choose another")
            return
        aliases.add(element.namespace or "")
        path = os.path.realpath(os.path.join(place.folder, element.src))
        if path in active:
            chain = " -> ".join(os.path.basename(item) for item in (*active[active.index(path) :], path))
            add(self.problems, node, "import_cycle", f"files import each other: {chain}")
        elif len(active) > MAX_DEPTH or len(self.imports) >= MAX_FILES:
            add(self.problems, node, "import_depth", f"imports are nested more than {MAX_DEPTH} deep, or are more than {MAX_FILES}")
        else:
            self._file(node, path, _joined(place.namespace, element.namespace), active)

    def _file(self, node: Node, path: str, namespace: str | None, active: tuple[str, ...]) -> None:
        try:
            data = read_bytes(path)
        except DeclarationError as error:
            add(self.problems, node, "source_unavailable", error.message.split(": ", 1)[-1], "`src` is relative to the importing file")
            return
        digest = sha256(data).hexdigest()
        self.imports.append(ImportedFile(file=os.path.relpath(path, self.root), sha256=digest, namespace=namespace))
        try:
            self.document(data, file=path, folder=os.path.dirname(path), namespace=namespace, active=(*active, path))
        except DeclarationError as error:
            self.problems.append(Problem(code=error.code, message=error.message.split(": ", 1)[-1], file=path, line=_line(error)))


def _line(error: DeclarationError) -> int:
    """Of the first diagnostic, `file:line: …`."""
    words = error.problems[0].split(": error[")[0].rsplit(":", 1) if error.problems else []
    return int(words[1]) if len(words) == 2 and words[1].isdigit() else 1


def _may_import(node: Node) -> bool:
    return node.tag != "msg" or node.attributes.get("role") in _ROLES


def _is_shell(node: Node) -> bool:
    """Whether a `<tool>` is ours. Not ours: one of an agent or a server, or a bare name, which the host knows."""
    ours = any(name in node.attributes for name in ("type", "runtime", "mode", "command"))
    if "agent" in node.attributes or "mcp_server" in node.attributes:
        return ours
    return ours or not node.attributes.keys() <= {"name", "description"} or bool(node.children)


def _joined(outer: str | None, inner: str | None) -> str | None:
    return ":".join(name for name in (outer, inner) if name) or None


def _imports(nodes: tuple[Node, ...]) -> list[Node]:
    inner = [child for node in nodes if node.tag in MESSAGES and _may_import(node) for child in node.children]
    return [node for node in (*nodes, *inner) if node.tag == "import"]


def _qualified(node: Node, namespace: str | None, own: set[str]) -> Node:
    """The node with its own ids and references under the namespace. A reference that names a namespace is left alone,
    unless that is one which this very file imports under: it then joins, outer first."""
    if namespace is None:
        return node
    attributes = {
        name: f"{namespace}:{value}" if (node.tag, name) in _QUALIFIED and value and _is_own(value, own) else value
        for name, value in node.attributes.items()
    }
    children = tuple(_qualified(child, namespace, own) for child in node.children)
    return node.replace(attributes=attributes, children=children)


def _is_own(value: str, own: set[str]) -> bool:
    return ":" not in value or value.split(":")[0] in own
