"""What an ending means: which limit a kernel counter or signal tells of, and why a command never ran.

A limit is named only on evidence (a kernel counter, the killing signal): EFBIG, EMFILE or EAGAIN seen by the command
alone is its own failure.
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..backend import Exit
    from ..model.command import Stage
    from ..model.manifest import Limits

_SIGKILL, _SIGXCPU, _SIGXFSZ = 9, 24, 25  # signal(7)


def breach_of(ended: Exit, limits: Limits) -> str | None:
    """The name of the limit that ended or held this stage, or None."""
    signaled = ended.status.signaled
    if ended.oom_kills:
        return "memory"
    if ended.forks_refused:
        return "processes"
    if signaled == _SIGXFSZ and limits.file_size is not None:
        return "file_size"
    if limits.cpu_time is not None:
        used = ended.usage.user + ended.usage.system
        if signaled == _SIGXCPU or (signaled == _SIGKILL and used >= limits.cpu_time):
            return "cpu_time"
    return None


def failure_of(stage: Stage, ended: Exit) -> tuple[str, str] | None:
    """(code, message) where the command never started, or nobody can say what ran; None where all is well."""
    if ended.failure is None:
        if not ended.changed:
            return None
        code, what = ("script_changed", stage.files[0]) if stage.files else ("executable_changed", stage.executable)
        return code, f"`{what.path}` was replaced by somebody else while it ran"
    step, number = ended.failure
    why = os.strerror(number)
    if step == "cwd":
        return "spawn_error", f"the working folder `{stage.cwd}` cannot be entered: {why}"
    if step == "verify":
        return "executable_changed", f"`{stage.executable.path}` is not the file that was checked: {why}"
    if step == "exec":
        hint = " (no `#!` line and no known format)" if number == errno.ENOEXEC else ""
        return "spawn_error", f"`{stage.executable.path}` cannot be executed: {why}{hint}"
    return "sandbox_unavailable", f"the command could not be confined: `{step}`: {why}"
