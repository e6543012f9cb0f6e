"""A node against its model: every problem of a document is collected, none stops the reading.

Pydantic's own findings are turned into the stable codes of the language; unknown names are answered with the nearest known.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from .elements import ELEMENTS, TOP_LEVEL, Element
from .reader import Node, Problem

_WORDS = {  # pydantic's own names for a wrong value -> ours
    "missing": "missing_attribute", "extra_forbidden": "unknown_attribute", "literal_error": "invalid_attribute",
}  # fmt: skip


def read(node: Node, problems: list[Problem], *, allowed: tuple[str, ...] = TOP_LEVEL, inside: str = "") -> Element | None:
    """The node as its model with all children read, or None; whatever is wrong is added to problems."""
    if node.tag not in allowed:
        problems.append(_unknown_element(node, allowed, inside))
        return None
    model = ELEMENTS[node.tag]
    if node.text and not model.TEXT:
        add(problems, node, "unexpected_text", f"text inside `<{node.tag}>`: `{node.text[:40]}`")
    children = _children(node, model, problems)
    values: dict[str, Any] = dict(node.attributes)
    _empty(node, model, values, problems)
    try:
        return model.model_validate({**values, "node": node, "children": tuple(children)})
    except ValidationError as error:
        for item in error.errors():
            _wrong(node, model, item, problems)
        return None


def _children(node: Node, model: type[Element], problems: list[Problem]) -> list[Element]:
    found, seen = [], set()
    for child in node.children:
        if child.tag in seen and model.CHILDREN.get(child.tag) is False:
            add(problems, child, "duplicate_section", f"a second `<{child.tag}>` in `<{node.tag}>`")
        seen.add(child.tag)
        element = read(child, problems, allowed=tuple(model.CHILDREN), inside=node.tag)
        if element is not None:
            found.append(element)
    return found


def _empty(node: Node, model: type[Element], values: dict[str, Any], problems: list[Problem]) -> None:
    for name, value in list(values.items()):
        if name in ("node", "children"):
            add(problems, node, "unknown_attribute", f"`<{node.tag}>` has no attribute `{name}`")
            del values[name]
        elif value == "" and name in model.model_fields and name not in model.OPTIONAL_EMPTY:
            add(problems, node, "attribute_value_required", f"`{name}` of `<{node.tag}>` is empty")
            del values[name]


def _wrong(node: Node, model: type[Element], item: Any, problems: list[Problem]) -> None:
    name = str(item["loc"][0]) if item["loc"] else ""
    kind = item["type"]
    if kind == "missing" and name in node.attributes:
        return  # reported as empty already
    prefix = "tool_" if node.tag == "tool" and kind in _WORDS else ""
    code = kind.removeprefix("shell.") if kind.startswith("shell.") else prefix + _WORDS.get(kind, "invalid_attribute")
    message, remedy = f"`{name}` of `<{node.tag}>`: {item['msg'][:1].lower()}{item['msg'][1:]}", ""
    if kind == "missing":
        message = f"`<{node.tag}>` needs the attribute `{name}`"
    elif kind == "extra_forbidden":
        message = f"`<{node.tag}>` has no attribute `{name}`"
        remedy = nearest(name, model.attributes())
    elif kind == "literal_error":
        message = f"`{name}` of `<{node.tag}>` is `{node.attributes.get(name)}`, not one of {item['ctx']['expected']}"
        code = "tool_invalid_mode" if (node.tag, name) == ("tool", "mode") else code
        code = "tool_invalid_type" if (node.tag, name) == ("tool", "type") else code
    problems.append(Problem(code="shell." + code, message=message, file=node.file, line=node.line, remedy=remedy))


def _unknown_element(node: Node, allowed: tuple[str, ...], inside: str) -> Problem:
    where = f" in `<{inside}>`" if inside else ""
    code = "shell.unknown_matcher" if inside in ("rule", "all", "any", "not", "match") else "shell.unknown_element"
    return Problem(code=code, message=f"`<{node.tag}>` is not known{where}", file=node.file, line=node.line, remedy=nearest(node.tag, list(allowed)))  # fmt: skip


def nearest(name: str, known: list[str]) -> str:
    """A hint for a name that is not known."""
    close = get_close_matches(name, known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(sorted(known))}" if known else "nothing may stand here"


def add(problems: list[Problem], node: Node, code: str, message: str, remedy: str = "") -> None:
    problems.append(Problem(code="shell." + code, message=message, file=node.file, line=node.line, remedy=remedy))
