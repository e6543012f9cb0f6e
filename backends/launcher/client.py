"""Host side of the launcher: one Factory per prepared sandbox, one Worker per request.

Ownership: the factory process is this process's child, started with posix_spawn(3) so that no Python is ever forked and
the caller's size costs nothing; closing its socket ends it and everything it made. A worker's three descriptors (init's
socket, its first runner's socket, a pidfd) belong to the Worker, which closes them. A Factory belongs to one pid: in a
forked child every descriptor is closed and the next use starts anew.
"""

from __future__ import annotations

import os
import select
from _signal import SIGKILL, pidfd_send_signal
from _socket import MSG_DONTWAIT, socket
from _thread import allocate_lock

from runner.errors import IsolationError
from runner.model.outcome import Status, Usage
from runner.model.record import Record

from . import wire
from .channel import FactoryGone, adopt, launcher_error, pair, receive, send, send_start, spawn

_living: set[Factory] = set()  # until closed; a sandbox closes its factory, and the end of the process all of them


class Ended(Record):
    """One stage has ended. failure: (step, errno) where the command itself never ran. counters: the kernel's own."""

    status: Status
    usage: Usage
    counters: tuple[int, ...]
    alone: bool
    changed: bool = False
    failure: tuple[str, int] | None = None


class Factory:
    """A running launcher. ahead: how many workers are kept armed. abi: the kernel's Landlock ABI (0: none)."""

    def __init__(self, config: wire.Config, ahead: int) -> None:
        self.ahead, self.waiting, self.out, self.closed, self.retired = ahead, 0, 0, False, False
        self.namespaced = bool(config.flags & wire.PIDNS)
        self.owner = os.getpid()
        self.lock = allocate_lock()
        self.socket, self.pid = spawn()
        _living.add(self)
        try:
            self.abi = self._configure(config)
            self.refill()
        except BaseException:
            self.close()
            raise

    def _configure(self, config: wire.Config) -> int:
        record = wire.sealed(wire.encode_config(config))
        try:
            send(self.socket, wire.packet(wire.CONFIG), (record,))
        finally:
            os.close(record)
        return max(0, self._expect(wire.READY)[0][2])

    def _expect(self, kind: int) -> tuple[tuple[int, ...], list[int]]:
        answer = receive(self.socket)
        if answer is None:
            raise FactoryGone
        if answer[0][1] == wire.ERROR:
            raise launcher_error(answer[0][2], answer[0][3])
        if answer[0][1] != kind:
            raise IsolationError(f"the launcher answered `{answer[0][1]}` where `{kind}` was due")
        return answer

    def refill(self) -> None:
        """Ask for as many workers as are missing; returns at once, arming happens beside us."""
        with self.lock:
            while not self.closed and not self.retired and self.waiting < self.ahead:
                self._ask()

    def _ask(self) -> None:
        try:
            send(self.socket, wire.packet(wire.ARM))
        except OSError as error:
            raise FactoryGone from error
        self.waiting += 1

    def take(self) -> Worker:
        """An armed worker, or the next one to be; it may still be arming, its first packet waits for it."""
        with self.lock:
            if not self.waiting:
                self._ask()
            self.waiting -= 1
            fields, fds = self._expect(wire.ARMED)
            self.out += 1
        return Worker(self, fields[2], fds)

    def given_back(self) -> None:
        """A worker that take() gave out has ended."""
        with self.lock:
            self.out -= 1
            last = self.retired and not self.out
        if last:
            self.close()

    def retire(self) -> None:
        """No new worker; what runs may end, and the factory with the last of it."""
        with self.lock:
            self.retired = True
            idle = not self.out
        if idle:
            self.close()

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        _living.discard(self)
        self.socket.close()
        if self.owner == os.getpid():
            try:
                os.waitpid(self.pid, 0)
            except ChildProcessError:
                pass  # the host ignores or reaps its children itself

    def __del__(self) -> None:
        self.close()  # only reached where the constructor failed half-way


