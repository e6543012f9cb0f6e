"""The Linux sandbox: a private mount view, namespaces, Landlock, seccomp, rlimits and cgroups, through the launcher.

Theory of operation: prepare() turns one Access into a launcher configuration and starts a factory (launcher.c tells
which processes exist and in which order they end). Where this host refuses namespaces the same launcher confines with
Landlock and seccomp alone; `enforcement` says what that costs, and a required constraint that is not fully held refuses
to start. The view and the ruleset bind inodes, so every root's (device, inode) is compared before each use and the
factory replaced when one has changed.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from backends.launcher import wire
from backends.launcher.channel import FactoryGone, LauncherError
from backends.launcher.client import Factory, Worker
from backends.launcher.instance import LauncherInstance
from runner.errors import IsolationError
from runner.model.command import Access, Enforcement, Executable
from runner.model.manifest import Limits
from runner.model.paths import inside
from runner.model.record import Record
from runner.share import profile_path

from . import cgroup, enforce, rights, view

NAMESPACES = wire.MOUNTNS | wire.PIDNS | wire.IPCNS | wire.UTSNS | wire.CGROUPNS
_REFUSED = ("userns", "idmap", "mountns", "pivot", "clone", "root", "op", "loopback")
_CORE, _CPU, _FSIZE, _NOFILE, _NPROC = 4, 0, 1, 7, 6  # getrlimit(2), same on every Linux we build for


class Mode(Record):
    """How the sandbox stands on this host. flags: wire namespace flags (0: bare); proc: a fresh one; abi: Landlock's."""

    flags: int
    proc: bool
    abi: int = 0
    refused: str = ""


class LandlockBackend:
    name = "linux-landlock"
    confinement = "verified"

    def probe(self) -> tuple[Enforcement, ...]:
        """Make one sandbox over an empty grant and report how far each constraint holds."""
        sandbox = self.prepare(Access(cwd="/", home="/nonexistent", limits=Limits(memory=1 << 30, processes=64, cpus=1.0, tmp_size=1 << 20)), ahead=0)
        try:
            return sandbox.enforcement()
        finally:
            sandbox.close()

    def prepare(self, access: Access, *, ahead: int = 2) -> LandlockSandbox:
        """ahead: how many instances are kept armed (0: made when asked for)."""
        return LandlockSandbox(access, ahead)


