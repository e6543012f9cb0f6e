"""What every element of the language is: a closed model, its attributes as fields, its children by tag."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

Text = str
Action = Literal["allow", "ask", "deny"]
When = Literal["any", "linux", "macos", "windows"]
Merge = Literal["append", "replace"]
Presence = Literal["none", "optional", "required"]
Failure = Literal["deny", "error", "no_match", "unknown", "keep"]
Lifecycle = Literal["invocation", "session", "runtime"]


class Element(BaseModel):
    """node: where it stands; children: in document order."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    CHILDREN: ClassVar[dict[str, bool]] = {}  # tag -> may repeat
    OPTIONAL_EMPTY: ClassVar[frozenset[str]] = frozenset()  # attributes that may be present and empty
    TEXT: ClassVar[bool] = False  # whether text may stand in it
    node: Any = Field(default=None, exclude=True)
    children: tuple[Any, ...] = Field(default=(), exclude=True)

    def all(self, kind: type[Any]) -> list[Any]:
        return [child for child in self.children if isinstance(child, kind)]

    def one(self, kind: type[Any]) -> Any | None:
        return next(iter(self.all(kind)), None)

    def given(self, name: str) -> bool:
        return name in self.model_fields_set

    @classmethod
    def attributes(cls) -> list[str]:
        """Names of its attributes, in the order they are declared."""
        return [name for name in cls.model_fields if name not in ("node", "children")]
