"""XML bytes -> nodes with lines. Hardened: no DTD, no entity of its own, no network, bounded size and depth.

A document is one root element of any name whose children are the declarations, or a sequence of top-level elements.
"""

from __future__ import annotations

from ..errors import DeclarationError
from ..model.record import Record
from ..share import read_regular

SIZE_LIMIT = 4 << 20
DECLARATIONS = frozenset({"shell_access", "tool", "script", "moderator_runtime", "import"})


class Node(Record):
    """One element as it stands; text is what stands between its children, white space stripped; body: not stripped."""

    tag: str
    attributes: dict[str, str]
    children: tuple[Node, ...]
    text: str
    file: str
    line: int
    body: str = ""


class Problem(Record):
    """One diagnostic, printed as `file:line: error[code]: message`."""

    code: str
    message: str
    file: str
    line: int
    remedy: str = ""

    def __str__(self) -> str:
        tail = f" ({self.remedy})" if self.remedy else ""
        return one_line(f"{self.file}:{self.line}: error[{self.code}]: {self.message}{tail}")


def one_line(text: str) -> str:
    """The text with everything unprintable escaped: a diagnostic is one line whatever the document holds."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def fail(problems: list[Problem]) -> DeclarationError:
    """The error for a list of problems, sorted by place, each once."""
    ordered = sorted(dict.fromkeys(problems), key=lambda item: (item.file, item.line, item.code))
    first = ordered[0]
    return DeclarationError(
        one_line(f"{first.file}:{first.line}: {first.message}"), code=first.code, problems=[str(item) for item in ordered]
    )


def read_bytes(path: str) -> bytes:
    """The file's content. A FIFO, a device, a folder or an oversized file is an error, never a wait."""
    try:
        return read_regular(path, SIZE_LIMIT)
    except OSError as error:
        raise _unreadable(path, str(error.strerror).lower()) from error


def _unreadable(path: str, why: str) -> DeclarationError:
    return fail([Problem(code="shell.source_unavailable", message=f"`{path}` cannot be read: {why}", file=path, line=1)])


def parse(data: bytes, file: str) -> tuple[Node, ...]:
    """The top-level declarations in document order. Raises DeclarationError `shell.invalid_xml` with the line."""
    from lxml import etree

    def problem(message: str, line: int, remedy: str = "") -> DeclarationError:
        return fail([Problem(code="shell.invalid_xml", message=message, file=file, line=line, remedy=remedy)])

    if len(data) > SIZE_LIMIT:
        raise problem(f"the document is larger than {SIZE_LIMIT} bytes", 1)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise problem("the document is not UTF-8", data[: error.start].count(b"\n") + 1) from error
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        place = min(found for found in (data.find(b"<!DOCTYPE"), data.find(b"<!ENTITY")) if found >= 0)
        raise problem("a document type or entity is not allowed", data[:place].count(b"\n") + 1, "remove it")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(_wrapped(data), parser)
    except etree.XMLSyntaxError as error:
        line = error.lineno or 1
        raise problem(_reason(str(error.msg)), line, "every attribute is quoted, every element is closed") from error
    node = _node(root, file)
    inner = node.children
    alone = len(inner) == 1 and not node.text and inner[0].tag not in DECLARATIONS
    top = inner[0] if alone else node
    if top.text:
        raise fail([_text_problem(top)])
    return top.children


def _wrapped(data: bytes) -> bytes:
    """One root around whatever stands there, on the first line so that line numbers stay."""
    body = data.removeprefix(b"\xef\xbb\xbf")
    if body.lstrip()[:5] == b"<?xml":
        start = body.index(b"<?xml")
        stop = body.find(b"?>", start)
        body = body[:start] + b"\n" * body.count(b"\n", start, stop + 2) + body[stop + 2 :] if stop >= 0 else body
    return b"<document>" + body + b"</document>"


def _reason(message: str) -> str:
    text = message.split(", line")[0].strip()
    return text[:1].lower() + text[1:]


def _node(element: object, file: str) -> Node:
    from lxml import etree

    assert isinstance(element, etree._Element)
    children = tuple(_node(child, file) for child in element if isinstance(child.tag, str))
    texts = [element.text or "", *(child.tail or "" for child in element)]
    return Node(
        tag=str(element.tag),
        attributes={str(key): str(value) for key, value in element.attrib.items()},
        children=children,
        text="".join(texts).strip(),
        body="".join(texts),
        file=file,
        line=element.sourceline or 1,  # type: ignore[arg-type]
    )


def _text_problem(node: Node) -> Problem:
    return Problem(
        code="shell.unexpected_text", message=f"text inside `<{node.tag}>`: `{node.text[:40]}`", file=node.file,
        line=node.line, remedy="write it as an attribute or a comment",
    )  # fmt: skip