class LandlockSandbox:
    def __init__(self, access: Access, ahead: int) -> None:
        self.access = identity(access)
        self.ahead, self.lock = ahead, allocate_lock()
        self.groups = cgroup.plan(access.limits)
        with open(profile_path("views", "linux.view"), encoding="utf-8") as file:
            self.table = file.read()
        self.mode = Mode(flags=0, proc=False)
        self.times: list[int] = []
        self.view = view.View(ops=(), rules=(), roots=(), declared=())
        self.reported: tuple[Mode, tuple[Enforcement, ...]] | None = None
        self.factory, self.spare = self._start()
        try:
            self.check()
        except BaseException:
            self.close()
            raise

    # -- making it ------------------------------------------------------------------------------------------------

    def _start(self) -> tuple[Factory, Worker | None]:
        """The strongest arrangement this host allows, tried in order; what was refused is kept for the report."""
        refused = ""
        for flags in _arrangements(self.access.network):
            for proc in (True, False) if flags & wire.MOUNTNS else (False,):
                try:
                    return self._attempt(Mode(flags=flags, proc=proc and self.access.proc, refused=refused))
                except LauncherError as error:
                    if error.step not in _REFUSED or not self._host_refuses(error):
                        raise self._explain(error) from error
                    refused = refused or f"{error.step}: {os.strerror(error.number)}"
                    if error.step != "op":
                        break
        raise IsolationError(f"no sandbox can be made on this host: {refused}", remedy="see `fumehood doctor`")

    def _attempt(self, mode: Mode) -> tuple[Factory, Worker]:
        userns = bool(mode.flags & wire.USERNS)
        if mode.flags & wire.MOUNTNS:
            size = self.access.limits.tmp_size or 0
            self.view = view.build(self.access, self.table, size, proc=mode.proc, old_proc=userns)
        else:
            self.view = view.bare_rules(self.access, self.table)
        factory = Factory(self._config(mode), self.ahead)
        try:
            worker = factory.take()
            worker.wait_armed()
        except BaseException:
            factory.close()
            raise
        self.mode = mode.replace(abi=factory.abi)
        return factory, worker

    def _host_refuses(self, error: LauncherError) -> bool:
        """Only a refusal of the mechanism leads on; a root that cannot be opened is the caller's to hear about."""
        if error.step == "root":
            return False
        return error.step != "op" or self.view.ops[error.index].kind == wire.PROC

    def _explain(self, error: LauncherError) -> IsolationError:
        if error.step in ("root", "op") and 0 <= error.index < len(self.view.ops):
            op = self.view.ops[error.index]
            return IsolationError(
                f"`{op.source or op.path}` cannot be put into the sandbox: {os.strerror(error.number)}",
                remedy="check that the path exists and that you may read it",
            )
        return error

    def _config(self, mode: Mode) -> wire.Config:
        from . import seccomp

        bare = not mode.flags & wire.MOUNTNS
        network = self.access.network
        ids = self.access.uid is not None
        return wire.Config(
            flags=mode.flags | wire.LANDLOCK | (wire.SETIDS if ids else 0),
            host_pid=os.getpid(),
            uid=self.access.uid if self.access.uid is not None else os.geteuid(),
            gid=self.access.gid if self.access.gid is not None else os.getegid(),
            ops=self.view.ops,
            rules=self.view.rules,
            bpf=seccomp.load_filter(network=network, isolated=not bare, cache_dir=self._cache()),
            limits=rlimits(self.access.limits, bool(self.groups.processes), mode.flags),
            groups=self.groups.groups,
            counters=self.groups.counters,
            staging=view.staging(self.view.ops),
            landlock_fs=rights.ALL_FS,
            landlock_net=rights.BIND_TCP | rights.CONNECT_TCP if bare and not network else 0,
            landlock_scope=_scopes(mode.flags),
        )

    def _cache(self) -> str | None:
        """Where compiled filters are kept; nowhere that a command could write."""
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME", "/"), ".cache")
        path = os.path.realpath(os.path.join(base, "fumehood"))
        return None if any(inside(path, root) for root in self.access.write) else path

    def check(self) -> None:
        """Refuse when something required is not fully held."""
        for item in self.enforcement():
            if item.constraint in self.access.required and item.level != "fully":
                raise IsolationError(
                    f"`{item.constraint}` cannot be fully enforced on this host: {item.why or 'no mechanism'}",
                    remedy='see `fumehood doctor`; drop the limit or declare sandbox="preferred"',
                )

    # -- using it -------------------------------------------------------------------------------------------------

    def open(self) -> LauncherInstance:
        with self.lock:
            if not self.fresh():
                self._renew()
            worker, self.spare = self.spare, None
            try:
                return self._instance(worker or self.factory.take())
            except FactoryGone:  # somebody killed it: one new start, then whatever that says
                self._renew()
                worker, self.spare = self.spare, None
                assert worker is not None
                return self._instance(worker)

    def _renew(self) -> None:
        """A factory for the roots as they are now. What still runs in the old one may end there; and this host may give
        less than it gave before, so what is required is asked again."""
        self._drop()
        self.factory, self.spare = self._start()
        self.check()

    def _instance(self, worker: Worker) -> LauncherInstance:
        bare = not self.mode.flags & wire.MOUNTNS
        return LauncherInstance(worker, bare=bare, write=self.access.write, counters=self.groups.names)

    def fresh(self) -> bool:
        """Whether the factory lives and every root is still the thing that was bound."""
        if self.factory.closed or self.factory.owner != os.getpid():
            return False
        times = []
        for path, device, inode in self.view.declared:
            try:
                info = os.stat(path)
            except OSError:
                if inode:
                    return False
                continue  # still missing
            if (info.st_dev, info.st_ino) != (device, inode):
                return False
            times.append(info.st_mtime_ns)
        return self._same_names(times)

    def _same_names(self, times: list[int]) -> bool:
        """Names to hide or protect may have come or gone; for what is hidden by default the roots' own time stamps say
        whether it is worth looking."""
        if view.protected_now(self.access) != self.view.protected:
            return False
        if times == self.times and not self.access.hide:
            return True
        self.times = times
        return view.hidden_now(self.access) == self.view.masked

    def enforcement(self) -> tuple[Enforcement, ...]:
        if self.reported is None or self.reported[0] is not self.mode:
            self.reported = (self.mode, enforce.report(self.access, self.mode, self.groups))
        return self.reported[1]

    def visible(self, executable: Executable) -> bool:
        """Whether the resolved program lies in something the view holds."""
        return any(inside(executable.canonical, root) for root in self.view.roots)

    def describe(self) -> str:
        """Every step of the view, every rule, every limit, one a line."""
        kinds = ("", "dir", "bind", "link", "file", "tmpfs", "proc", "devpts", "mask", "move")
        lines = [f"{kinds[op.kind]} {op.path} {op.source}".rstrip() for op in self.view.ops]
        lines += [f"allow {access:#06x} {path}" for path, access in self.view.rules]
        return "\n".join(lines)

    def _drop(self) -> None:
        if self.spare is not None:
            self.spare.close()
            self.spare = None
        self.factory.retire()

    def close(self) -> None:
        with self.lock:
            self._drop()
            self.factory.close()

    def __del__(self) -> None:
        if hasattr(self, "factory"):  # a forgotten sandbox ends with its last reference, not with the host
            self.close()


