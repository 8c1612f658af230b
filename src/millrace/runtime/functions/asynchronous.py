"""Asynchronous calls: a thread with an event loop for the coroutines of one operator, and scalar functions that use it.

The calls of one batch run concurrently in the event loop; results are in the order of the rows, and the batch continues
when all calls have ended. So nothing is in flight between two epochs.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from millrace.common.configuration import to_duration
from millrace.util.threads import JobThread

# The event loop

WIND_UP_SECONDS = 5.0
"""How long cancelled coroutines may clean up before the loop is closed all the same."""


class LoopBlocked(RuntimeError):
    """A coroutine does not give control back to the event loop."""

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
        """whether a coroutine was found to block the loop: nothing can be scheduled in it then"""

    def start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = JobThread(target=self._run, args=(self.loop,), name=self._name, daemon=True)
        self._thread.start()

    def post(self, callback: Callable[..., object], *args: Any) -> None:
        """Have the loop call ``callback`` soon, in a copy of the caller's context."""
        assert self.loop is not None, "post() comes after start()"
        self.loop.call_soon_threadsafe(callback, *args)

    def wait_for(self, awaitable: Awaitable[Any], seconds: float | None = None) -> Any:
        """Await an awaitable in the loop; returns its result or raises its exception.

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
        """A traceback of what the thread is doing at this moment."""
        frame = sys._current_frames().get(self._thread.ident or 0) if self._thread is not None else None
        found = None
        while frame is not None:
            found = TracebackType(found, frame, frame.f_lasti, frame.f_lineno)
            frame = frame.f_back
        return found

    def close(self) -> None:
        """Cancel all running coroutines and end the thread; a blocked thread is left behind."""
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


# Asynchronous scalar functions

_OPTION = "table.exec.async-scalar."


@dataclass(frozen=True)
class AsyncSettings:
    """How asynchronous functions are called; times in seconds."""

    at_once: int = 10
    timeout: float = 180.0
    """limit for one row, with all attempts"""
    attempts: int = 3
    pause: float = 0.1
    """pause between two attempts"""

    @staticmethod
    def of(configuration: Mapping[str, str]) -> AsyncSettings:
        """From ``table.exec.async-scalar.*``.

        :raises ValueError: an option has a wrong value.
        """

        def option(name: str, default: str) -> str:
            return configuration.get(_OPTION + name, default)

        strategy = option("retry-strategy", "FIXED_DELAY").upper()
        if strategy not in ("FIXED_DELAY", "NO_RETRY"):
            raise ValueError(f"{_OPTION}retry-strategy is FIXED_DELAY or NO_RETRY, not {strategy}")
        return AsyncSettings(
            int(option("max-concurrent-operations", option("buffer-capacity", "10"))),
            _seconds(option("timeout", "3 min")),
            int(option("max-attempts", "3")) if strategy == "FIXED_DELAY" else 1,
            _seconds(option("retry-delay", "100 ms")),
        )


def _seconds(text: str) -> float:
    return to_duration(text).to_millis() / 1000


class CallFailed(Exception):
    """All attempts of a call have failed; the error names the row."""

    def __init__(self, cause: BaseException, args: tuple[Any, ...]) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.arguments = args


def call_all(
    loop: LoopThread, function: Callable[..., Any], rows: Iterable[tuple[Any, ...]], settings: AsyncSettings
) -> list[Any]:
    """The results of the function for each row of arguments, in order.

    :raises CallFailed: all attempts for a row failed, or took too long together.
    """
    return loop.wait_for(_call_all(function, list(rows), settings))  # type: ignore[no-any-return]


async def _call_all(function: Callable[..., Any], rows: list[tuple[Any, ...]], settings: AsyncSettings) -> list[Any]:
    results: list[Any] = [None] * len(rows)
    waiting = iter(enumerate(rows))

    async def work() -> None:
        for place, args in waiting:  # all workers draw from it
            try:
                results[place] = await asyncio.wait_for(_attempts(function, args, settings), settings.timeout)
            except asyncio.TimeoutError:
                raise CallFailed(TimeoutError(f"no result within {settings.timeout:g} s"), args) from None
            except Exception as error:
                raise CallFailed(error, args) from error

    workers = [asyncio.ensure_future(work()) for _ in range(min(settings.at_once, len(rows)))]
    try:
        await asyncio.gather(*workers)
    except BaseException:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise
    return results


async def _attempts(function: Callable[..., Any], args: tuple[Any, ...], settings: AsyncSettings) -> Any:
    for attempt in range(1, settings.attempts + 1):
        try:
            return await function(*args)
        except Exception:
            if attempt == settings.attempts:
                raise
        await asyncio.sleep(settings.pause)
    raise AssertionError("there is at least one attempt")
