"""One call beside an event loop: awaited it gives the Result, iterated it gives the output as it comes.

The work itself is the blocking call in a thread of the loop's executor. Cancelling ends the command; it is dead and reaped
by the time the cancellation is raised. An iteration that is left early ends it too, when its generator is closed.
"""

from __future__ import annotations

import os
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

    from .result import Result

    Emit = Callable[[str], None]
    Blocking = Callable[[int, Emit | None], Result]


class Call(Coroutine[Any, Any, "Result"]):
    """blocking: does the call; given a descriptor whose readability cancels it, and who gets its output. result: set
    once the iteration has ended."""

    def __init__(self, blocking: Blocking) -> None:
        self.blocking = blocking
        self.result: Result | None = None
        self._inner: Coroutine[Any, Any, Result] | None = None

    async def _run(self, emit: Emit | None) -> Result:
        import asyncio

        wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        work = asyncio.get_running_loop().run_in_executor(None, self.blocking, wake, emit)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            os.eventfd_write(wake, 1)
            await asyncio.wait([work])
            raise
        finally:
            os.close(wake)

    async def _pieces(self) -> AsyncIterator[str]:
        import asyncio

        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()

        def emit(text: str) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, text)

        task = loop.create_task(self._run(emit))
        task.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            self.result = await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    def __aiter__(self) -> AsyncIterator[str]:
        return self._pieces()

    # -- a coroutine, so that it can be made a task ---------------------------------------------------------------

    def _started(self) -> Coroutine[Any, Any, Result]:
        if self._inner is None:
            self._inner = self._run(None)
        return self._inner

    def __await__(self) -> Generator[Any, Any, Result]:
        return self._started().__await__()

    def send(self, value: Any) -> Any:
        return self._started().send(value)

    def throw(self, *error: Any) -> Any:
        return self._started().throw(*error)

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()
