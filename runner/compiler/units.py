"""Attribute types: text -> value, each with its code. Used as annotations by the schema's models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from ..units import parse_bytes, parse_duration
from .variables import symbolic


def _typed(code: str, parse: Callable[[str], Any]) -> BeforeValidator:
    def convert(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        try:
            return parse(text)
        except ValueError as error:
            raise PydanticCustomError("shell." + code, "{reason}", {"reason": f"`{text}`: {error}"}) from error

    return BeforeValidator(convert)


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("write `true` or `false`")
    return text == "true"


def _integer(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ValueError("a whole number, zero or more")
    return int(text)


def _decimal(text: str) -> float:
    if not text.replace(".", "", 1).isdigit() or not text.isascii():
        raise ValueError("a decimal number")
    value = float(text)
    if not 0 < value < 1e6:
        raise ValueError("more than zero")
    return value


def _optional_duration(text: str) -> float | str:
    return "none" if text == "none" else parse_duration(text)


def _optional_bytes(text: str) -> int | str:
    return "none" if text == "none" else parse_bytes(text)


def _optional_integer(text: str) -> int | str:
    return "none" if text == "none" else _integer(text)


def _environment_name(text: str) -> str:
    if not text or "=" in text or "\0" in text:
        raise ValueError("a variable's name is not empty and holds no `=`")
    return text


def _identifier(text: str) -> str:
    allowed = text.replace("_", "a").replace(".", "a").replace(":", "a").replace("-", "a")
    if not text or not (text[0].isalpha() or text[0] == "_") or not allowed.isalnum() or not text.isascii():
        raise ValueError("an id starts with a letter or `_`, then letters, digits and `_ . : -`")
    return text


def _digest(text: str) -> str:
    if len(text) != 64 or any(char not in "0123456789abcdefABCDEF" for char in text):
        raise ValueError("a SHA-256 digest has 64 hexadecimal digits")
    return text.lower()


def _csv(text: str) -> tuple[str, ...]:
    items = tuple(item.strip() for item in text.split(","))
    if not all(items):
        raise ValueError("a list has no empty item; write `a,b,c`")
    return items


def _scopes(text: str) -> tuple[str, ...]:
    items = _csv(text)
    for item in items:
        if item not in SCOPES:
            raise ValueError(f"`{item}` is no scope; there are: {', '.join(SCOPES)}")
    if len(set(items)) < len(items):
        raise ValueError("a scope is given twice")
    return items


def _namespace(text: str) -> str:
    if ":" in text:
        raise ValueError("a namespace holds no `:`")
    return _identifier(text)


def _words(text: str) -> tuple[str, ...]:
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError("not a JSON array of strings, as in `[\"-c\"]`") from error
    if not isinstance(found, list) or not all(isinstance(item, str) and "\0" not in item for item in found):
        raise ValueError("not a JSON array of strings, as in `[\"-c\"]`")
    return tuple(found)


SCOPES = ("once", "exact_session", "prefix_session", "durable_exact")
Csv = Annotated[tuple[str, ...], _typed("invalid_list", _csv)]
Scopes = Annotated[tuple[str, ...], _typed("invalid_list", _scopes)]
Namespace = Annotated[str, _typed("invalid_attribute", _namespace)]
Words = Annotated[tuple[str, ...], _typed("tool_invalid_attribute", _words)]
Boolean = Annotated[bool, _typed("invalid_attribute", _boolean)]
Integer = Annotated[int, _typed("invalid_integer", _integer)]
Bytes = Annotated[int, _typed("invalid_bytes", parse_bytes)]
Duration = Annotated[float, _typed("invalid_duration", parse_duration)]
OptionalDuration = Annotated[float | str, _typed("invalid_duration", _optional_duration)]
OptionalBytes = Annotated[int | str, _typed("invalid_bytes", _optional_bytes)]
OptionalInteger = Annotated[int | str, _typed("invalid_integer", _optional_integer)]
Decimal = Annotated[float, _typed("invalid_attribute", _decimal)]
Path = Annotated[str, _typed("invalid_path", symbolic)]
EnvironmentName = Annotated[str, _typed("invalid_env_name", _environment_name)]
RuntimeId = Annotated[str, _typed("invalid_runtime_id", _identifier)]
Digest = Annotated[str, _typed("invalid_attribute", _digest)]
