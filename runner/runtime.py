"""A live runtime and the walk: resolve, effects, capabilities, policy, plan, start. One direction, no step back.

A Runtime is one authorised RuntimeSpec with everything the machine had to be asked for: paths resolved, environment
built, secrets loaded, aliases pinned, one sandbox prepared. Calls share it; each gets its own instance.
"""

from __future__ import annotations

import os
from functools import partial
from time import monotonic

from . import backend, environment, host, toolchains
from .compiler.variables import resolve as resolve_expression
from .decision import capabilities, effects, policy
from .decision.matchers import Subject
from .enact import CONFINED, ENFORCEABLE, Ran, captures, home_of, outcome_of, require_visible, sampled, total_memory
from .errors import DigestMismatch, IsolationError, ManifestError, Refusal
from .execution.capture import Capture, Tap
from .execution.pump import Pump
from .model.command import Access, Command, Request, Stage
from .model.outcome import Outcome
from .model.paths import inside
from .output.redact import Redactor, slack
from .planning import limits as limit_table
from .planning.hidden import default_hidden
from .share import profile_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .model.command import Decision, Effect, Executable, PinnedFile, Pipeline
    from .model.manifest import Manifest, Root, RuntimeSpec
    from .model.outcome import Status
    from .output.live import Stream

_VIEW = ("private_tmp", "proc", "dev")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")  # the sandbox's own, nobody's data


