"""One table: constraint -> how far it holds, by what, and why not more, for each arrangement of the host.

Rows are read top to bottom; profiles/views/enforcement.md shows the same per Landlock ABI for people.
"""

from __future__ import annotations

import os

from backends.launcher import wire
from runner.model.command import Access, Enforcement

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import Mode
    from .cgroup import Groups


def report(access: Access, mode: Mode, groups: Groups) -> tuple[Enforcement, ...]:
    """Every constraint once, in the table's order."""
    rows = _namespaced(access, mode) if mode.flags & wire.MOUNTNS else _bare(access, mode)
    return tuple(rows + _limits(access, mode, groups))


def _row(constraint: str, level: str, by: str, why: str = "") -> Enforcement:
    return Enforcement(constraint=constraint, level=level, by=by, why=why)


def _namespaced(access: Access, mode: Mode) -> list[Enforcement]:
    twice = f"mount view and Landlock ABI {mode.abi}" if mode.abi else "mount view"
    shared = "the host's network namespace is shared: host loopback is reachable"
    if access.network and mode.abi < 6:
        shared += ", and so are abstract sockets"
    return [
        _row("filesystem_read", "fully", twice),
        _row("filesystem_write", "fully", twice),
        _row("metadata", "fully", "mount view"),
        _row("network", "fully", "seccomp socket families" if access.network else "network namespace, loopback alone",
             shared if access.network else ""),
        _row("unix_sockets", "partly", "mount view and seccomp",
             "a socket that the host has, or makes later, below a read root can be connected to")
        if access.read else _row("unix_sockets", "fully", "mount view and network namespace"),
        _row("process_view", "fully", "pid namespace"),
        _row("signals", "fully", "pid namespace"),
        _row("cleanup", "fully", "pid namespace"),
        _row("seccomp", "fully", "seccomp allow-list"),
        _row("private_tmp", "fully" if access.private_tmp else "not", "tmpfs", "" if access.private_tmp else "switched off"),
        _row("proc", "fully", "fresh proc, read-only") if mode.proc
        else _row("proc", "not", "none", f"a fresh /proc cannot be mounted here ({mode.refused or 'switched off'}): "
                  "ps, /proc/cpuinfo and /dev/fd do not work"),
        _row("dev", "fully", "minimal /dev"),
        _names("hide", access.hide, "masks", "a name that somebody creates during a command is visible until its end"),
        _names("protect", access.protect, "read-only binds", "a name that does not exist yet is not protected"),
        _row("tmp_size", "fully", "tmpfs size"),
    ]  # fmt: skip


def _names(constraint: str, names: tuple[str, ...], by: str, why: str) -> Enforcement:
    """Masks and binds hold what is there when a call starts; of a name that is not there only this can be said."""
    there = all(os.path.lexists(name) for name in names)
    return _row(constraint, "fully" if there else "partly", by, "" if there else why)


def _bare(access: Access, mode: Mode) -> list[Enforcement]:
    landlock = f"Landlock ABI {mode.abi}" if mode.abi else "none"
    base = "fully" if mode.abi else "not"
    why = "" if mode.abi else "this kernel has no Landlock"
    lost = f"no namespaces on this host ({mode.refused})"
    return [
        _row("filesystem_read", base, landlock, why),
        _row("filesystem_write", "partly" if 0 < mode.abi < 3 else base, landlock,
             "truncate is not restricted below Landlock ABI 3" if 0 < mode.abi < 3 else why),
        _row("metadata", "partly", landlock, f"{lost}: stat, chmod, utime and xattr reach outside the roots"),
        _row("network", "fully", "seccomp socket families",
             "the host's network is shared: host loopback is reachable" if access.network else ""),
        _row("unix_sockets", "fully" if not access.network else "partly", "seccomp refuses connect",
             "" if not access.network else f"{lost}: path sockets of the host are reachable"),
        _row("process_view", "partly", landlock, f"{lost}: names and command lines of host processes can be read"
             if not mode.abi else f"{lost}: /proc is not granted, ps does not work"),
        _row("signals", "fully" if mode.abi >= 6 else "not", "Landlock scope",
             "" if mode.abi >= 6 else "Landlock below ABI 6 has no signal scope"),
        _row("cleanup", "partly", "subreaper", f"{lost}: processes outlive a launcher that is killed"),
        _row("seccomp", "fully", "seccomp allow-list"),
        _row("private_tmp", "not", "none", f"{lost}: no /tmp inside unless granted"),
        _row("proc", "not", "none", f"{lost}: the outer /proc is never granted"),
        _row("dev", "partly", landlock, f"{lost}: the host's nodes, by name"),
        _row("hide", "not", "none", f"{lost}: Landlock cannot deny below a granted root"),
        _row("protect", "not", "none", f"{lost}: Landlock cannot deny below a granted root"),
        _row("tmp_size", "not", "none", lost),
    ]  # fmt: skip


def _limits(access: Access, mode: Mode, groups: Groups) -> list[Enforcement]:
    no_group = "no cgroup can be written here"
    namespaced = bool(mode.flags & wire.USERNS)
    processes = (
        _row("processes", "fully", groups.processes) if groups.processes
        else _row("processes", "fully", "RLIMIT_NPROC in the user namespace",
                  "counted over all running requests of the runtime") if namespaced
        else _row("processes", "partly", "sampler", f"{no_group}: checked several times a second")
    )  # fmt: skip
    return [
        _row("memory", "fully", groups.memory) if groups.memory
        else _row("memory", "partly", "sampler", f"{no_group if access.limits.memory else 'our default'}: "
                  "checked several times a second"),
        processes,
        _row("cpu_time", "fully", "RLIMIT_CPU and sampler"),
        _row("file_size", "fully", "RLIMIT_FSIZE"),
        _row("open_files", "fully", "RLIMIT_NOFILE"),
        _row("cpus", "fully", groups.cpus) if groups.cpus else _row("cpus", "not", "none", no_group),
    ]  # fmt: skip
