"""cgroups, v2 or v1: where an instance's group may be made, what to write into it, which counters tell of a breach.

Reads /proc/self/{cgroup,mountinfo} (cgroups(7)). A group is usable where its folder is writable and, on v2, where the
controllers are enabled for its children. Nothing here is created: the launcher makes one group per instance.
"""

from __future__ import annotations

import os

from backends.launcher import wire
from runner.model.manifest import Limits
from runner.model.record import Record


class Groups(Record):
    """What the launcher is to make; memory/processes: whether a kernel counter bounds them; names of the counters."""

    groups: tuple[wire.Group, ...] = ()
    counters: tuple[wire.Counter, ...] = ()
    names: tuple[str, ...] = ()  # meaning of each counter: oom_kills | forks_refused | peak_memory
    memory: str = ""
    processes: str = ""
    cpus: str = ""


def plan(limits: Limits) -> Groups:
    """The groups for these limits on this host; empty where none is writable."""
    places = find()
    clean(places)
    groups: list[wire.Group] = []
    counters: list[wire.Counter] = []
    names: list[str] = []
    by = {"memory": "", "processes": "", "cpus": ""}
    for version, path, controllers in places:
        writes: list[tuple[str, str]] = []
        mine: list[tuple[str, str, str]] = []
        if "memory" in controllers and not by["memory"] and limits.memory:
            by["memory"] = f"cgroup v{version} memory"
            writes += _MEMORY_WRITES[version](limits.memory)
            mine += _MEMORY_COUNTERS[version]
        if "pids" in controllers and not by["processes"] and limits.processes:
            by["processes"] = f"cgroup v{version} pids"
            # The launcher's init is a member too: one more than the command may have.
            writes.append(("pids.max", str(limits.processes + 1)))
            mine.append(("forks_refused", "pids.events", "max"))
        if "cpu" in controllers and not by["cpus"] and limits.cpus:
            by["cpus"] = f"cgroup v{version} cpu quota"
            writes += _cpu_writes(version, int(limits.cpus * _PERIOD))
        if writes:
            counters += [wire.Counter(group=len(groups), file=file, key=key) for _, file, key in mine]
            names += [name for name, _, _ in mine]
            groups.append(wire.Group(path=path, writes=tuple(writes)))
    return Groups(groups=tuple(groups), counters=tuple(counters), names=tuple(names), **by)


def _v1_memory(size: int) -> list[tuple[str, str]]:
    return [("memory.limit_in_bytes", str(size)), ("?memory.memsw.limit_in_bytes", str(size))]


def _v2_memory(size: int) -> list[tuple[str, str]]:
    return [("memory.max", str(size)), ("?memory.swap.max", "0")]


_PERIOD = 100_000  # microseconds over which the quota is measured


def _cpu_writes(version: int, quota: int) -> list[tuple[str, str]]:
    if version == 2:
        return [("cpu.max", f"{quota} {_PERIOD}")]
    return [("cpu.cfs_period_us", str(_PERIOD)), ("cpu.cfs_quota_us", str(quota))]


_MEMORY_WRITES = {1: _v1_memory, 2: _v2_memory}
_MEMORY_COUNTERS = {
    1: [("oom_kills", "memory.oom_control", "oom_kill"), ("peak_memory", "memory.max_usage_in_bytes", "")],
    2: [("oom_kills", "memory.events", "oom_kill"), ("peak_memory", "memory.peak", "")],
}


def find() -> list[tuple[int, str, frozenset[str]]]:
    """(version, folder, controllers) of every place where a child group can be made now."""
    mounts = _mounts()
    found = []
    for line in _read("/proc/self/cgroup").splitlines():
        _, names, path = line.split(":", 2)
        version = 1 if names else 2
        key = names.removeprefix("name=") if names else ""
        for (kind, controllers), (root, point) in mounts.items():
            if kind != version or (names and key not in controllers.split(",")):
                continue
            place = _place(version, root, point, path)
            if place:
                have = frozenset(names.split(",")) if names else frozenset(_read(f"{place}/cgroup.subtree_control").split())
                found.append((version, place, have))
            break
    return found


def _place(version: int, root: str, point: str, path: str) -> str:
    """The nearest folder at or above our own that we may make children in."""
    inner = path[len(root) :] if root != "/" and path.startswith(root) else path
    own = os.path.normpath(point + "/" + inner)
    while own.startswith(point):
        if os.access(own, os.W_OK) and (version == 1 or "memory" in _read(f"{own}/cgroup.subtree_control")):
            return own
        if version == 1 or own == point:
            return ""
        own = os.path.dirname(own)
    return ""


def _mounts() -> dict[tuple[int, str], tuple[str, str]]:
    """(version, controllers) -> (root inside the hierarchy, mount point); proc_pid_mountinfo(5)."""
    found = {}
    for line in _read("/proc/self/mountinfo").splitlines():
        head, _, tail = line.partition(" - ")
        fields, kind = head.split(), tail.split()
        if kind[0] == "cgroup2":
            found[2, ""] = (fields[3], fields[4])
        elif kind[0] == "cgroup":
            names = ",".join(part for part in kind[2].split(",") if part not in ("rw", "ro"))
            found[1, names] = (fields[3], fields[4])
    return found


def clean(places: list[tuple[int, str, frozenset[str]]]) -> None:
    """Remove groups whose host or factory is gone; a group that still has members stays."""
    for _, place, _ in places:
        for name in _list(place):
            parts = name.split("-")
            if len(parts) != 4 or parts[0] != "fumehood":
                continue
            if not all(os.path.exists(f"/proc/{pid}") for pid in parts[1:3]):
                try:
                    os.rmdir(f"{place}/{name}")
                except OSError:
                    continue


def _list(place: str) -> list[str]:
    try:
        return os.listdir(place)
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
