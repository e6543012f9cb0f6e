"""One table: what ended a request -> error code for a model, status, exit code of `fumehood run`.

An error of the walk wins over a limit, a limit over the command's own ending. Exit codes: the command's own, 128 + signal;
124 for a time limit; 125 for anything of ours; 126 and 127 as shells give them; 130 cancelled.
"""

from __future__ import annotations

from .model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model.outcome import Outcome


class Row(Record):
    """ended_by: itself, a limit's name, or an error code. error: what a model is told, empty where nothing failed.

    status: `given` (the kernel's), `null` (nothing started), `either`. exit: None is what the status says.
    """

    ended_by: str
    error: str = ""
    message: str = ""
    status: str = "given"
    exit: int | None = None


OURS = 125
_ITSELF = Row(ended_by="itself")
_LIMITS = (
    Row(ended_by="wall_time", error="timed_out", message="the command was ended at its wall time limit", exit=124),
    Row(ended_by="idle_time", error="idle_timed_out", message="the command was ended: neither output nor work within its idle time limit", exit=124),
    Row(ended_by="cpu_time", error="cpu_time_limit_exceeded", message="the command used up its CPU time limit", exit=124),
    Row(ended_by="total_output", error="output_limit_exceeded", message="the command was ended: it wrote more than its output limit"),
    Row(ended_by="memory", error="memory_limit_exceeded", message="the command ran into its memory limit"),
    Row(ended_by="processes", error="processes_limit_exceeded", message="the command ran into its limit of processes"),
    Row(ended_by="file_size", error="file_size_limit_exceeded", message="the command was ended: a file grew past its size limit"),
    Row(ended_by="open_files", error="open_files_limit_exceeded", message="the command ran into its limit of open files"),
    Row(ended_by="tmp_size", error="tmp_size_limit_exceeded", message="the command filled its private temporary folder"),
)  # fmt: skip
_ERRORS = (  # the message is the error's own
    Row(ended_by="resolution_error", error="resolution_error", status="either", exit=127),
    Row(ended_by="spawn_error", error="spawn_error", status="either", exit=126),
    Row(ended_by="cancelled", error="cancelled", status="either", exit=130),
)
TABLE = (_ITSELF, *_LIMITS, *_ERRORS, Row(ended_by="any other error", status="either", exit=OURS))


def row_of(limit: str | None, code: str | None) -> Row:
    """The row of an Outcome. A code without a row of its own is ours; so is a limit nobody has written down."""
    if code is not None:
        return next((row for row in _ERRORS if row.ended_by == code), TABLE[-1].replace(ended_by=code, error=code))
    if limit is None:
        return _ITSELF
    unknown = Row(ended_by=limit, error=f"{limit}_limit_exceeded", message=f"the command ran into its limit `{limit}`")
    return next((row for row in _LIMITS if row.ended_by == limit), unknown)


def error_of(outcome: Outcome) -> tuple[str, str] | None:
    """(code, one-line message) for a model, or None where the command ended by itself."""
    if outcome.error is not None:
        return outcome.error
    row = row_of(outcome.limit, None)
    return (row.error, row.message) if row.error else None


def exit_code(outcome: Outcome) -> int:
    """What `fumehood run` exits with."""
    row = row_of(outcome.limit, outcome.error[0] if outcome.error else None)
    if row.exit is not None:
        return row.exit
    return OURS if outcome.status is None else outcome.status.code
