"""The language: one closed model per element, in one place. Adding an element is one class and one row of its parent.

A model's fields are the element's attributes; CHILDREN are the elements allowed inside, with whether they may repeat.
check.py reads nodes against these models.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from .units import (
    Boolean,
    Bytes,
    Decimal,
    Digest,
    EnvironmentName,
    Integer,
    OptionalBytes,
    OptionalDuration,
    OptionalInteger,
    Path,
    RuntimeId,
)

Text = str
Action = Literal["allow", "ask", "deny"]
When = Literal["any", "linux", "macos", "windows"]
Merge = Literal["append", "replace"]
Presence = Literal["none", "optional", "required"]


class Element(BaseModel):
    """Base of every element. node: where it stands; children: in document order."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    CHILDREN: ClassVar[dict[str, bool]] = {}  # tag -> may repeat
    OPTIONAL_EMPTY: ClassVar[frozenset[str]] = frozenset()  # attributes that may be present and empty
    node: Any = Field(default=None, exclude=True)
    children: tuple[Any, ...] = Field(default=(), exclude=True)

    def all(self, kind: type[Any]) -> list[Any]:
        return [child for child in self.children if isinstance(child, kind)]

    def one(self, kind: type[Any]) -> Any | None:
        return next(iter(self.all(kind)), None)

    def given(self, name: str) -> bool:
        return name in self.model_fields_set


class Read(Element):
    path: Path | None = None
    path_env: EnvironmentName | None = None
    optional: Boolean = False


class Write(Read):
    pass


class Protect(Element):
    path: Path


class Hide(Element):
    path: Path


class Capabilities(Element):
    CHILDREN = {"read": True, "write": True, "protect": True, "hide": True}
    sandbox: Literal["required", "preferred", "direct_unsafe"] | None = None
    network: Boolean | None = None
    child_processes: Boolean | None = None
    arbitrary_code: Boolean | None = None
    privilege_change: Boolean | None = None
    merge: Merge = "append"


class SearchPath(Element):
    path: Path


class TrustedRoot(Element):
    path: Path


class Executable(Element):
    id: Text
    path: Path
    sha256: Digest | None = None
    trusted: Boolean = False
    override: Boolean = False


class Resolver(Element):
    CHILDREN = {"search_path": True, "trusted_root": True, "executable": True}
    allow_relative_search_path: Boolean | None = None
    merge: Merge = "append"


class Set(Element):
    OPTIONAL_EMPTY = frozenset({"value"})
    name: EnvironmentName
    value: Text


class Pass(Element):
    name: EnvironmentName
    required: Boolean = False
    secret: Boolean = False


class Unset(Element):
    name: EnvironmentName


class UnsetPrefix(Element):
    value: EnvironmentName


class PathOperation(Element):
    prepend: Path | None = None
    append: Path | None = None


class PathEnv(Element):
    name: EnvironmentName
    suffix: Text = ""
    position: Literal["prepend", "append"] = "append"
    required: Boolean = False


class Environment(Element):
    CHILDREN = {"set": True, "pass": True, "unset": True, "unset_prefix": True, "path": True, "path_env": True}
    inherit: Literal["none", "safe", "selected", "all_sanitized", "raw"] | None = None
    merge: Merge = "append"


class Limits(Element):
    wall_time: OptionalDuration | None = None
    idle_time: OptionalDuration | None = None
    cpu_time: OptionalDuration | None = None
    max_stdin: Bytes | None = None
    stdout: Bytes | None = None
    stderr: Bytes | None = None
    total_output: Bytes | None = None
    memory: OptionalBytes | None = None
    file_size: OptionalBytes | None = None
    open_files: OptionalInteger | None = None
    processes: OptionalInteger | None = None
    cpus: Decimal | None = None
    tmp_size: OptionalBytes | None = None


class Landlock(Element):
    id: Text | None = None
    when: When = "linux"
    private_tmp: Boolean | None = None
    proc: Boolean | None = None
    dev: Literal["minimal"] | None = None


class Container(Element):
    id: Text | None = None
    when: When = "any"
    image: Text
    engine: Text | None = None
    runtime: Text | None = None


class Seatbelt(Element):
    id: Text | None = None
    when: When = "any"
    executable: Path | None = None
    allow_system_reads: Boolean | None = None


