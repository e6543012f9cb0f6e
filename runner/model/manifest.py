"""What an author declared, resolved: every default explicit, units normalised, paths still symbolic.

Shapes: sizes are bytes (int), durations seconds (float), paths are the symbolic text (`/abs` or `${variable}/rest`);
`None` means unset or cleared. Order is the author's wherever order has a meaning.
"""

from __future__ import annotations

from .record import Record


class Root(Record):
    """One `<read>`/`<write>` root: a path expression, or the name of an environment variable holding one."""

    path: str | None = None
    path_env: str | None = None
    optional: bool = False


class Capabilities(Record):
    sandbox: str = "required"  # required | preferred | direct_unsafe
    network: bool = False
    child_processes: bool = False
    arbitrary_code: bool = False
    privilege_change: bool = False
    read: tuple[Root, ...] = ()
    write: tuple[Root, ...] = ()
    protect: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()


class Alias(Record):
    """`<executable>`: a named program, optionally pinned to a digest."""

    id: str
    path: str
    sha256: str | None = None
    trusted: bool = False


class Resolver(Record):
    search_path: tuple[str, ...] = ()
    trusted_roots: tuple[str, ...] = ()
    executables: tuple[Alias, ...] = ()
    allow_relative_search_path: bool = False


class EnvironmentOperation(Record):
    """kind: set | pass | unset | unset_prefix | path | path_env."""

    kind: str
    name: str = ""
    value: str = ""
    required: bool = False
    secret: bool = False
    position: str = "append"  # prepend | append, for path and path_env
    suffix: str = ""


class Environment(Record):
    inherit: str = "safe"  # none | safe | selected | all_sanitized | raw
    operations: tuple[EnvironmentOperation, ...] = ()


class Limits(Record):
    wall_time: float = 180.0
    idle_time: float | None = 60.0
    cpu_time: float | None = None
    max_stdin: int = 1 << 20
    stdout: int = 1_000_000
    stderr: int = 1_000_000
    total_output: int = 1_500_000
    memory: int | None = None
    file_size: int | None = None
    open_files: int | None = None
    processes: int | None = None
    cpus: float | None = None
    tmp_size: int | None = None


class BackendSpec(Record):
    """kind: landlock | container | seatbelt | bubblewrap | direct | external_backend; when: any | linux | macos | windows."""

    kind: str
    id: str | None = None
    when: str = "any"
    options: tuple[tuple[str, str | bool], ...] = ()


class Backends(Record):
    accept_declared_confinement: bool = False
    values: tuple[BackendSpec, ...] = ()


class Matcher(Record):
    """kind names a row of decision.matchers; value is its argument, children those of all/any/not."""

    kind: str
    value: str | None = None
    children: tuple[Matcher, ...] = ()


class Rule(Record):
    id: str
    action: str  # allow | ask | deny
    matcher: Matcher


class Policy(Record):
    default: str = "ask"
    rules: tuple[Rule, ...] = ()


class SecretSource(Record):
    """kind: from_env (name) | literal (value; never serialised)."""

    kind: str
    name: str = ""
    value: str = ""
    optional: bool = False


class Secrets(Record):
    replacement: str = "[REDACTED]"
    sources: tuple[SecretSource, ...] = ()


class RuntimeSpec(Record):
    """One effective `<shell_access>`: inheritance expanded, nothing left to look up but the machine."""

    id: str
    cwd: str = "${tool_dir}"
    pipefail: bool = False
    capabilities: Capabilities = Capabilities()
    resolver: Resolver = Resolver()
    environment: Environment = Environment()
    limits: Limits = Limits()
    backends: Backends = Backends()
    policy: Policy = Policy()
    secrets: Secrets = Secrets()
    requested_profile: str | None = None
    resolved_profile: str | None = None
    declared: frozenset[str] = frozenset()  # dotted names the author wrote, e.g. "limits.memory", "backends.landlock.proc"
    source_dir: str = ""


class ArgumentSource(Record):
    """One leading argument of a fixed command. kind: literal (value) | secret (env, prefix) | path (base, path)."""

    kind: str
    value: str = ""
    env: str = ""
    prefix: str = ""
    base: str | None = None
    path: str = ""


class FixedCommand(Record):
    """Exactly one of program / executable_ref is set."""

    program: str | None = None
    executable_ref: str | None = None
    arguments: tuple[ArgumentSource, ...] = ()


class ArgumentBounds(Record):
    mode: str = "optional"  # none | optional | required
    min_count: int = 0
    max_count: int | None = None
    max_item_bytes: int = 65536


class ToolSpec(Record):
    name: str
    runtime: str
    mode: str = "fixed"  # fixed | structured | chain | raw | script
    description: str | None = None
    stdin: str = "none"  # none | optional | required
    rationale: str = "none"
    result: str = "combined"  # combined | stdout | structured
    stream: str = "finalized"  # finalized | sanitized
    nonzero: str = "result"  # result | error
    command: FixedCommand | None = None
    arguments: ArgumentBounds = ArgumentBounds()


class Manifest(Record):
    """Everything resolved; `canonical` are its RFC 8785 bytes and `sha256` their digest."""

    runtimes: tuple[RuntimeSpec, ...]
    tools: tuple[ToolSpec, ...]
    canonical: bytes
    sha256: str

    def runtime(self, name: str) -> RuntimeSpec:
        """The runtime of that id; the compiler has checked every reference."""
        return next(item for item in self.runtimes if item.id == name)
