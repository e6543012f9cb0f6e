"""The message format of launcher.h, host side: records in, bytes out. Both files describe the same layout.

Packets have one fixed size and travel over SOCK_SEQPACKET; configuration and start records travel as sealed memory
files (memfd_create(2)) so that no argument list can outgrow a packet and nothing can change after it was checked.
"""

from __future__ import annotations

import fcntl
import os
from struct import Struct

from runner.model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIG_MAGIC, START_MAGIC, PACKET_MAGIC = 0x31474346, 0x31545346, 0x314B5046

USERNS, MOUNTNS, PIDNS, NETNS, IPCNS, UTSNS, CGROUPNS, LANDLOCK, SETIDS, DIRECT = (1 << bit for bit in range(10))
DIR, BIND, SYMLINK, FILE, TMPFS, PROC, DEVPTS, MASK, MOVE = range(1, 10)
READ_ONLY, ALLOW_DEVICES, OPTIONAL, PER_INSTANCE, OWNED = (1 << bit for bit in range(5))

CONFIG, ARM, SPAWN, SIGNAL, COPY, START = range(1, 7)
READY, ARMED, EXIT, DONE, ERROR = range(16, 21)

STEPS = (
    "", "config", "host", "userns", "idmap", "mountns", "root", "op", "pivot", "clone", "cgroup", "loopback", "ruleset",
    "limit", "caps", "ids", "landlock", "seccomp", "cwd", "verify", "exec", "start", "copy",
)  # fmt: skip

_HEAD = Struct("=6I i 17I 3Q")
_OP = Struct("=6I 3Q")
_RULE = Struct("=2I Q")
_LIMIT = Struct("=2I 2Q")
_GROUP = Struct("=4I")
_WRITE = Struct("=2I")
_COUNTER = Struct("=4I")
_START = Struct("=4I 3Q 2q 4I")
PACKET = Struct("=2I 2i 8Q")

INLINE_START = 16384  # a start record up to this size needs no memory file
F_ADD_SEALS, ALL_SEALS = 1033, 0xF  # linux/fcntl.h: seal, shrink, grow, write


class Op(Record):
    """One step of building the view; see `enum op_kind`. content is for FILE only."""

    kind: int
    path: str
    source: str = ""
    flags: int = 0
    mode: int = 0o755
    size: int = 0
    device: int = 0
    inode: int = 0
    content: bytes = b""


class Group(Record):
    """One cgroup folder to make an instance's group below; writes are (file, text), `?file` where it exists."""

    path: str
    writes: tuple[tuple[str, str], ...] = ()


class Counter(Record):
    """A number to report with every exit: `key` at a line start of `file`, or the whole file where key is empty."""

    group: int
    file: str
    key: str


class Config(Record):
    """Everything a factory needs, once. limits: (resource, soft, hard); rules: (path in the view, access bits)."""

    flags: int
    host_pid: int
    uid: int
    gid: int
    umask: int = 0o022
    ops: tuple[Op, ...] = ()
    rules: tuple[tuple[str, int], ...] = ()
    bpf: bytes = b""
    limits: tuple[tuple[int, int, int], ...] = ()
    groups: tuple[Group, ...] = ()
    counters: tuple[Counter, ...] = ()
    staging: str = "/tmp"
    landlock_fs: int = 0
    landlock_net: int = 0
    landlock_scope: int = 0


class _Strings:
    """The string table: every distinct text once, ended by NUL; content blobs verbatim."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.known: dict[bytes, int] = {}

    def text(self, value: str) -> int:
        data = os.fsencode(value)
        if data not in self.known:
            self.known[data] = self.blob(data + b"\0")
        return self.known[data]

    def blob(self, data: bytes) -> int:
        offset = len(self.bytes)
        self.bytes += data
        return offset


def encode_config(config: Config) -> bytes:
    """The configuration record: head, tables in order, strings; every table starts at a multiple of eight."""
    strings = _Strings()
    strings.text("")
    ops = b"".join(_op(op, strings) for op in config.ops)
    rules = b"".join(_RULE.pack(strings.text(path), 0, access) for path, access in config.rules)
    limits = b"".join(_LIMIT.pack(resource, 0, soft, hard) for resource, soft, hard in config.limits)
    groups, writes = _groups(config.groups, strings)
    counters = b"".join(_COUNTER.pack(c.group, strings.text(c.file), strings.text(c.key), 0) for c in config.counters)
    staging = strings.text(config.staging)
    strings.blob(b"\0")

    body = bytearray(_HEAD.size)
    places: list[int] = []
    for table, size in (
        (ops, _OP.size), (rules, _RULE.size), (config.bpf, 8), (limits, _LIMIT.size), (groups, _GROUP.size),
        (writes, _WRITE.size), (counters, _COUNTER.size), (bytes(strings.bytes), 1),
    ):  # fmt: skip
        body += b"\0" * (-len(body) % 8)
        places += (len(body), len(table) // size)
        body += table
    _HEAD.pack_into(
        body, 0, CONFIG_MAGIC, len(body), config.flags, config.uid, config.gid, config.umask, config.host_pid,
        *places, staging, config.landlock_fs, config.landlock_net, config.landlock_scope,
    )  # fmt: skip
    return bytes(body)


def _op(op: Op, strings: _Strings) -> bytes:
    source = strings.blob(op.content) if op.kind == FILE else strings.text(op.source)
    size = len(op.content) if op.kind == FILE else op.size
    return _OP.pack(op.kind, op.flags, strings.text(op.path), source, op.mode, 0, size, op.device, op.inode)


def _groups(groups: Sequence[Group], strings: _Strings) -> tuple[bytes, bytes]:
    heads, writes, count = [], [], 0
    for group in groups:
        heads.append(_GROUP.pack(strings.text(group.path), count, len(group.writes), 0))
        writes += [_WRITE.pack(strings.text(file), strings.text(text)) for file, text in group.writes]
        count += len(group.writes)
    return b"".join(heads), b"".join(writes)


def encode_start(
    path: str,
    cwd: str,
    arguments: Sequence[str],
    environment: Sequence[tuple[str, str]],
    stat: tuple[int, int, int, int, int, int, int, int] | None,
) -> bytes:
    """The start record. stat: device, inode, size, mtime_ns, ctime_ns, mode, uid, gid to be found, or None."""
    texts = [path, cwd, *arguments, *(f"{name}={value}" for name, value in environment)]
    data = os.fsencode("\0".join(texts)) + b"\0"
    head = _START.pack(
        START_MAGIC, _START.size + len(data), len(arguments), len(environment), *(stat or (0,) * 8), 0
    )
    return head + data


def packet(kind: int, a: int = 0, b: int = 0) -> bytes:
    return PACKET.pack(PACKET_MAGIC, kind, a, b, 0, 0, 0, 0, 0, 0, 0, 0)


def sealed(data: bytes, name: str = "fumehood") -> int:
    """A memory file holding data that can never change again; the caller closes it."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        fcntl.fcntl(fd, F_ADD_SEALS, ALL_SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd
