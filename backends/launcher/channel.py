"""The launcher's sockets: start one, send a packet with descriptors, receive one, and what its errors mean."""

from __future__ import annotations

import fcntl
import os
from _socket import AF_UNIX, MSG_CMSG_CLOEXEC, SCM_RIGHTS, SOCK_SEQPACKET, SOL_SOCKET, socket, socketpair

from runner.errors import IsolationError

from . import wire

LAUNCHER = os.path.join(os.path.dirname(__file__), "launcher")
_ANCILLARY = 4 * 4 + 32  # space for four descriptors


class LauncherError(IsolationError):
    """The launcher could not do one of its steps. step: name of `enum step`; number: errno; index: the view step."""

    def __init__(self, step: str, number: int, index: int = -1) -> None:
        what = f" at view step {index}" if index >= 0 else ""
        super().__init__(f"the sandbox cannot be made: `{step}`{what}: {os.strerror(number)}")
        self.step, self.number, self.index = step, number, index


class FactoryGone(IsolationError):
    """The factory process has ended (killed from outside, or out of memory)."""

    def __init__(self) -> None:
        super().__init__("the launcher has ended", remedy="call again: a new one is started")


def launcher_error(step: int, value: int) -> LauncherError:
    name = wire.STEPS[step] if step < len(wire.STEPS) else str(step)
    return LauncherError(name, value & 0xFFF, value >> 12) if name in ("root", "op") else LauncherError(name, value)


def send(sock: socket, data: bytes, fds: tuple[int, ...] = ()) -> None:
    ancillary = [(SOL_SOCKET, SCM_RIGHTS, b"".join(fd.to_bytes(4, "little") for fd in fds))] if fds else []
    sock.sendmsg([data], ancillary)


def receive(sock: socket, flags: int = 0) -> tuple[tuple[int, ...], list[int]] | None:
    """(packet fields, descriptors); None at the end of the connection. Raises BlockingIOError with MSG_DONTWAIT."""
    try:
        data, ancillary, _, _ = sock.recvmsg(wire.PACKET.size, _ANCILLARY, flags | MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        return None
    fds = [
        int.from_bytes(raw[at : at + 4], "little")
        for _, _, raw in ancillary
        for at in range(0, len(raw) - len(raw) % 4, 4)
    ]
    return (wire.PACKET.unpack(data), fds) if len(data) == wire.PACKET.size else None


def adopt(fd: int) -> socket:
    return socket(AF_UNIX, SOCK_SEQPACKET, 0, fd)  # all named: nothing is asked of the kernel


def pair() -> tuple[socket, socket]:
    return socketpair(AF_UNIX, SOCK_SEQPACKET, 0)


def send_start(runner: socket, record: bytes, fds: tuple[int, ...]) -> None:
    if len(record) <= wire.INLINE_START:
        send(runner, record, fds)
        return
    memory = wire.sealed(record)
    try:
        send(runner, wire.packet(wire.START), (memory, *fds))
    finally:
        os.close(memory)


def spawn() -> tuple[socket, int]:
    if not os.access(LAUNCHER, os.X_OK):
        raise IsolationError("the launcher is not built", remedy="install fumehood again with a C compiler, or run `make`")
    ours, theirs = pair()
    # Above every number that posix_spawn's own actions write to, whatever the caller closed of 0–3.
    high = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, 16)
    null = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in range(3)]
    try:
        pid = os.posix_spawn(LAUNCHER, ["fumehood"], {}, file_actions=[*null, (os.POSIX_SPAWN_DUP2, high, 3)])
    finally:
        os.close(high)
        theirs.close()
    return ours, pid
