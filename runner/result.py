"""Result: the one type that comes back, and what a model, a program and a person get to see of it.

A model gets `render()`: the form its tool declares, the structured one with exactly the documented fields. A program gets
`to_json()`: everything. Both attach what there is to an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from .model.manifest import Limits
from .model.outcome import Outcome
from .outcomes import error_of
from .output import finalise_both
from .output.terminal import visible

if TYPE_CHECKING:
    from .model.command import Enforcement
    from .model.outcome import CommandEntry
    from .model.outcome import Status as StatusRecord
    from .model.outcome import Usage as UsageRecord
    from .output.redact import Redactor

M = TypeVar("M", bound=BaseModel)
Mode = Literal["combined", "stdout", "structured"]
Nonzero = Literal["result", "error"]
_FOR_MODELS = {
    "request_id", "status", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "backend", "runtime_id",
    "manifest_sha256", "commands",
}  # fmt: skip
_NOT_FOR_MODELS = {"commands": {"__all__": {"core_dumped", "usage"}}}


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Exited(_Closed):
    """The command ended by itself with this code."""

    exited: Annotated[int, Field(ge=0, le=255)]


class Signaled(_Closed):
    """The command was ended by this POSIX signal."""

    signaled: Annotated[int, Field(ge=1, le=64)]


class Usage(_Closed):
    """Seconds and bytes. peak_memory: of the largest process, or of the whole sandbox where a cgroup counts it."""

    wall: float
    user: float
    system: float
    peak_memory: int


class CommandResult(_Closed):
    """One executed command. core_dumped: its wait status has the core flag."""

    program: str
    arguments: list[str]
    executable: str
    executable_sha256: str
    status: Exited | Signaled
    intercepted_by: str | None = None
    core_dumped: bool = False
    usage: Usage


class EnforcementResult(_Closed):
    """How far one constraint was held, by what, and why not more."""

    constraint: str
    level: Literal["fully", "partly", "not"]
    by: str
    why: str = ""


class ErrorResult(_Closed):
    """code is stable; message is one line for a person."""

    code: str
    message: str


class Result(_Closed):
    """What came of one request. status is null exactly when nothing started; error tells why, or which limit ended it."""

    request_id: str
    status: Exited | Signaled | None
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    backend: str
    runtime_id: str
    manifest_sha256: str
    commands: list[CommandResult]
    limit: str | None = None
    usage: Usage
    enforcement: list[EnforcementResult] = Field(default_factory=list)
    error: ErrorResult | None = None
    _mode: Mode = PrivateAttr("combined")
    _nonzero: Nonzero = PrivateAttr("result")
    _combined: str | None = PrivateAttr(None)

    @model_validator(mode="after")
    def _status_tells_whether_it_started(self) -> Self:
        if self.status is None and (self.commands or self.error is None):
            raise ValueError("without a status nothing started: there are no commands, and an error says why")
        return self

    @classmethod
    def of(
        cls,
        outcome: Outcome,
        *,
        limits: Limits,
        redactor: Redactor | None = None,
        mode: Mode = "combined",
        nonzero: Nonzero = "result",
    ) -> Result:
        """Dress an Outcome: both channels finalised; arguments, paths and messages redacted too."""
        error = error_of(outcome)
        out, err = finalise_both(outcome.stdout, outcome.stderr, limits, redactor, stopped=error is not None)
        result = cls.model_construct(
            request_id=outcome.request_id,
            status=_status(outcome.status),
            stdout=out.text,
            stderr=err.text,
            stdout_truncated=out.truncated,
            stderr_truncated=err.truncated,
            backend=outcome.backend,
            runtime_id=outcome.runtime_id,
            manifest_sha256=outcome.manifest_sha256,
            commands=[_command(entry, redactor) for entry in outcome.commands],
            limit=outcome.limit,
            usage=_usage(outcome.usage),
            enforcement=_enforcements(outcome.enforcement, redactor),
            error=_make(ErrorResult, code=error[0], message=_line(error[1], redactor)) if error else None,
        )
        result._mode, result._nonzero = mode, nonzero
        if redactor and mode == "combined" and out.text and err.text:
            result._combined = redactor(out.text + err.text)  # a secret may stand half in each
        return result

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The published schema of the whole structured object."""
        return cls.model_json_schema(mode="serialization")

    @property
    def success(self) -> bool:
        """It ran, nothing of ours and no limit ended it, and it exited with 0."""
        return self.error is None and isinstance(self.status, Exited) and self.status.exited == 0

    def failure(self) -> ErrorResult | None:
        """The error; for a tool with nonzero="error" also a command that did not succeed."""
        if self.error is not None or self._nonzero == "result" or self.success:
            return self.error
        return ErrorResult(code="shell.tool_nonzero", message=f"the command {describe_status(self.status)}")

    def render(self) -> str:
        """What a model gets: the declared form, or an error object with that form attached where something started."""
        failure = self.failure()
        shown = self._shown()
        if failure is None:
            return shown if isinstance(shown, str) else _compact(shown)
        body: dict[str, Any] = {"error": failure.model_dump()}
        return _compact(body if self.status is None else {**body, "result": shown})

    def _shown(self) -> str | dict[str, Any]:
        if self._mode == "structured":
            return self.model_dump(mode="json", include=_FOR_MODELS, exclude=_NOT_FOR_MODELS)
        if self._mode == "stdout":
            return self.stdout
        return self.stdout + self.stderr if self._combined is None else self._combined

    def structured(self) -> dict[str, Any]:
        """The whole structured object, error apart."""
        return self.model_dump(mode="json", exclude={"error"})

    def to_json(self) -> dict[str, Any]:
        """For programs: the structured object; on failure `{"error": …, "result": …}`, result null if nothing started."""
        failure = self.failure()
        if failure is None:
            return self.structured()
        return {"error": failure.model_dump(), "result": None if self.status is None else self.structured()}


