"""A thread with an event loop: where the coroutines of one operator run."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import sys
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

WIND_UP_SECONDS = 5.0
"""How long cancelled coroutines may clean up before the loop is closed all the same."""


class LoopBlocked(RuntimeError):
    """Something in the loop does not give control back."""

    def __init__(self) -> None:
        super().__init__("the event loop does not answer")


class LoopThread:
    """One event loop in a daemon thread. The methods are for other threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._closing = False
        self.loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.blocked = False
        """whether a coroutine was found not to give control back: nothing can be asked of the loop then"""

    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(self.loop,), name=self._name, daemon=True)
        self._thread.start()

    def post(self, callback: Callable[..., object], *args: Any) -> None:
        """Have the loop call ``callback`` soon, in a copy of the caller's context."""
        assert self.loop is not None, "post() comes after start()"
        self.loop.call_soon_threadsafe(callback, *args)

    def wait_for(self, awaitable: Awaitable[Any], seconds: float | None = None) -> Any:
        """Await something in the loop; its result or exception.

        :raises LoopBlocked: also if there is no answer within ``seconds``.
        """

        async def answer() -> Any:
            return await awaitable

        assert self.loop is not None, "wait_for() comes after start()"
        if self.blocked:
            if asyncio.iscoroutine(awaitable):
                awaitable.close()  # or Python warns that nobody has awaited it
            raise LoopBlocked
        future = asyncio.run_coroutine_threadsafe(answer(), self.loop)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError:
            if future.done():  # it is the coroutine's own
                raise
            self.blocked = True
            raise LoopBlocked from None

    def where(self) -> TracebackType | None:
        """What the thread is doing right now, as a traceback."""
        frame = sys._current_frames().get(self._thread.ident or 0) if self._thread is not None else None
        found = None
        while frame is not None:
            found = TracebackType(found, frame, frame.f_lasti, frame.f_lineno)
            frame = frame.f_back
        return found

    def close(self) -> None:
        """Cancel all that still runs and end the thread; a blocked one is left behind."""
        thread, self._thread = self._thread, None
        if thread is None or self.loop is None:
            return
        self._closing = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        thread.join(0 if self.blocked else 2 * WIND_UP_SECONDS)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while not self._closing:
                # sys.exit() in a background task of the user ends that task, not the loop.
                with contextlib.suppress(SystemExit, KeyboardInterrupt):
                    loop.run_forever()
            loop.run_until_complete(_wind_up(loop))
        finally:
            loop.close()


async def _wind_up(loop: asyncio.AbstractEventLoop) -> None:
    tasks = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=WIND_UP_SECONDS)
    await loop.shutdown_asyncgens()
