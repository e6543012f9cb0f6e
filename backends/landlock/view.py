"""Access -> the launcher's view operations and Landlock rules. Reads the host (what exists, what a name is), changes nothing.

Order is the meaning: skeleton first, then trees and roots by depth, so that a nested root lies over its parent. What
lies below a private tmpfs (/tmp, the home folder) is built per instance: it is parked below /.fumehood by the factory
and moved into place once the fresh tmpfs is there.
"""

from __future__ import annotations

import os
import stat

from backends.launcher import wire
from runner.model.command import Access
from runner.model.paths import inside, only_star
from runner.model.record import Record

from . import rights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FILE_LIMIT = 4 << 20


class View(Record):
    """ops and rules for the launcher; roots: everything bound; declared: (path, device, inode) of the roots of the
    declaration, to be found unchanged before each use (what the system's folders are, only an administrator changes);
    masked, protected: the names that were hidden and protected when it was built."""

    ops: tuple[wire.Op, ...]
    rules: tuple[tuple[str, int], ...]
    roots: tuple[str, ...]
    declared: tuple[tuple[str, int, int], ...]
    masked: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()


class _Builder:
    def __init__(self, access: Access, table: str, tmp_size: int, *, proc: bool, fresh_proc_needs_old: bool) -> None:
        self.access, self.tmp_size = access, tmp_size
        self.ops: list[wire.Op] = []
        self.rules: list[tuple[str, int]] = [("/", rights.LIST)]
        self.roots: list[str] = []
        self.keys: dict[str, tuple[int, int]] = {}
        self.private: list[str] = []
        self.parked: list[tuple[str, str]] = []
        self.seen: set[str] = set()
        self.masked, self.protected = hidden_now(access), protected_now(access)
        self.proc, self.old_proc = proc, fresh_proc_needs_old
        self.table = [line.split() for line in table.splitlines() if line and not line.startswith("#")]

    def build(self) -> View:
        self.choose_private()
        self.skeleton()
        self.system()
        self.granted()
        self.per_instance()
        self.hidden()
        return self.view()

    def view(self) -> View:
        return View(
            ops=tuple(self.ops), rules=tuple(self.rules), roots=tuple(self.roots), declared=self.declared(),
            masked=self.masked, protected=self.protected,
        )  # fmt: skip

    def add(self, kind: int, path: str, **fields: Any) -> None:
        self.ops.append(wire.Op(kind=kind, path=path, **fields))

    # -- what is private ------------------------------------------------------------------------------------------

    def choose_private(self) -> None:
        """/tmp and the home folder are fresh for every instance unless a declared root covers them."""
        grants = [*self.access.read, *self.access.write]
        wanted = ["/tmp", self.access.home] if self.access.private_tmp else [self.access.home]
        if any(inside(root, "/var/tmp") for root in (*grants, *self.access.tools)):
            wanted.append("/var/tmp")  # a root lies in it; otherwise it is a link to /tmp
        wanted.append("/dev/shm")
        for path in wanted:
            if path != "/" and not any(inside(path, root) for root in grants):
                self.private.append(path)

    def skeleton(self) -> None:
        for path, mode in (("/tmp", 0o1777), ("/dev", 0o755), ("/proc", 0o555), ("/var", 0o755), ("/run", 0o755)):
            self.add(wire.DIR, path, mode=mode)
        self.add(wire.DIR, "/etc")
        self.add(wire.DIR, "/.fumehood/roots", mode=0o711)
        if "/var/tmp" not in self.private and not any(inside("/var/tmp", root) for root in self.access.write):
            self.add(wire.SYMLINK, "/var/tmp", source="../tmp")
        else:
            self.add(wire.DIR, "/var/tmp", mode=0o1777)
        self.add(wire.DIR, self.access.home)
        for name, target in (
            ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"), ("ptmx", "pts/ptmx"),
        ):  # fmt: skip
            self.add(wire.SYMLINK, f"/dev/{name}", source=target)
        for name in ("shm", "pts"):
            self.add(wire.DIR, f"/dev/{name}")
        self.add(wire.DIR, "/.fumehood/proc")
        if self.proc and self.old_proc:
            # A user namespace may mount a fresh proc only while it can see a whole one (mount_namespaces(7)).
            self.add(wire.BIND, "/.fumehood/proc", source="/proc", flags=wire.READ_ONLY | wire.OPTIONAL)

    # -- the system -----------------------------------------------------------------------------------------------

    def system(self) -> None:
        for kind, path in self.table:
            if kind == "tree":
                self.tree(path)
            elif kind == "node" and os.path.exists(path):
                self.add(wire.BIND, path, source=path, flags=wire.ALLOW_DEVICES)
            elif kind == "file":
                self.copy(path)
        self.accounts()
        if self.access.network:
            self.copy("/etc/resolv.conf")
        self.rules += [("/etc", rights.READ), ("/dev", rights.DEVICE)]

    def tree(self, path: str) -> None:
        try:
            kind = os.lstat(path).st_mode
        except OSError:
            return
        if stat.S_ISLNK(kind):
            self.add(wire.SYMLINK, path, source=os.readlink(path))
            return
        self.bind(path, wire.READ_ONLY, rights.READ)

    def copy(self, path: str) -> None:
        try:
            with open(path, "rb", opener=_plain) as file:
                info = os.fstat(file.fileno())
                if not stat.S_ISREG(info.st_mode) or not info.st_mode & stat.S_IROTH or info.st_size > _FILE_LIMIT:
                    return
                self.add(wire.FILE, path, content=file.read(_FILE_LIMIT), mode=0o644)
        except OSError:
            return  # not on this host: not in the view

    def accounts(self) -> None:
        """/etc/passwd with the caller and the system's own names, nobody else's; the caller's line always exists."""
        uid = os.getuid() if self.access.uid is None else self.access.uid
        gid = os.getgid() if self.access.gid is None else self.access.gid
        lines = _lines("/etc/passwd")
        kept = [line for line in lines if _field(line, 2) in (0, uid, 65534) or 0 < _field(line, 2) < 1000]
        if not any(_field(line, 2) == uid for line in kept):
            kept.append(f"user:x:{uid}:{gid}::{self.access.home}:/bin/sh")
        self.add(wire.FILE, "/etc/passwd", content=("\n".join(kept) + "\n").encode(), mode=0o644)

    # -- declared roots -------------------------------------------------------------------------------------------

    def granted(self) -> None:
        """Tools, read and write roots by depth; a path granted twice has the stronger grant."""
        grants = dict.fromkeys((*self.access.tools, *expand(self.access.read)), rights.READ)
        grants |= dict.fromkeys(self.access.write, rights.WRITE)
        for path in self.protected:
            self.protect(path, grants)
        for path in sorted(grants, key=lambda item: (item.count("/"), item)):
            flags = 0 if grants[path] == rights.WRITE else wire.READ_ONLY
            self.bind(path, flags, grants[path])

    def protect(self, path: str, grants: dict[str, int]) -> None:
        """Read-only below a write root; its parents become mount points, which cannot be renamed away (rename(2), EBUSY)."""
        roots = [root for root in self.access.write if inside(path, root)]
        if not roots or not os.path.exists(path):
            return
        grants[path] = rights.READ
        parent = os.path.dirname(path)
        while parent != max(roots, key=len) and parent not in grants:
            grants[parent] = rights.WRITE
            parent = os.path.dirname(parent)

    def bind(self, path: str, flags: int, access: int) -> None:
        info = os.stat(path)
        self.roots.append(path)
        self.keys[path] = (info.st_dev, info.st_ino)
        self.rules.append((path, access))
        covered = any(inside(path, private) for private in self.private)
        where = f"/.fumehood/roots/{len(self.parked)}" if covered else path
        if covered:
            self.parked.append((where, path))
        if where in self.seen:
            self.ops = [op for op in self.ops if not (op.kind == wire.BIND and op.path == where)]
        self.seen.add(where)
        self.add(wire.BIND, where, source=path, flags=flags, device=info.st_dev, inode=info.st_ino)

    def declared(self) -> tuple[tuple[str, int, int], ...]:
        """Everything whose inode this view is about, zeros for a protected name that is missing: once something else stands
        there, the view is out of date."""
        roots = tuple((path, *self.keys[path]) for path in (*self.access.read, *self.access.write) if path in self.keys)
        return roots + tuple((path, *self.keys.get(path, (0, 0))) for path in self.protected)

    # -- fresh for every instance ---------------------------------------------------------------------------------

    def per_instance(self) -> None:
        fresh = wire.PER_INSTANCE
        for path in sorted(self.private, key=lambda item: item.count("/")):
            shared = path.endswith(("/tmp", "/shm"))
            mode, flags = (0o1777, fresh) if shared else (0o755, fresh | wire.OWNED)
            self.add(wire.TMPFS, path, size=self.tmp_size, mode=mode, flags=flags)
            self.rules.append((path, rights.WRITE))
        self.add(wire.DEVPTS, "/dev/pts", flags=fresh | wire.OPTIONAL)
        if self.proc:
            self.add(wire.PROC, "/proc", flags=fresh)
            self.rules.append(("/proc", rights.READ))
        for where, path in self.parked:
            self.add(wire.MOVE, path, source=where, flags=fresh)

    def hidden(self) -> None:
        """Mask names that exist now; where a parked root holds them, mask them there, they move along."""
        for path in (*self.masked, *self.sockets()):
            place = path
            for where, root in self.parked:
                if inside(path, root):
                    place = where + path[len(root) :]
            if place != path or any(inside(path, root) for root in self.roots):
                self.ops.insert(self._first_fresh(), wire.Op(kind=wire.MASK, path=place))

    def sockets(self) -> list[str]:
        """Path sockets of the host below what is only readable: a read root grants no conversation (connect(2) needs
        no write right on a read-only mount)."""
        names = {line.split(None, 7)[7] for line in _lines("/proc/net/unix")[1:] if line.count(" ") and "/" in line}
        readable = [root for root in self.roots if not any(inside(root, write) for write in self.access.write)]
        return sorted(
            name for name in names
            if name.startswith("/") and any(inside(name, root) for root in readable)
            and not any(inside(name, root) for root in self.access.write)
        )  # fmt: skip

    def _first_fresh(self) -> int:
        return next(i for i, op in enumerate(self.ops) if op.flags & wire.PER_INSTANCE)


