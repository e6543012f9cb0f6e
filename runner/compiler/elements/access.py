"""`<shell_access>` and what says where and how commands run: powers, programs, environment, limits, backends."""

from __future__ import annotations

from typing import Literal

from ..units import (
    Boolean,
    Bytes,
    Decimal,
    Digest,
    EnvironmentName,
    OptionalBytes,
    OptionalDuration,
    OptionalInteger,
    Path,
    RuntimeId,
)
from .base import Element, Merge, Text, When


class Read(Element):
    """A root that may be read, with everything below it."""

    path: Path | None = None
    path_env: EnvironmentName | None = None
    optional: Boolean = False


class Write(Read):
    """A root that may be written (and read), with everything below it."""


class Protect(Element):
    """Below a write root: read-only, whoever asks."""

    path: Path


class Hide(Element):
    """Below any root: neither readable nor listable."""

    path: Path


class Capabilities(Element):
    """The ceiling: what commands may do at all. Approval adds nothing to it."""

    CHILDREN = {"read": True, "write": True, "protect": True, "hide": True}
    sandbox: Literal["required", "preferred", "direct_unsafe"] | None = None
    network: Boolean | None = None
    child_processes: Boolean | None = None
    arbitrary_code: Boolean | None = None
    privilege_change: Boolean | None = None
    merge: Merge = "append"


class SearchPath(Element):
    """A folder in which programs are looked up, in order."""

    path: Path


class TrustedRoot(Element):
    """A folder whose programs are trusted where nobody but root can replace them."""

    path: Path


class Executable(Element):
    """A program under a name of its own, perhaps pinned to a digest."""

    id: Text
    path: Path
    sha256: Digest | None = None
    trusted: Boolean = False
    override: Boolean = False


class Resolver(Element):
    """Where programs come from."""

    CHILDREN = {"search_path": True, "trusted_root": True, "executable": True}
    allow_relative_search_path: Boolean | None = None
    merge: Merge = "append"


class Set(Element):
    """A variable with a value."""

    OPTIONAL_EMPTY = frozenset({"value"})
    name: EnvironmentName
    value: Text


class Pass(Element):
    """A variable of the host, handed on."""

    name: EnvironmentName
    required: Boolean = False
    secret: Boolean = False


class Unset(Element):
    """A variable taken away."""

    name: EnvironmentName


class UnsetPrefix(Element):
    """All variables that begin so, taken away."""

    value: EnvironmentName


class PathOperation(Element):
    """A folder put before or after PATH."""

    prepend: Path | None = None
    append: Path | None = None


class PathEnv(Element):
    """A folder named by a variable of the host, put before or after PATH."""

    name: EnvironmentName
    suffix: Text = ""
    position: Literal["prepend", "append"] = "append"
    required: Boolean = False


class Environment(Element):
    """What commands see as their environment: a beginning, then operations in order."""

    CHILDREN = {"set": True, "pass": True, "unset": True, "unset_prefix": True, "path": True, "path_env": True}
    inherit: Literal["none", "safe", "selected", "all_sanitized", "raw"] | None = None
    merge: Merge = "append"


class Limits(Element):
    """Bounds of each request. `none` clears an inherited one."""

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
    """The Linux sandbox: namespaces, mount view, Landlock, seccomp."""

    id: Text | None = None
    when: When = "linux"
    private_tmp: Boolean | None = None
    proc: Boolean | None = None
    dev: Literal["minimal"] | None = None


class Container(Element):
    """A fresh container for each request."""

    id: Text | None = None
    when: When = "any"
    image: Text
    engine: Text | None = None
    runtime: Text | None = None


class Seatbelt(Element):
    """The macOS sandbox."""

    id: Text | None = None
    when: When = "any"
    executable: Path | None = None
    allow_system_reads: Boolean | None = None


class Bubblewrap(Element):
    """The system bubblewrap, for those who must."""

    id: Text | None = None
    when: When = "any"
    executable: Path | None = None
    private_tmp: Boolean | None = None
    proc: Boolean | None = None
    dev: Text | None = None


class Direct(Element):
    """No confinement at all."""

    id: Text | None = None
    when: When = "any"


class Arg(Element):
    """One literal word of a command line."""

    OPTIONAL_EMPTY = frozenset({"value"})
    value: Text


class CwdValue(Element):
    """The working folder, one word."""


class TargetExecutable(Element):
    """The canonical path of the program, one word."""


class CommandArgv(Element):
    """The program and all its arguments; exactly once."""


class ReadRoots(Element):
    """The flag and a path, for each read root."""

    flag: Text


class WriteRoots(Element):
    """The flag and a path, for each write root."""

    flag: Text


class NetworkFlag(Element):
    """Its value where the network is granted."""

    value: Text


class ResourceLimitArgs(Element):
    """`--cpu`, `--memory`, `--file-size`, `--open-files` with the limits that are set."""


class ExternalBackend(Element):
    """A wrapper of the author's own; what it confines is only declared."""

    CHILDREN = {
        "arg": True, "cwd_value": True, "target_executable": True, "command_argv": True, "read_roots": True,
        "write_roots": True, "network_flag": True, "resource_limit_args": True,
    }  # fmt: skip
    id: Text | None = None
    when: When = "any"
    executable: Path
    sha256: Digest | None = None
    confinement: Literal["verified", "declared", "none"] = "none"


class Backends(Element):
    """Backends in order of preference."""

    CHILDREN = {
        "landlock": True, "container": True, "seatbelt": True, "bubblewrap": True, "direct": True, "external_backend": True,
    }  # fmt: skip
    accept_declared_confinement: Boolean | None = None
    merge: Merge = "append"


class ShellAccess(Element):
    """A runtime: everything that commands of its tools may use. Laid over its parent, or over the defaults."""

    CHILDREN = {
        "capabilities": False, "resolver": False, "environment": False, "limits": False, "backends": False, "policy": False,
        "approvals": False, "reviewers": False, "interceptors": False, "effect_analysis": False, "secrets": False,
        "audit": False,
    }  # fmt: skip
    id: RuntimeId
    extends: Text | None = None
    cwd: Path | None = None
    pipefail: Boolean | None = None
