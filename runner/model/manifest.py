"""What an author declared, resolved: every default explicit, units normalised, paths still symbolic.

Shapes: sizes are bytes (int), durations seconds (float), paths are the symbolic text (`/abs` or `${variable}/rest`);
`None` means unset or cleared. Order is the author's wherever order has a meaning.
"""

from __future__ import annotations

from .extensions import Analyzer, Approvals, Audit, Interceptor, Reviewer, Script
from .extensions import Atom as Atom
from .extensions import Matcher as Matcher
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
    atoms: tuple[Atom, ...] = ()


class Backends(Record):
    accept_declared_confinement: bool = False
    values: tuple[BackendSpec, ...] = ()


class Example(Record):
    """A command line that the rule's author expects to be decided so; checked when the manifest is compiled."""

    argv: str
    action: str


class Rule(Record):
    id: str
    action: str  # allow | ask | deny
    matcher: Matcher
    examples: tuple[Example, ...] = ()


class Policy(Record):
    default: str = "ask"
    rules: tuple[Rule, ...] = ()


class SecretSource(Record):
    """kind: from_env (name) | from_file (name: a path expression) | literal (value; never serialised)."""

    kind: str
    name: str = ""
    value: str = ""
    optional: bool = False
    strip: bool = True  # from_file: without one newline at its end


class Secrets(Record):
    replacement: str = "[REDACTED]"
    sources: tuple[SecretSource, ...] = ()


class Source(Record):
    """Where a declaration stands. file: relative to the document compiled; folder: absolute, where its file lies; not
    part of the digest. namespace: as imported, or None."""

    file: str = ""
    folder: str = ""
    namespace: str | None = None
    line: int = 0


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
    approvals: Approvals = Approvals()
    reviewers: tuple[Reviewer, ...] = ()
    interceptors: tuple[Interceptor, ...] = ()
    effect_analysis: tuple[Analyzer, ...] = ()
    secrets: Secrets = Secrets()
    audit: Audit = Audit()
    requested_profile: str | None = None
    resolved_profile: str | None = None
    declared: frozenset[str] = frozenset()  # dotted names the author wrote, e.g. "limits.memory", "backends.landlock.proc"
    source: Source = Source()


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


class ShellSource(Record):
    """Of a raw tool: the shell, and what stands before the script in its argv."""

    executable: str
    arguments_before_script: tuple[str, ...] = ("-c",)


class ScriptFile(Record):
    """Of a script tool. interpreter None: the file is run itself. sha256: of the file as compiled."""

    path: str
    interpreter: str | None = None
    fixed_arguments: tuple[str, ...] = ()
    max_source_bytes: int = 1 << 20
    sha256: str = ""


class ToolSpec(Record):
    """Of command, shell and script exactly the one of its mode is set."""

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
    shell: ShellSource | None = None
    script: ScriptFile | None = None
    arguments: ArgumentBounds = ArgumentBounds()
    source: Source = Source()


class ImportedFile(Record):
    """file: relative to the document compiled."""

    file: str
    sha256: str
    namespace: str | None = None


class Manifest(Record):
    """Everything resolved; `canonical` are its RFC 8785 bytes and `sha256` their digest.

    scripts: those that something refers to. moderator_runtime: the runtime of moderator commands, or None. host_tools:
    names of tools of other kinds, left to the host. warnings: rendered diagnostics that stop nothing.
    """

    runtimes: tuple[RuntimeSpec, ...]
    tools: tuple[ToolSpec, ...]
    canonical: bytes
    sha256: str
    scripts: tuple[Script, ...] = ()
    moderator_runtime: str | None = None
    imports: tuple[ImportedFile, ...] = ()
    host_tools: tuple[str, ...] = ()
    required_features: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def runtime(self, name: str) -> RuntimeSpec:
        """The runtime of that id; the compiler has checked every reference."""
        return next(item for item in self.runtimes if item.id == name)