def hidden_now(access: Access) -> tuple[str, ...]:
    """The names to be masked that exist at this moment: declared ones, credentials, `.env` files of each root."""
    roots = (*access.read, *access.write)
    names = [name for name in access.hide if os.path.lexists(name)]
    for root in roots:
        if root != "/" and os.path.isdir(root):
            names += [f"{root}/{name}" for name in os.listdir(root) if name == ".env" or name.startswith(".env.")]
    return tuple(dict.fromkeys(name for name in names if not any(inside(root, name) for root in roots)))


def protected_now(access: Access) -> tuple[str, ...]:
    """The protected names; one with `*` stands for what exists at this moment."""
    found: list[str] = []
    for name in access.protect:
        if "*" not in name:
            found.append(name)
            continue
        import glob

        found += sorted(map(os.path.realpath, glob.iglob(only_star(name), include_hidden=True)))
    return tuple(dict.fromkeys(found))


def expand(roots: tuple[str, ...]) -> list[str]:
    """`/` stands for its folders, but never for the ones that are the sandbox's own or the running host's."""
    found = []
    for root in roots:
        if root != "/":
            found.append(root)
            continue
        for name in sorted(os.listdir("/")):
            path = "/" + name
            if name not in ("tmp", "proc", "dev", "run", "sys", "lost+found") and not os.path.islink(path):
                found.append(path)
    return found


