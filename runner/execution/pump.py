"""One loop for one request: descriptors in and out, deadlines, the launcher's reports. No thread, no sleep.

Contract: run() starts one pipeline in an instance and returns when its direct children have ended, whoever else may
still hold the pipes; what they wrote is read to the end, and what a background process goes on writing for a short
bounded while. Breaches: `limit` names the first; the command is then ended by TERM, a grace, KILL, and reaped.
Time is time.monotonic(), in seconds.
"""

from __future__ import annotations

import errno
import os
import select
from _signal import SIG_DFL, SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, signal
from time import monotonic

from ..errors import IsolationError
from .tree import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..backend import Exit, Instance
    from ..model.command import Stage
    from ..model.manifest import Limits
    from .capture import Capture, Tap
    from .tree import Load

GRACE = 1.0  # between TERM and KILL
KILLS = 3  # how often KILL is sent through init before the whole instance is killed from outside
QUIET = 0.2  # after the command's end: how long a silent holder of its pipes is waited for
LINGER = 2.0  # and how long a talking one
TICK = 0.1  # sampler's period, where a limit rests on it
SPIN = 0.0002  # how long the status is looked for after the pipes closed, before sleeping for it costs a wake-up more
_RELAYED = (SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2)


class Pump:
    """sampled: names of limits that no kernel mechanism holds here (memory, processes). interrupt: a descriptor whose
    readability cancels the request (or None). tap: asked for every pipe into a capture, by somebody who looks on."""

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        out: Capture,
        err: Capture,
        *,
        deadline: float,
        sampled: frozenset[str] = frozenset(),
        interrupt: int | None = None,
        relay: bool = False,
        tap: Callable[[Capture], Tap] | None = None,
    ) -> None:
        self.instance, self.limits, self.out, self.err = instance, limits, out, err
        self.deadline, self.sampled, self.interrupt = deadline, sampled, interrupt
        self.relayed, self.tap = _RELAYED if relay else (), tap
        self.limit: str | None = None
        self.cancelled = False
        self.poller = select.poll()
        self.poller.register(instance.fileno(), select.POLLIN)
        if interrupt is not None:
            self.poller.register(interrupt, select.POLLIN)
        self.readers: dict[int, Capture | Tap] = {}
        self.stdin: tuple[int, memoryview] | None = None
        self.exits: dict[int, tuple[Exit, float]] = {}
        self.started: dict[int, float] = {}
        self.cpu = 0.0
        self.active = self.sampled_at = monotonic()
        self.kill_at: float | None = None
        self.kills = 0

    # -- starting -------------------------------------------------------------------------------------------------

    def run(self, stages: tuple[Stage, ...], stdin: bytes | None) -> list[tuple[Exit, float]]:
        """Per stage, its end and its wall time. Raises IsolationError when the sandbox itself fails."""
        numbers = self._start(stages, stdin)
        try:
            self._loop(numbers)
            self._drain()
        finally:
            self._close()
        return [self.exits[number] for number in numbers]

    def attach(self, stages: tuple[Stage, ...], fds: tuple[int, int, int]) -> list[tuple[Exit, float]]:
        """Like run() for one stage, with the caller's own descriptors instead of captured channels."""
        self.active = monotonic()
        before = {number: signal(number, self._relay) for number in self.relayed}
        try:
            number = self.instance.start(stages[0], *fds)
            self.started[number] = self.active
            self._loop([number])
        finally:
            for name, handler in before.items():
                signal(name, handler if handler is not None else SIG_DFL)
        return [self.exits[number]]

    def _relay(self, number: int, frame: object) -> None:
        """A signal for us is one for the command, which answers it as it likes."""
        self.instance.signal(number)

    def _start(self, stages: tuple[Stage, ...], stdin: bytes | None) -> list[int]:
        """All stages at once, joined by pipes; our copies of the children's ends are closed as soon as they are sent."""
        numbers: list[int] = []
        held: list[int] = []  # the children's ends that are still open here
        try:
            source = self._source(stdin, held)
            for index, stage in enumerate(stages):
                after, sink = (-1, self._sink(self.out, held)) if index == len(stages) - 1 else self._pipe(held)
                errors = self._sink(self.err, held)
                number = self.instance.start(stage, source, sink, errors)
                for fd in (source, sink, errors):
                    held.remove(fd)
                    os.close(fd)
                source = after
                self.active = self.started[number] = monotonic()
                numbers.append(number)
        except BaseException:
            for fd in held:
                os.close(fd)
            self._close()
            raise
        return numbers

    def _pipe(self, held: list[int]) -> tuple[int, int]:
        ends = os.pipe2(os.O_CLOEXEC)
        held += ends
        return ends

    def _source(self, stdin: bytes | None, held: list[int]) -> int:
        if not stdin:
            held.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
            return held[-1]
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        held.append(ours)
        os.set_blocking(theirs, False)
        self.stdin = (theirs, memoryview(stdin))
        self.poller.register(theirs, select.POLLOUT)
        return ours

    def _sink(self, capture: Capture, held: list[int]) -> int:
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        held.append(theirs)
        self.readers[ours] = capture if self.tap is None else self.tap(capture)
        self.poller.register(ours, select.POLLIN)
        return theirs

    # -- the loop -------------------------------------------------------------------------------------------------

    def _loop(self, numbers: list[int]) -> None:
        waiting = set(numbers)
        had_readers = bool(self.readers)
        while waiting:
            if had_readers and not self.readers:
                self._spin(waiting)
                had_readers = False
                continue
            for fd, events in self.poller.poll(self._timeout()):
                self._serve(fd, events, waiting)
            self._watch(monotonic())

    def _spin(self, waiting: set[int]) -> None:
        """Both channels have closed: the command is in its last microseconds, sleeping costs more than looking."""
        stop = monotonic() + SPIN
        while waiting and monotonic() < stop:
            self._collect(waiting)

    def _serve(self, fd: int, events: int, waiting: set[int]) -> None:
        if fd in self.readers:
            self._read(fd)
        elif self.stdin is not None and fd == self.stdin[0]:
            self._write()
        elif fd == self.interrupt:
            self.poller.unregister(fd)
            self.cancelled = True
            self._end()
        else:
            self._collect(waiting)

    def _collect(self, waiting: set[int]) -> None:
        now = monotonic()
        for number, ended in self.instance.exits():
            self.exits[number] = (ended, now - self.started[number])
            waiting.discard(number)
            if ended.failure is not None and waiting:
                self._abandon()

    def _read(self, fd: int) -> bool:
        """One read; whether anything may be left."""
        count = self.readers[fd].read(fd)  # only called where poll said so: it never blocks
        if not count:
            self._forget(fd)
            return False
        self.active = monotonic()
        if self.out.total + self.err.total > self.limits.total_output:
            self._breach("total_output")
        return True

    def _write(self) -> None:
        assert self.stdin is not None
        fd, rest = self.stdin
        try:
            rest = rest[os.write(fd, rest[: 1 << 16]) :]
            self.active = monotonic()
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EPIPE:
                raise
            rest = rest[:0]  # the command closed its input: that is its right
        self.stdin = (fd, rest) if rest else None
        if not rest:
            self.poller.unregister(fd)
            os.close(fd)

    def _forget(self, fd: int) -> None:
        self.poller.unregister(fd)
        reader = self.readers.pop(fd)
        os.close(fd)
        reader.end(self.limit is not None or self.cancelled)

    # -- limits ---------------------------------------------------------------------------------------------------

    def _timeout(self) -> float | None:
        """Milliseconds until something is to be looked at."""
        moments = [self.deadline if self.kill_at is None else self.kill_at]
        if self.kill_at is None and self.limits.idle_time is not None:
            moments.append(max(self.active, self.sampled_at) + self.limits.idle_time / 4)
        if self.sampled or self.limits.cpu_time is not None:
            moments.append(self.sampled_at + TICK)
        left = min(moments) - monotonic()
        return None if left == float("inf") else max(0.0, left * 1000) + 1

    def _watch(self, now: float) -> None:
        if self.kill_at is not None:
            if now >= self.kill_at:
                self._kill_again(now)
            return
        if now >= self.deadline:
            self._breach("wall_time")
        elif self._due(now):
            self._sample(now)

    def _kill_again(self, now: float) -> None:
        """KILL, a few times; what outlives that (its init is stopped, the kernel holds it) is ended with its instance."""
        self.kills += 1
        if self.kills > KILLS:
            raise IsolationError("the command could not be ended in its sandbox; the sandbox itself was killed")
        self.instance.signal(SIGKILL)
        self.kill_at = now + GRACE

    def _due(self, now: float) -> bool:
        if (self.sampled or self.limits.cpu_time is not None) and now >= self.sampled_at + TICK:
            return True
        idle = self.limits.idle_time
        return idle is not None and now >= max(self.active, self.sampled_at) + idle / 4

    def _sample(self, now: float) -> None:
        """Look at the tree: the sampled limits, and whether a silent command computes (1 % of a CPU is activity)."""
        seen = load(getattr(self.instance, "pid", 0))
        if seen.cpu - self.cpu >= 0.01 * (now - self.sampled_at):
            self.active = now
        self.cpu, self.sampled_at = seen.cpu, now
        breached = self._sampled_breach(seen)
        if breached is not None:
            self._breach(breached)
        elif self.limits.idle_time is not None and now - self.active >= self.limits.idle_time:
            self._breach("idle_time")

    def _sampled_breach(self, seen: Load) -> str | None:
        limits = self.limits
        if limits.cpu_time is not None and seen.cpu >= limits.cpu_time + 0.5:
            return "cpu_time"  # of the whole tree; RLIMIT_CPU holds each process
        if "memory" in self.sampled and limits.memory is not None and seen.memory > limits.memory:
            return "memory"
        if "processes" in self.sampled and limits.processes is not None and seen.processes > limits.processes:
            return "processes"
        return None

    def _breach(self, name: str) -> None:
        if self.limit is None:
            self.limit = name
            self._end()

    def _end(self) -> None:
        """TERM to everything inside; KILL after the grace; for what eats memory or forks, at once."""
        if self.kill_at is None:
            urgent = self.limit in ("memory", "processes", "total_output")
            self.instance.signal(SIGKILL if urgent else SIGTERM)
            self.kill_at = monotonic() + GRACE

    def _abandon(self) -> None:
        """A stage never started: the pipeline is no longer what was asked for, so nothing of it goes on."""
        if self.kill_at is None:
            self.instance.signal(SIGKILL)
            self.kill_at = monotonic() + GRACE

    # -- the end --------------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        """Read what is left. A holder that stays silent for QUIET, or talks on for LINGER, is not waited for."""
        stop = monotonic() + LINGER
        while self.readers:
            left = min(QUIET, stop - monotonic())
            ready = [fd for fd, _ in self.poller.poll(max(0.0, left * 1000)) if fd in self.readers]
            if not ready or (self.limit is not None and monotonic() > stop - LINGER + QUIET):
                return
            for fd in ready:
                self._read(fd)

    def _close(self) -> None:
        for fd in list(self.readers):
            self._forget(fd)
        if self.stdin is not None:
            self.poller.unregister(self.stdin[0])  # the poller serves the next pipeline, perhaps with the same number
            os.close(self.stdin[0])
            self.stdin = None
