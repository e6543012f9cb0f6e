"""Errors: what the author, the caller, the host or we did wrong. What a command or the policy did is a Result instead.

Every error has a stable `code`, one line of text, and an exit code of the command line. Message form: lower case, no
full stop, what was given in backticks, the cause after a colon; the remedy is kept apart and printed on its own line.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class RunnerError(Exception):
    """Root of the tree. code: stable name; remedy: one line that tells a person what to do (may be empty)."""

    exit_code = 125
    code = "internal_error"

    def __init__(self, message: str, *, code: str | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return self.message

    @property
    def told(self) -> str:
        """Message and remedy in one line, for a model: it must learn at once what to do instead."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class DeclarationError(RunnerError):
    """The document is wrong. problems: one rendered diagnostic each, `file:line: error[code]: message`."""

    exit_code = 65
    code = "shell.invalid_declaration"

    def __init__(
        self, message: str, *, code: str | None = None, remedy: str = "", problems: Sequence[str] = ()
    ) -> None:
        super().__init__(message, code=code, remedy=remedy)
        self.problems = tuple(problems)


class ManifestError(RunnerError):
    """The manifest is not authorised, or its runtime cannot be made live on this host."""

    exit_code = 65
    code = "shell.runtime_instantiation_failed"


class UsageError(RunnerError):
    """The caller used the command line or the API wrongly."""

    exit_code = 2
    code = "usage"


class RequestError(RunnerError):
    """The tool's input is wrong; becomes an error Result in a call, exit code 64 elsewhere."""

    exit_code = 64
    code = "shell.tool_invalid_input"


class Refusal(RunnerError):
    """The walk says no before anything starts: resolution, capability, policy, approval. Always becomes a Result."""

    exit_code = 125
    code = "denied"


class DigestMismatch(Refusal):
    """The file found is not the one that was pinned."""

    exit_code = 126
    code = "resolution_error"


class IsolationError(RunnerError):
    """The sandbox cannot be made or enforced as asked; nothing has started."""

    exit_code = 125
    code = "sandbox_unavailable"


class AuditError(RunnerError):
    """The evidence cannot be written."""

    exit_code = 125
    code = "audit_unavailable"