def build(access: Access, table: str, tmp_size: int, *, proc: bool, old_proc: bool) -> View:
    """The whole view of one Access; see the module."""
    return _Builder(access, table, tmp_size, proc=proc, fresh_proc_needs_old=old_proc).build()


def staging(ops: tuple[wire.Op, ...]) -> str:
    """Where the view is put together: the host's folder that covers the fewest sources, since what it covers must be held
    open, one descriptor each, until it is attached."""
    folders = [path for path in ("/tmp", "/mnt", "/run", "/srv", "/opt", "/media") if os.path.isdir(path) and not os.path.islink(path)]
    return min(folders, key=lambda path: sum(op.kind == wire.BIND and inside(op.source, path) for op in ops), default="/tmp")


def bare_rules(access: Access, table: str) -> View:
    """Rules alone, for hosts without namespaces: the same grants on the host's own paths, no proc, no private folder."""
    builder = _Builder(access, table, 0, proc=False, fresh_proc_needs_old=False)
    builder.rules = []
    for kind, path in builder.table:
        if kind in ("tree", "file") and os.path.exists(path):
            builder.rules.append((path, rights.READ))
        elif kind == "node":
            builder.rules.append((path, rights.DEVICE))
    builder.rules += [("/etc/passwd", rights.READ), ("/dev/pts", rights.DEVICE)]
    builder.rules += [("/dev/ptmx", rights.DEVICE)]
    if access.network:
        builder.rules.append((os.path.realpath("/etc/resolv.conf"), rights.READ))
    builder.roots += [os.path.realpath(path) for path, access in builder.rules if access == rights.READ]
    builder.granted()
    return builder.view().replace(ops=())


def _plain(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _field(line: str, index: int) -> int:
    parts = line.split(":")
    return int(parts[index]) if len(parts) > index and parts[index].isdigit() else -1
