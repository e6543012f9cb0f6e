"""The one table of limits: which there are, their unit, what holds them, what we add where nothing was declared."""

from __future__ import annotations

from ..errors import ManifestError
from ..model.manifest import Limits
from ..model.record import Record


class LimitRow(Record):
    """unit: seconds | bytes | count; scope: request | channel | process | sandbox; by: what enforces it."""

    name: str
    unit: str
    scope: str
    by: str


TABLE = (
    LimitRow(name="wall_time", unit="seconds", scope="request", by="deadline: TERM, grace, KILL"),
    LimitRow(name="idle_time", unit="seconds", scope="request", by="no byte on a pipe and no CPU time"),
    LimitRow(name="cpu_time", unit="seconds", scope="process and sandbox", by="RLIMIT_CPU, sampler"),
    LimitRow(name="max_stdin", unit="bytes", scope="request", by="checked before anything else"),
    LimitRow(name="stdout", unit="bytes", scope="channel", by="capture: the middle is dropped"),
    LimitRow(name="stderr", unit="bytes", scope="channel", by="capture: the middle is dropped"),
    LimitRow(name="total_output", unit="bytes", scope="request", by="capture: the command is ended"),
    LimitRow(name="memory", unit="bytes", scope="sandbox", by="cgroup, else sampler"),
    LimitRow(name="file_size", unit="bytes", scope="process", by="RLIMIT_FSIZE"),
    LimitRow(name="open_files", unit="count", scope="process", by="RLIMIT_NOFILE"),
    LimitRow(name="processes", unit="count", scope="sandbox", by="cgroup, RLIMIT_NPROC of the user namespace, else sampler"),
    LimitRow(name="cpus", unit="count", scope="sandbox", by="cgroup quota"),
    LimitRow(name="tmp_size", unit="bytes", scope="each private folder", by="tmpfs size"),
)
_OPTIONAL = ("idle_time", "cpu_time", "memory", "file_size", "open_files", "processes", "cpus", "tmp_size")


def fault(limits: Limits) -> tuple[str, str] | None:
    """(code, message) of the first value that no host could hold, or None."""
    for row in TABLE:
        value = getattr(limits, row.name)
        if value is None:
            if row.name not in _OPTIONAL:
                return "shell.required_limit_disabled", f"`{row.name}` cannot be switched off"
        elif not _is_number(value, whole=row.unit != "seconds" and row.name != "cpus"):
            return "shell.limit_invalid", f"`{row.name}` is a number of {row.unit}, not `{value!r}`"
        elif not (0 if row.name == "max_stdin" else 1e-9) <= value < (1 << 63):
            return "shell.limit_out_of_range", f"`{row.name}` is out of range: `{value}`"
    return None


def _is_number(value: object, *, whole: bool) -> bool:
    return isinstance(value, int if whole else int | float) and not isinstance(value, bool)


def check(limits: Limits) -> None:
    """Raise ManifestError for a value no host could hold."""
    found = fault(limits)
    if found:
        raise ManifestError(found[1], code=found[0])


def with_defaults(limits: Limits, total_memory: int) -> Limits:
    """Ours for what would harm the host where nothing was declared; best effort, they never refuse a load."""
    return limits.replace(
        processes=limits.processes or 1024,
        tmp_size=limits.tmp_size or 1 << 30,
        memory=limits.memory or total_memory * 3 // 4,
    )
