"""Record: the one way a frozen value is made here.

Contract: a subclass lists its fields as annotations; a field with a class-level value has that default. Construction
takes keywords only, refuses unknown and missing names, and the value never changes afterwards. Records compare and hash
by content and print whole.

Why not dataclasses: sixteen frozen dataclasses cost about 88 ms of import (each compiles source text); this costs none,
and the import budget of a one-shot run has no room for it. Only this module knows how a record is made.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Self, dataclass_transform
else:  # importing typing costs 12 ms, as much as the interpreter's own start

    def dataclass_transform(**_):
        return lambda cls: cls


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record:
    """A frozen, keyword-only value; see the module for the contract."""

    _fields: ClassVar[tuple[str, ...]] = ()
    _required: ClassVar[frozenset[str]] = frozenset()
    _known: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = [name for name in vars(cls).get("__annotations__", {}) if not name.startswith("_")]
        cls._fields = tuple(dict.fromkeys((*cls._fields, *own)))
        cls._known = frozenset(cls._fields)
        cls._required = frozenset(name for name in cls._fields if not hasattr(cls, name))

    def __init__(self, **values: Any) -> None:
        if not values.keys() >= self._required or not values.keys() <= self._known:
            missing, unknown = sorted(self._required - values.keys()), sorted(values.keys() - self._known)
            raise TypeError(f"{type(self).__name__}: missing {missing}, unknown {unknown}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set `{name}`")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete `{name}`")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._values() == other._values()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        body = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({body})"

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def replace(self, **changes: Any) -> Self:
        """The same record with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})

    def as_dict(self) -> dict[str, Any]:
        """Plain dict/list/scalar form, field order kept, nested records included."""
        return {name: _plain(getattr(self, name)) for name in self._fields}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.as_dict()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
