"""A live runtime and the walk: resolve, effects, capabilities, policy, plan, start. One direction, no step back.

A Runtime is one authorised RuntimeSpec with everything the machine had to be asked for: paths resolved, environment
built, secrets loaded, aliases pinned, one sandbox prepared. Calls share it; each gets its own instance.
"""

from __future__ import annotations

from functools import partial
from time import monotonic

from . import backend, host
from .decision import capabilities, effects, policy
from .decision.matchers import Subject
from .enact import Ran, captures, outcome_of, require_visible, sampled
from .errors import DigestMismatch, IsolationError, ManifestError, Refusal
from .execution.capture import Capture, Tap
from .execution.pump import Pump
from .grammar import GrammarError, parse_single
from .instantiate import instantiate
from .model.command import Command, Request, Stage
from .model.outcome import Outcome
from .output.redact import Redactor, slack
from .share import profile_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .model.command import Decision, Effect, Executable, PinnedFile, Pipeline
    from .model.manifest import Manifest, Rule, RuntimeSpec
    from .model.outcome import Status
    from .output.live import Stream


class Runtime:
    """Raises ManifestError or IsolationError when this host cannot give what the runtime declares."""

    def __init__(
        self, manifest: Manifest, spec: RuntimeSpec, bases: Mapping[str, str], environ: Mapping[str, str]
    ) -> None:
        self.spec, self.manifest_sha256 = spec, manifest.sha256
        live = instantiate(spec, bases, environ)
        self.live, self.limits, self.access = live, live.limits, live.access
        self.environment, self.secrets = live.environment, live.secrets
        self.variables = tuple(live.environment.items())
        self.redactor = Redactor(self.secrets, spec.secrets.replacement) if self.secrets else None
        self.slack = slack(self.secrets)
        with open(profile_path("effects", "builtin.toml"), encoding="utf-8") as file:
            self.effects = effects.load(file.read())
        self.judged: dict[tuple[Command, Executable, str], tuple[tuple[Effect, ...], Decision]] = {}
        self._pin()
        self._check_examples()
        self.backend_name, self.sandbox = self._prepare()
        self.sampled = sampled(self.sandbox)

    # -- making it live -------------------------------------------------------------------------------------------

    def _check_examples(self) -> None:
        """What the author wrote beside a rule must be what the whole policy says."""
        for rule in self.live.policy.rules:
            for example in rule.examples:
                try:
                    command = parse_single(example.argv)
                    said = self._judge(command, self._resolve(command.program), "structured")[1].verdict
                except (GrammarError, Refusal) as error:
                    raise _example(rule, f"`{example.argv}` cannot be decided: {error}") from error
                if said != example.action:
                    raise _example(rule, f"`{example.argv}` is decided `{said}`, not `{example.action}`")

    def _pin(self) -> None:
        for alias in self.live.aliases:
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
            program, aliases=self.live.aliases, search_path=self.live.search_path, cwd=self.access.cwd,
            trusted_roots=self.live.trusted, write_roots=self.access.write,
        )  # fmt: skip

    def _plan_all(self, request: Request, index: int) -> tuple[Stage, ...]:
        """Every stage of one pipeline, before any of them starts."""
        return tuple(self._plan(command, request) for command in request.pipelines[index].commands)

    def _plan(self, command: Command, request: Request) -> Stage:
        """Resolve, infer, check, decide: the Stage, or the Refusal that says at which step it ended."""
        executable = self._resolve(command.program)
        found, decision = self._judge(command, executable, request.kind)
        capabilities.check(found, self.live.ceiling, host.canonicalise)  # where paths lead may change: asked every time
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
            subject = Subject(
                command=command, executable=executable, effects=found, kind=kind, canonicalise=host.canonicalise
            )
            judged = found, policy.decide(self.live.policy, subject)
            if self.live.fleeting:
                return judged
            if len(self.judged) >= 64 or executable.content is not None:
                self.judged.clear()
            self.judged[key] = judged
        return self.judged[key]

    def close(self) -> None:
        self.sandbox.close()


def _example(rule: Rule, message: str) -> ManifestError:
    return ManifestError(
        f"an example of the rule `{rule.id}`: {message}", code="shell.policy_example_failed", remedy="mend the rule, or the example"
    )


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


def _selected(pipeline: Pipeline, before: Status | None) -> bool:
    """before: of the last pipeline that ran, skipped ones aside."""
    success = before is None or before.exited == 0
    return pipeline.operator in ("", ";") or (pipeline.operator == "&&") == success