class Runtime:
    """Raises ManifestError or IsolationError when this host cannot give what the runtime declares."""

    def __init__(
        self, manifest: Manifest, spec: RuntimeSpec, bases: Mapping[str, str], environ: Mapping[str, str]
    ) -> None:
        self.spec, self.manifest_sha256 = spec, manifest.sha256
        self.bases = {**bases, "source_dir": spec.source.folder or bases["source_dir"]}
        limit_table.check(spec.limits)
        self.limits = limit_table.with_defaults(spec.limits, total_memory())
        self.environment, passed = environment.build(spec.environment, environ, self.resolve_path)
        self.secrets = (*passed, *_secrets(spec, environ))
        self.redactor = Redactor(self.secrets, spec.secrets.replacement) if self.secrets else None
        self.slack = slack(self.secrets)
        self.aliases = tuple(alias.replace(path=self.resolve_path(alias.path)) for alias in spec.resolver.executables)
        self.search_path = self._search_path()
        self.trusted = tuple(os.path.realpath(self.resolve_path(path)) for path in spec.resolver.trusted_roots)
        self.access = self._access(environ)
        self.ceiling = self._ceiling()
        with open(profile_path("effects", "builtin.toml"), encoding="utf-8") as file:
            self.effects = effects.load(file.read())
        self._pin()
        self.backend_name, self.sandbox = self._prepare()
        self.sampled = sampled(self.sandbox)
        self._fit_environment()
        self.variables = tuple(self.environment.items())
        self.judged: dict[tuple[Command, Executable, str], tuple[tuple[Effect, ...], Decision]] = {}

    # -- making it live -------------------------------------------------------------------------------------------

    def resolve_path(self, expression: str) -> str:
        """A path expression's absolute form; links are resolved where it matters, not here."""
        return resolve_expression(expression, self.bases)

    def _fit_environment(self) -> None:
        """Inherited folders as they are inside: the home at its real path, no temporary folder of the host's."""
        written = {operation.name for operation in self.spec.environment.operations if operation.kind == "set"}
        if "HOME" in self.environment and "HOME" not in written:
            self.environment["HOME"] = self.access.home
        folder = os.path.realpath(self.environment.get("TMPDIR", "/tmp"))
        if "TMPDIR" not in written and not any(inside(folder, root) for root in self.access.write):
            self.environment.pop("TMPDIR", None)

    def _search_path(self) -> tuple[str, ...]:
        declared = self.spec.resolver.search_path
        if declared:
            return tuple(self.resolve_path(path) for path in declared)
        return tuple(self.environment["PATH"].split(":"))

    def _access(self, environ: Mapping[str, str]) -> Access:
        declared = self.spec.capabilities
        read, write = self._roots(declared.read, environ), self._roots(declared.write, environ)
        home = home_of({"HOME": self.environment.get("HOME") or self.bases["home"]})
        hidden = tuple(os.path.realpath(self.resolve_path(path)) for path in declared.hide)
        aliases = tuple(place for alias in self.aliases for place in toolchains.companion(os.path.realpath(alias.path), home))
        tools = tuple(dict.fromkeys((*toolchains.discover(":".join(self.search_path), home), *aliases)))
        return Access(
            cwd=self._cwd(),
            read=read,
            write=write,
            hide=(*hidden, *default_hidden(home, (*read, *write), tools)),
            protect=tuple(os.path.realpath(self.resolve_path(path)) for path in declared.protect),
            tools=tools,
            network=declared.network,
            home=home,
            limits=self.limits,
            required=self._required(),
        ).replace(**self._view_options())

    def _roots(self, roots: tuple[Root, ...], environ: Mapping[str, str]) -> tuple[str, ...]:
        found = []
        for root in roots:
            if root.path_env is not None and root.path_env not in environ:
                if root.optional:
                    continue
                raise ManifestError(
                    f"the environment has no `{root.path_env}`, a declared root", code="shell.capability_path_missing"
                )
            path = environ[root.path_env] if root.path_env is not None else self.resolve_path(root.path or "")
            real = os.path.realpath(path)
            if not os.path.exists(real):
                raise ManifestError(
                    f"the root `{path}` does not exist", code="shell.directory_unavailable", remedy="make it, or declare another"
                )
            found.append(real)
        return tuple(dict.fromkeys(found))

    def _cwd(self) -> str:
        path = os.path.realpath(self.resolve_path(self.spec.cwd))
        if not os.path.isdir(path):
            raise ManifestError(f"the working folder `{path}` does not exist", code="shell.directory_unavailable")
        return path

    def _required(self) -> frozenset[str]:
        """Constraints that must hold fully: what the sandbox is, and everything the author asked for by name."""
        declared = self.spec.declared
        if self.spec.capabilities.sandbox != "required":
            return frozenset()
        names = CONFINED | {name for name in ENFORCEABLE if f"limits.{name}" in declared}
        names |= {name for name in ("protect", "hide") if f"capabilities.{name}" in declared}
        return names | {name for name in _VIEW if f"backends.landlock.{name}" in declared}

    def _view_options(self) -> dict[str, bool]:
        for item in self.spec.backends.values:
            if item.kind == "landlock":
                options = dict(item.options)
                return {name: bool(options[name]) for name in ("private_tmp", "proc") if name in options}
        return {}

    def _ceiling(self) -> capabilities.Ceiling:
        declared, access = self.spec.capabilities, self.access
        return capabilities.Ceiling(
            read=(*access.read, *_DEVICES, *((access.home,) if access.home != "/" else ())),
            write=(*access.write, *_DEVICES),
            hide=access.hide,
            protect=access.protect,
            network=declared.network,
            child_processes=declared.child_processes,
            arbitrary_code=declared.arbitrary_code,
            privilege_change=declared.privilege_change,
        )

    def _pin(self) -> None:
        for alias in self.aliases:
            try:
                self._resolve(alias.id)
            except Refusal as error:
                code = "digest_mismatch" if isinstance(error, DigestMismatch) else "unavailable"
                message = f"the executable `{alias.id}`: {error.message}"
                raise ManifestError(message, code=f"shell.executable_{code}", remedy=error.remedy) from error

    def _prepare(self) -> tuple[str, backend.Sandbox]:
        """The first declared backend of this platform that holds; direct only where the sandbox mode lets it."""
        mode = self.spec.capabilities.sandbox
        refused = []
        for item in self.spec.backends.values:
            if item.when not in ("any", "linux") or item.kind not in backend.BUILTIN:
                continue
            found = backend.load(item.kind)
            if (mode == "required" and found.confinement == "none") or (mode == "direct_unsafe" and found.confinement != "none"):
                continue
            try:
                return found.name, found.prepare(self.access)
            except IsolationError as error:
                refused.append(error)
        if refused:
            raise refused[0]
        raise IsolationError(
            f"no declared backend serves sandbox=\"{mode}\" here", code="shell.backend_unavailable",
            remedy="declare `<landlock/>` (Linux)",
        )  # fmt: skip

    # -- the walk -------------------------------------------------------------------------------------------------

    def run(self, request: Request, *, interrupt: int | None = None, stream: Stream | None = None) -> Outcome:
        """Take one request through the walk. Refusals before anything started are raised. stream: gets the output live."""
        first = self._plan_all(request, 0)
        started = monotonic()
        instance = self.sandbox.open()
        try:
            out, err = captures(self.limits, self.slack)
            pump = Pump(
                instance, self.limits, out, err, deadline=started + self.limits.wall_time, sampled=self.sampled,
                interrupt=interrupt, tap=None if stream is None else partial(_tap, stream, out),
            )  # fmt: skip
            ran, status, refusal = self._chain(request, first, pump)
        finally:
            instance.close()
        outcome = outcome_of(
            ran, pump, self.sandbox, request_id=request.id, runtime_id=self.spec.id,
            manifest_sha256=self.manifest_sha256, backend=self.backend_name, wall=monotonic() - started, status=status,
        )  # fmt: skip
        if refusal is not None and outcome.error is None:
            outcome = outcome.replace(error=(refusal.code, refusal.told))
        if stream is not None:
            stream.end(stopped=outcome.error is not None or outcome.limit is not None)
        return outcome

    def _chain(
        self, request: Request, first: tuple[Stage, ...], pump: Pump
    ) -> tuple[list[Ran], Status | None, Refusal | None]:
        """Pipelines in order; a later one is prepared only when it is selected, and refused, ends the request there. With
        what ran comes the status of the last pipeline."""
        ran: list[Ran] = []
        status: Status | None = None
        for index, pipeline in enumerate(request.pipelines):
            if pump.limit is not None or pump.cancelled:
                break
            if not _selected(pipeline, status):
                continue
            try:
                stages = first if index == 0 else self._plan_all(request, index)
            except Refusal as refusal:
                return ran, status, refusal
            ends = pump.run(stages, request.stdin if index == 0 else None)
            ran += [Ran(stage, *end) for stage, end in zip(stages, ends, strict=True)]
            status = self._status_of([ended.status for ended, _ in ends])
            if any(ended.failure for ended, _ in ends):
                break  # it never ran: neither success nor failure to go on from
        return ran, status, None

    def _status_of(self, stages: list[Status]) -> Status:
        """The last stage's; under pipefail the rightmost that is not success."""
        failed = [status for status in stages if status.exited != 0]
        return failed[-1] if failed and self.spec.pipefail else stages[-1]

    def _resolve(self, program: str) -> Executable:
        return host.resolve(
            program, aliases=self.aliases, search_path=self.search_path, cwd=self.access.cwd,
            trusted_roots=self.trusted, write_roots=self.access.write,
        )  # fmt: skip

    def _plan_all(self, request: Request, index: int) -> tuple[Stage, ...]:
        """Every stage of one pipeline, before any of them starts."""
        return tuple(self._plan(command, request) for command in request.pipelines[index].commands)

    def _plan(self, command: Command, request: Request) -> Stage:
        """Resolve, infer, check, decide: the Stage, or the Refusal that says at which step it ended."""
        executable = self._resolve(command.program)
        found, decision = self._judge(command, executable, request.kind)
        capabilities.check(found, self.ceiling, host.canonicalise)  # where paths lead may change: asked every time
        policy.require_allowed(decision)
        stage = Stage(executable=executable, arguments=command.arguments, cwd=self.access.cwd, environment=self.variables)
        if request.script is not None:
            stage = self._with_script(stage, request.script)
        for program in (executable, *stage.files):
            require_visible(self.sandbox, program)
        return stage

    def _with_script(self, stage: Stage, script: PinnedFile) -> Stage:
        """The declared script and no other: as the program itself, or as the first argument of its interpreter."""
        if stage.executable.requested == script.path:
            if stage.executable.fingerprint.sha256 != script.sha256:
                raise Refusal(f"the script `{script.path}` is not what was declared", code="script_changed",
                              remedy="have the manifest with the new file authorised")  # fmt: skip
            return stage
        file = host.pinned(script, write_roots=self.access.write)
        return stage.replace(files=(file,), arguments=(file.canonical, *stage.arguments[1:]))

    def _judge(self, command: Command, executable: Executable, kind: str) -> tuple[tuple[Effect, ...], Decision]:
        """Effects and verdict: functions of the command, the program and the manifest alone, so the last ones are kept."""
        key = (command, executable, kind)
        if key not in self.judged:
            found = effects.RAW if kind == "raw_shell" else effects.infer(command, executable, self.access.cwd, self.effects)
            subject = Subject(command=command, executable=executable, effects=found)
            if len(self.judged) >= 64 or executable.content is not None:
                self.judged.clear()
            self.judged[key] = (found, policy.decide(self.spec.policy, subject))
        return self.judged[key]

    def close(self) -> None:
        self.sandbox.close()


def _tap(stream: Stream, out: Capture, capture: Capture) -> Tap:
    """One more pipe of the stream, beside its capture."""
    channel, pipe = "stdout" if capture is out else "stderr", stream.pipe()

    def feed(data: bytes) -> None:
        if stream.wants(channel):
            stream.publish(channel, pipe.add(data))

    def done(stopped: bool) -> None:
        if stream.wants(channel):
            stream.publish(channel, pipe.end(stopped=stopped))

    return Tap(capture, feed, done)


def _secrets(spec: RuntimeSpec, environ: Mapping[str, str]) -> tuple[str, ...]:
    found = []
    for source in spec.secrets.sources:
        if source.kind == "literal":
            found.append(source.value)
        elif source.name in environ:
            found.append(environ[source.name])
        elif not source.optional:
            raise ManifestError(f"the environment has no `{source.name}`, a declared secret", code="shell.environment_missing")
    return tuple(value for value in found if value)


def _selected(pipeline: Pipeline, before: Status | None) -> bool:
    """before: of the last pipeline that ran, skipped ones aside."""
    success = before is None or before.exited == 0
    return pipeline.operator in ("", ";") or (pipeline.operator == "&&") == success