def describe_status(status: Exited | Signaled | None) -> str:
    """`exited with 3`, `was ended by signal 11`."""
    if isinstance(status, Exited):
        return f"exited with {status.exited}"
    return f"was ended by signal {status.signaled}" if status is not None else "did not start"


def error_result(request_id: str, runtime_id: str, manifest_sha256: str, code: str, message: str) -> Result:
    """A refusal before anything started. The message comes redacted."""
    outcome = Outcome(
        request_id=request_id, runtime_id=runtime_id, manifest_sha256=manifest_sha256, error=(code, message)
    )
    return Result.of(outcome, limits=Limits())


def _compact(value: object) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(text: str, redactor: Redactor | None) -> str:
    """Words of a request or a path: nothing a terminal would obey, no secret. Foreign bytes come as U+FFFD or escapes."""
    return visible(redactor(text) if redactor else text)


def _line(text: str, redactor: Redactor | None) -> str:
    return _text(text, redactor).replace("\n", "\\n").replace("\t", "\\t")


def _status(status: StatusRecord | None) -> Exited | Signaled | None:
    if status is None:
        return None
    if status.exited is not None:
        return _make(Exited, exited=status.exited)
    return _make(Signaled, signaled=status.signaled or 0)


def _usage(usage: UsageRecord) -> Usage:
    return _make(
        Usage, wall=round(usage.wall, 6), user=usage.user, system=usage.system, peak_memory=usage.peak_memory
    )


def _make(model: type[M], **values: Any) -> M:
    """model_construct without its bookkeeping: every field is given, all of them checked where they were made."""
    made = model.__new__(model)
    put = object.__setattr__
    put(made, "__dict__", values)
    put(made, "__pydantic_fields_set__", set(values))
    put(made, "__pydantic_extra__", None)
    put(made, "__pydantic_private__", None)
    return made


_dressed: tuple[tuple[Enforcement, ...], Redactor | None, list[EnforcementResult]] = ((), None, [])


def _enforcements(rows: tuple[Enforcement, ...], redactor: Redactor | None) -> list[EnforcementResult]:
    """A sandbox reports the very same tuple for every call: dressed once."""
    global _dressed
    if _dressed[0] is not rows or _dressed[1] is not redactor:
        _dressed = (rows, redactor, [_enforcement(row, redactor) for row in rows])
    return list(_dressed[2])


def _enforcement(row: Enforcement, redactor: Redactor | None) -> EnforcementResult:
    level: Any = row.level  # the backends' own table; its words are a test's business
    return _make(
        EnforcementResult,
        constraint=row.constraint, level=level, by=row.by, why=_text(row.why, redactor)
    )


def _command(entry: CommandEntry, redactor: Redactor | None) -> CommandResult:
    return _make(
        CommandResult,
        program=_text(entry.program, redactor),
        arguments=[_text(text, redactor) for text in entry.arguments],
        executable=_text(entry.executable, redactor),
        executable_sha256=entry.executable_sha256,
        status=_status(entry.status) or _make(Exited, exited=0),
        intercepted_by=entry.intercepted_by,
        core_dumped=entry.status.core,
        usage=_usage(entry.usage),
    )