def _arrangements(network: bool) -> tuple[int, ...]:
    """Strongest first. Root needs no user namespace where it may make the others; bare is always last."""
    full = NAMESPACES | (0 if network else wire.NETNS)
    with_user = full | wire.USERNS
    return (full, with_user, 0) if os.geteuid() == 0 else (with_user, 0)


def _scopes(flags: int) -> int:
    """Only where no namespace carries the axis: a scope also parts the stages of one request from each other."""
    scope = 0 if flags & wire.PIDNS else rights.SIGNALS
    return scope | (0 if flags & wire.NETNS else rights.ABSTRACT_UNIX)


def rlimits(limits: Limits, grouped: bool, flags: int) -> tuple[tuple[int, int, int], ...]:
    """(resource, soft, hard); no cores ever. CPU time is whole seconds, the hard limit one later (setrlimit(2))."""
    found = [(_CORE, 0, 0)]
    if limits.cpu_time is not None:
        seconds = int(-(-limits.cpu_time // 1))
        found.append((_CPU, seconds, seconds + 1))
    if limits.file_size is not None:
        found.append((_FSIZE, limits.file_size, limits.file_size))
    if limits.open_files is not None:
        found.append((_NOFILE, limits.open_files, limits.open_files))
    if limits.processes is not None and not grouped and flags & wire.USERNS:
        # Counted per user namespace since Linux 5.14, so over this sandbox's own processes (and our three).
        found.append((_NPROC, limits.processes + 3, limits.processes + 3))
    return tuple(found)


def identity(access: Access) -> Access:
    """As root, the command runs as the owner of its write roots; of several owners none is chosen in silence."""
    if os.geteuid() != 0 or access.uid is not None:
        return access
    owners = {(info.st_uid, info.st_gid) for info in map(os.stat, access.write)}
    if len({uid for uid, _ in owners}) > 1:
        raise IsolationError(
            "the write roots belong to several users", remedy="name one with `--uid`, or grant roots of one owner"
        )
    if not owners or next(iter(owners))[0] == 0:
        return access
    uid, gid = next(iter(owners))
    return access.replace(uid=uid, gid=gid)