class Worker:
    """One instance: its init, and everything that will ever run in it."""

    def __init__(self, factory: Factory, pid: int, fds: list[int]) -> None:
        control, runner, self.pidfd = fds
        self.factory, self.pid = factory, pid
        self.control = adopt(control)
        self.runners: list[socket | None] = [adopt(runner)]
        self.started, self.alone, self.closed, self.armed = 0, True, False, False
        self.pending: list[tuple[int, Ended]] = []

    def fileno(self) -> int:
        return self.control.fileno()

    def wait_armed(self) -> None:
        """Return when the instance stands; raises LauncherError with the step that failed."""
        while not self.armed:
            self._packet(receive(self.control))

    def start(self, record: bytes, *fds: int) -> int:
        """Send one command to a runner, fds: stdin, stdout, stderr and, perhaps, the program itself; its stage number."""
        stage = self.started
        if stage:
            ours, theirs = pair()
            self.runners.append(ours)
            send(self.control, _spawn_packet(stage), (theirs.fileno(),))
            theirs.close()
        runner = self.runners[stage]
        assert runner is not None
        try:
            send_start(runner, record, fds)
        except OSError as error:
            self._explain(error)
        self.started += 1
        self.alone = False
        return stage

    def _explain(self, cause: OSError) -> None:
        """A runner that is gone has said why on its socket, or init on the control socket."""
        for end in (*self.runners, self.control):
            while end is not None:
                try:
                    answer = receive(end, MSG_DONTWAIT)
                except (BlockingIOError, OSError):
                    break
                if answer is None:
                    break
                self._packet(answer)
        raise IsolationError("the sandbox has ended before the command started") from cause

    def place_copy(self, content: bytes, path: str) -> None:
        """Bind verified bytes read-only over `path`, in this instance alone."""
        self.wait_armed()
        bytes_fd, path_fd = wire.sealed(content), wire.sealed(os.fsencode(path) + b"\0")
        try:
            send(self.control, wire.packet(wire.COPY), (bytes_fd, path_fd))
        finally:
            os.close(bytes_fd)
            os.close(path_fd)
        while (answer := receive(self.control)) is None or answer[0][1] != wire.DONE:
            found = self._packet(answer)  # raises for an error, and for the end of the connection
            if found is not None:
                self.pending.append(found)

    def ended(self) -> list[tuple[int, Ended]]:
        """Stages that have ended since the last call; never blocks."""
        news, self.pending = self.pending, []
        while True:
            try:
                found = self._packet(receive(self.control, MSG_DONTWAIT))
            except BlockingIOError:
                return news
            if found is not None:
                news.append(found)

    def _packet(self, answer: tuple[tuple[int, ...], list[int]] | None) -> tuple[int, Ended] | None:
        if answer is None:
            raise IsolationError("the launcher was killed", remedy="nothing of the command is left; call again")
        _, kind, a, b, user, system, peak, flags, *counters = answer[0]
        if kind == wire.ERROR:
            raise launcher_error(a, b)
        if kind == wire.READY:
            self.armed = True
        if kind != wire.EXIT:
            return None
        self.alone = bool(flags & 1)
        status = _status(b)
        usage = Usage(user=user / 1e6, system=system / 1e6, peak_memory=peak << 10)
        failure = self._failure(a) if status.exited in (125, 126, 127) else None
        return a, Ended(
            status=status, usage=usage, counters=tuple(counters), alone=self.alone,
            changed=bool(flags & 2), failure=failure,
        )  # fmt: skip

    def _failure(self, stage: int) -> tuple[str, int] | None:
        runner = self.runners[stage]
        try:
            answer = receive(runner, MSG_DONTWAIT) if runner is not None else None
        except BlockingIOError:
            return None
        return (wire.STEPS[answer[0][2]], answer[0][3]) if answer and answer[0][1] == wire.ERROR else None

    def signal(self, number: int) -> None:
        try:
            send(self.control, wire.packet(wire.SIGNAL, number))
        except OSError:
            pass  # everything inside is gone already

    def _kill(self) -> None:
        try:
            pidfd_send_signal(self.pidfd, SIGKILL)
        except ProcessLookupError:
            pass  # it has ended by itself

    def close(self) -> None:
        """Everything inside is dead when this returns (pid_namespaces(7): init's end kills and reaps the rest)."""
        if self.closed:
            return
        self.closed = True
        mine = self.factory.owner == os.getpid()
        if mine and not self.alone and self.factory.namespaced:
            self._kill()
        if mine:
            self._refill()
        for end in (self.control, *self.runners):
            if end is not None:
                end.close()  # without a pid namespace init now sweeps its descendants, then ends
        if mine and not self.alone:
            poller = select.poll()
            poller.register(self.pidfd, select.POLLIN)
            poller.poll()
        os.close(self.pidfd)
        self.factory.given_back()

    def _refill(self) -> None:
        try:
            self.factory.refill()
        except IsolationError:
            pass  # the next take() says so, to somebody who wants a worker


def _status(status: int) -> Status:
    if os.WIFSIGNALED(status):
        return Status(signaled=os.WTERMSIG(status), core=os.WCOREDUMP(status))
    return Status(exited=os.WEXITSTATUS(status))


def _spawn_packet(stage: int) -> bytes:
    return wire.packet(wire.SPAWN, stage)


def _after_fork() -> None:
    """In a forked child our sockets are another's: drop them, so that the parent's end still ends everything."""
    for factory in list(_living):
        factory.closed = True
        factory.socket.close()
    _living.clear()


os.register_at_fork(after_in_child=_after_fork)