class Bubblewrap(Element):
    id: Text | None = None
    when: When = "any"
    executable: Path | None = None
    private_tmp: Boolean | None = None
    proc: Boolean | None = None
    dev: Text | None = None


class Direct(Element):
    id: Text | None = None
    when: When = "any"


class Backends(Element):
    CHILDREN = {"landlock": True, "container": True, "seatbelt": True, "bubblewrap": True, "direct": True}
    accept_declared_confinement: Boolean | None = None
    merge: Merge = "append"


class AnyCommand(Element):
    pass


class Program(Element):
    value: Text


class Basename(Element):
    value: Text


class All(Element):
    pass


class Any_(Element):
    pass


class Not(Element):
    pass


_MATCHERS = {"any_command": True, "program": True, "basename": True, "all": True, "any": True, "not": True}
for _group in (All, Any_, Not):
    _group.CHILDREN = _MATCHERS


class Rule(Element):
    CHILDREN = _MATCHERS
    id: Text
    action: Action
    override: Boolean = False


class Policy(Element):
    CHILDREN = {"rule": True}
    default: Action | None = None
    merge: Merge = "append"


class FromEnv(Element):
    name: EnvironmentName
    optional: Boolean = False


class Literal_(Element):
    value: Text


class Secrets(Element):
    CHILDREN = {"from_env": True, "literal": True}
    OPTIONAL_EMPTY = frozenset({"replacement"})
    replacement: Text | None = None
    merge: Merge = "append"


class ShellAccess(Element):
    CHILDREN = {
        "capabilities": False, "resolver": False, "environment": False, "limits": False, "backends": False,
        "policy": False, "secrets": False,
    }  # fmt: skip
    id: RuntimeId
    extends: Text | None = None
    cwd: Path | None = None
    pipefail: Boolean | None = None


class Arg(Element):
    OPTIONAL_EMPTY = frozenset({"value"})
    value: Text


class SecretArg(Element):
    OPTIONAL_EMPTY = frozenset({"prefix"})
    env: EnvironmentName
    prefix: Text = ""


class PathArg(Element):
    path: Text
    base: Text | None = None


class CommandElement(Element):
    CHILDREN = {"arg": True, "secret_arg": True, "path_arg": True}
    program: Text | None = None
    executable_ref: Text | None = None


class Arguments(Element):
    mode: Presence
    min_count: Integer | None = None
    max_count: Integer | None = None
    max_item_bytes: Integer | None = None


class Tool(Element):
    CHILDREN = {"command": False, "arguments": False}
    OPTIONAL_EMPTY = frozenset({"description"})
    name: Text
    type: Literal["shell"] | None = None
    mode: Literal["fixed", "structured"] | None = None
    runtime: Text | None = None
    description: Text | None = None
    stdin: Presence = "none"
    rationale: Presence | None = None
    result: Literal["combined", "stdout", "structured"] = "combined"
    stream: Literal["finalized"] = "finalized"
    nonzero: Literal["result", "error"] = "result"
    command: Text | None = None
    executable_ref: Text | None = None


ELEMENTS: dict[str, type[Element]] = {
    "shell_access": ShellAccess, "capabilities": Capabilities, "read": Read, "write": Write, "protect": Protect,
    "hide": Hide, "resolver": Resolver, "search_path": SearchPath, "trusted_root": TrustedRoot, "executable": Executable,
    "environment": Environment, "set": Set, "pass": Pass, "unset": Unset, "unset_prefix": UnsetPrefix,
    "path": PathOperation, "path_env": PathEnv, "limits": Limits, "backends": Backends, "landlock": Landlock,
    "container": Container, "seatbelt": Seatbelt, "bubblewrap": Bubblewrap, "direct": Direct, "policy": Policy,
    "rule": Rule, "any_command": AnyCommand, "program": Program, "basename": Basename, "all": All, "any": Any_,
    "not": Not, "secrets": Secrets, "from_env": FromEnv, "literal": Literal_, "tool": Tool, "command": CommandElement,
    "arg": Arg, "secret_arg": SecretArg, "path_arg": PathArg, "arguments": Arguments,
}  # fmt: skip
TOP_LEVEL = ("shell_access", "tool")
