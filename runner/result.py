"""Result: the one type that comes back, and what a model, a program and a person get to see of it."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .model.command import Enforcement
from .model.manifest import Limits
from .model.outcome import CommandEntry, Outcome
from .model.outcome import Status as StatusRecord
from .outcomes import LIMIT_CODES
from .output import finalise
from .output.redact import Redactor

Mode = Literal["combined", "stdout", "structured"]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Exited(_Closed):
    """The command ended by itself with this code, 0 to 255."""

    exited: int


class Signaled(_Closed):
    """The command was ended by this POSIX signal."""

    signaled: int


class Usage(_Closed):
    """Seconds and bytes. peak_memory: of the largest process, or of the whole sandbox where a cgroup counts it."""

    wall: float
    user: float
    system: float
    peak_memory: int


class CommandResult(_Closed):
    """One executed command; core_dumped tells a core flag in its wait status."""

    program: str
    arguments: list[str]
    executable: str
    executable_sha256: str
    status: Exited | Signaled
    intercepted_by: str | None = None
    core_dumped: bool = False
    usage: Usage


class EnforcementResult(_Closed):
    """How far one constraint was held: fully, partly or not; by what; and why not more."""

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
    mode: Mode = Field(default="combined", exclude=True)
    nonzero: Literal["result", "error"] = Field(default="result", exclude=True)

    @classmethod
    def of(
        cls,
        outcome: Outcome,
        *,
        limits: Limits,
        redactor: Redactor | None = None,
        mode: Mode = "combined",
        nonzero: Literal["result", "error"] = "result",
    ) -> Result:
        """Dress an Outcome: both channels finalised, arguments and messages redacted too."""
        out = finalise(outcome.stdout, min(limits.stdout, limits.total_output), redactor)
        left = max(0, limits.total_output - len(out.text.encode())) if out.text else limits.total_output
        err = finalise(outcome.stderr, min(limits.stderr, left), redactor)
        return cls.model_construct(
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
            enforcement=_enforcement(outcome.enforcement),
            error=_error(outcome, redactor),
            mode=mode,
            nonzero=nonzero,
        )

    @property
    def success(self) -> bool:
        return self.error is None and isinstance(self.status, Exited) and self.status.exited == 0

    def render(self) -> str:
        """What a model gets: the chosen form of the output, or an error object with the safe part attached."""
        if self.error is not None:
            body: dict[str, Any] = {"error": self.error.model_dump()}
            if self.status is not None:
                body["result"] = self._rendered()
            return _compact(body)
        if self.nonzero == "error" and not self.success:
            message = f"the command {describe_status(self.status)}"
            return _compact({"error": {"code": "shell.tool_nonzero", "message": message}, "result": self._rendered()})
        rendered = self._rendered()
        return rendered if isinstance(rendered, str) else _compact(rendered)

    def _rendered(self) -> str | dict[str, Any]:
        if self.mode == "structured":
            return self.structured()
        return self.stdout if self.mode == "stdout" else self.stdout + self.stderr

    def structured(self) -> dict[str, Any]:
        """The structured object, error apart."""
        return self.model_dump(mode="json", exclude={"error"})

    def to_json(self) -> dict[str, Any]:
        """For programs: the structured object; on failure `{"error": …, "result": …}`, result null if nothing started."""
        if self.error is None:
            return self.structured()
        return {"error": self.error.model_dump(), "result": self.structured() if self.status is not None else None}


def describe_status(status: Exited | Signaled | None) -> str:
    """`exited with 3`, `was ended by signal 11`."""
    if isinstance(status, Exited):
        return f"exited with {status.exited}"
    return f"was ended by signal {status.signaled}" if status is not None else "did not start"


def error_result(request_id: str, runtime_id: str, manifest_sha256: str, code: str, message: str) -> Result:
    """A refusal before anything started."""
    outcome = Outcome(
        request_id=request_id, runtime_id=runtime_id, manifest_sha256=manifest_sha256, error=(code, message)
    )
    return Result.of(outcome, limits=Limits())


def json_schema() -> dict[str, Any]:
    """The published schema of the structured result."""
    return Result.model_json_schema(mode="serialization")


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _status(status: StatusRecord | None) -> Exited | Signaled | None:
    if status is None:
        return None
    if status.exited is not None:
        return Exited.model_construct(exited=status.exited)
    return Signaled.model_construct(signaled=status.signaled or 0)


_shown: tuple[tuple[Enforcement, ...], list[EnforcementResult]] = ((), [])


def _enforcement(rows: tuple[Enforcement, ...]) -> list[EnforcementResult]:
    """A sandbox reports the very same tuple for every call: dressed once."""
    global _shown
    if _shown[0] is not rows:
        _shown = (rows, [EnforcementResult.model_construct(**row.as_dict()) for row in rows])
    return list(_shown[1])


def _usage(usage: Any) -> Usage:
    return Usage.model_construct(
        wall=round(usage.wall, 6), user=usage.user, system=usage.system, peak_memory=usage.peak_memory
    )


def _command(entry: CommandEntry, redactor: Redactor | None) -> CommandResult:
    hide = redactor or str
    return CommandResult.model_construct(
        program=hide(entry.program),
        arguments=[hide(text) for text in entry.arguments],
        executable=entry.executable,
        executable_sha256=entry.executable_sha256,
        status=_status(entry.status) or Exited.model_construct(exited=0),
        intercepted_by=entry.intercepted_by,
        core_dumped=entry.status.core,
        usage=_usage(entry.usage),
    )


def _error(outcome: Outcome, redactor: Redactor | None) -> ErrorResult | None:
    hide = redactor or str
    if outcome.error is not None:
        return ErrorResult.model_construct(code=outcome.error[0], message=hide(outcome.error[1]))
    if outcome.limit is not None:
        code, message = LIMIT_CODES[outcome.limit]
        return ErrorResult.model_construct(code=code, message=message)
    return None
