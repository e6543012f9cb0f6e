"""What runs inside a sandbox, as the host sees it: proc_pid_task(5) children, proc_pid_stat(5) times, statm(5) sizes.

Used for activity (is a silent command computing?) and, where no cgroup can be written, as the sampler behind limits.
"""

from __future__ import annotations

import os

from ..model.record import Record

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Load(Record):
    """processes: without the launcher's own init; memory: resident bytes; cpu: seconds, ended children included."""

    processes: int = 0
    memory: int = 0
    cpu: float = 0.0


def load(init: int) -> Load:
    """Sum over every descendant of init; what vanishes meanwhile counts as nothing."""
    count, memory, ticks = 0, 0, _times(init, own=False)
    pending = _children(init)
    while pending:
        pid = pending.pop()
        count += 1
        memory += _resident(pid)
        ticks += _times(pid, own=True)
        pending += _children(pid)
    return Load(processes=count, memory=memory, cpu=ticks / _TICK)


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()]


def _resident(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return (int(fields[1]) - int(fields[2])) * _PAGE if len(fields) > 2 else 0


def _times(pid: int, *, own: bool) -> int:
    """utime + stime (unless not own) + cutime + cstime, in clock ticks."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if len(fields) < 15:
        return 0
    return sum(int(value) for value in fields[11 if own else 13 : 15])
