"""What a declared runtime and a one-shot run share once a command is to be run: what must hold, where output goes, what came of it."""

from __future__ import annotations

import os

from .errors import Refusal
from .execution.capture import Capture
from .execution.ending import breach_of, failure_of
from .model.outcome import CommandEntry, Outcome, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .backend import Exit, Sandbox
    from .execution.pump import Pump
    from .model.command import Executable, Stage
    from .model.manifest import Limits
    from .model.outcome import Status

CONFINED = frozenset(("filesystem_read", "filesystem_write", "network", "seccomp"))  # what a sandbox is
ENFORCEABLE = ("memory", "processes", "cpu_time", "file_size", "open_files", "cpus", "tmp_size")  # limits a backend must hold


class Ran:
    """One stage that was started, with its end. wall: seconds."""

    __slots__ = ("ended", "stage", "wall")

    def __init__(self, stage: Stage, ended: Exit, wall: float) -> None:
        self.stage, self.ended, self.wall = stage, ended, wall


def captures(limits: Limits, slack: int = 0) -> tuple[Capture, Capture]:
    """stdout and stderr: three quarters of the bound from the start, one from the end, each with slack bytes more."""
    return (
        Capture(limits.stdout * 3 // 4 + slack, limits.stdout // 4 + slack),
        Capture(limits.stderr * 3 // 4 + slack, limits.stderr // 4 + slack),
    )


def require_visible(sandbox: Sandbox, executable: Executable) -> None:
    """Every program of the `#!` chain must lie in the view; 126 and the root to grant otherwise."""
    for part in (executable, *executable.interpreters):
        if not sandbox.visible(part):
            refusal = Refusal(
                f"`{part.path}` lies outside what the sandbox may read",
                code="resolution_error",
                remedy=f"grant `{os.path.dirname(part.canonical)}` for reading",
            )
            refusal.exit_code = 126
            raise refusal


def sampled(sandbox: Sandbox) -> frozenset[str]:
    """Names of the limits that no kernel mechanism holds in this sandbox."""
    return frozenset(row.constraint for row in sandbox.enforcement() if row.by == "sampler")


def outcome_of(
    ran: list[Ran], pump: Pump, sandbox: Sandbox, *, request_id: str, runtime_id: str, manifest_sha256: str, backend: str, wall: float,
    status: Status | None = None,
) -> Outcome:
    """What came of the stages that were started, in order (at least one). wall: of the whole request, seconds; status:
    of the last pipeline, where that is not its last stage's."""
    failed = next((failure for failure in (failure_of(one.stage, one.ended) for one in ran) if failure), None)
    breached = next((breach for breach in (breach_of(one.ended, pump.limits) for one in ran) if breach), None)
    last = ran[-1].ended
    return Outcome(
        request_id=request_id,
        runtime_id=runtime_id,
        manifest_sha256=manifest_sha256,
        backend=backend,
        status=None if last.failure and len(ran) == 1 else status or last.status,
        stdout=pump.out.channel(),
        stderr=pump.err.channel(),
        commands=tuple(_entry(one) for one in ran if not one.ended.failure),
        limit=pump.limit or breached,
        error=("cancelled", "the call was cancelled") if pump.cancelled else failed,
        usage=_total([one.ended for one in ran], wall),
        enforcement=sandbox.enforcement(),
    )


def _entry(one: Ran) -> CommandEntry:
    executable = one.stage.executable
    return CommandEntry(
        program=executable.requested,
        arguments=one.stage.arguments,
        executable=executable.canonical,
        executable_sha256="" if one.ended.changed else executable.fingerprint.sha256,
        status=one.ended.status,
        usage=one.ended.usage.replace(wall=one.wall),
    )


def _total(ends: list[Exit], wall: float) -> Usage:
    return Usage(
        wall=wall,
        user=sum(ended.usage.user for ended in ends),
        system=sum(ended.usage.system for ended in ends),
        peak_memory=max((ended.usage.peak_memory for ended in ends), default=0),
    )


def total_memory() -> int:
    """Bytes of RAM of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def home_of(environ: Mapping[str, str]) -> str:
    """The caller's home folder; where that is unknown or `/`, one that exists only inside."""
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        import pwd

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:
            home = "/"
    real = os.path.realpath(home)
    return real if real != "/" else "/home/user"
