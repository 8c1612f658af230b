"""``AsyncDataStream``: many calls at a time, with retries, and results in the order that the user chose.

An event loop in a thread of its own makes the calls; the task hands it chunks and emits the results that are ready.
Nothing stays in flight between epochs, so the operator has no state.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from millrace.common.functions import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy
from millrace.runtime.bases.process_operators import FunctionOperator
from millrace.runtime.elements import Chunk, Status
from millrace.runtime.failure import shorten
from millrace.runtime.functions.asynchronous import LoopThread
from millrace.runtime.operators.async_calls import (
    Batch,
    Buffer,
    CallError,
    Calls,
    Entry,
    Mark,
    OrderedBuffer,
    UnorderedBuffer,
)

# Attempts


class Attempts:
    """Calls ``async_invoke`` again until its outcome is acceptable or the retry strategy gives up. One object serves
    all elements."""

    def __init__(self, function: AsyncFunction[Any, Any], strategy: AsyncRetryStrategy[Any]) -> None:
        self._function = function
        self._strategy = strategy
        predicate = strategy.get_retry_predicate()
        self._bad_result = predicate.result_predicate()
        self._bad_error = predicate.exception_predicate()

    async def results(self, value: Any) -> list[Any]:
        """The results of the last attempt; raises what it raised."""
        attempt = 1
        while True:
            try:
                results = await self._function.async_invoke(value)
            except Exception as error:
                if self._bad_error is None or not self._bad_error(error):
                    raise
                pause = self._pause(attempt)
                if pause is None:
                    raise
            else:
                # As in Flink, the predicate is not called for None, which is no result at all.
                if self._bad_result is None or results is None or not self._bad_result(results):
                    return as_results(results, "async_invoke", self._function)
                pause = self._pause(attempt)
                if pause is None:
                    return as_results(results, "async_invoke", self._function)
            await asyncio.sleep(pause)
            attempt += 1

    def _pause(self, attempt: int) -> float | None:
        """Seconds until the next attempt; None: there is none."""
        if not self._strategy.can_retry(attempt):
            return None
        millis = self._strategy.get_backoff_time_millis(attempt)
        return millis / 1000 if millis >= 0 else None


def as_results(results: Any, method: str, function: AsyncFunction[Any, Any]) -> list[Any]:
    """The results of a user's method as a list. Raises ``TypeError`` if they are not a list, nor anything that can be
    taken for one."""
    if isinstance(results, list):
        return results
    if isinstance(results, Iterable) and not isinstance(results, (str, bytes)):
        return list(results)
    given = "None" if results is None else f"{type(results).__name__} {shorten(results)}"
    problem = "cannot be none" if results is None else "should be of list type"
    raise TypeError(
        f"The result of AsyncFunction {problem}: {method}() of {type(function).__name__} must return a list of results "
        f"([] for none), not {given}"
    )


_BUFFERS: dict[AsyncFunctionDescriptor.OutputMode, type[Buffer]] = {
    AsyncFunctionDescriptor.OutputMode.ORDERED: OrderedBuffer,
    AsyncFunctionDescriptor.OutputMode.UNORDERED: UnorderedBuffer,
}


class AsyncWaitOperator(FunctionOperator[AsyncFunction[Any, Any]]):
    """Runs an AsyncFunction. ``timeout`` in ms; 0 or less for no limit."""

    has_calls_in_flight = True

    def __init__(
        self,
        function: AsyncFunction[Any, Any],
        timeout: int,
        capacity: int,
        retry_strategy: AsyncRetryStrategy[Any],
        output_mode: AsyncFunctionDescriptor.OutputMode,
    ) -> None:
        super().__init__(function)
        self._timeout = timeout
        self._capacity = self.most_at_once = capacity
        self._retry_strategy = retry_strategy
        self._output_mode = output_mode
        self._loop: LoopThread | None = None
        self._calls: Calls | None = None

    def open(self) -> None:
        subtask = self.context.runtime.get_index_of_this_subtask() + 1
        self._loop = LoopThread(f"millrace-async {self.context.name} ({subtask})")
        self._loop.start()
        try:
            super().open()
            attempts = Attempts(self.function, self._retry_strategy)
            buffer = _BUFFERS[self._output_mode]()
            self._calls = Calls(self._loop, attempts.results, self._give_up, self._timeout, self._capacity, buffer)
        except BaseException:
            self._loop.close()
            raise

    def call(self, method: Callable[..., Any], *args: Any) -> None:
        # A plain open() runs in the task's thread, as in PyFlink; a coroutine where async_invoke will run.
        done = method(*args)
        if inspect.isawaitable(done):
            assert self._loop is not None, "the loop lives from open() to close()"
            self._loop.wait_for(done)

    def calls_ahead(self, elements: int) -> tuple[int, int]:
        if self._calls is None:
            return 0, 0
        wait, call = self._calls.ahead(elements)
        return int(wait * 1000), int(call * 1000)

    def in_flight(self) -> int:
        return 0 if self._calls is None else self._calls.in_flight

    def fitting(self, elements: int) -> int:
        running = 0 if self._calls is None else self._calls.running
        return max(0, min(elements, self._capacity - running))

    def process(self, chunk: Chunk, input: int) -> None:
        assert self._calls is not None, "elements come after open()"
        self._calls.submit(list(map(Entry, chunk.values, chunk.timestamps or repeat(None))))
        self._pass_on(self._capacity)

    def process_watermark(self, watermark: int) -> None:
        self.watermark = watermark
        self._mark(watermark)

    def process_status(self, status: Status) -> None:
        self._mark(status)

    def _mark(self, mark: Mark) -> None:
        assert self._calls is not None, "marks come after open()"
        self._calls.mark(mark)
        self._pass_on(self._capacity)

    def end_slice(self) -> None:
        self.wake()

    def wake(self) -> None:
        # If no calls were added since the last chunk, this does not wait.
        self._pass_on(self._capacity)

    def end_epoch(self) -> None:
        # The task ends the epoch of later operators afterwards; only then do they decide whether their input is idle.
        self._pass_on(0)

    def end_input(self) -> None:
        self._pass_on(0)

    def _pass_on(self, limit: int) -> None:
        """Wait until at most ``limit`` elements are in flight, and emit the results that are ready."""
        if self._calls is None:  # a task that has ended has further epochs while others go on
            return
        try:
            ready = self._calls.collect(limit)
        except CallError as failed:
            raise self.context.error(failed.cause, failed.element, failed.during) from failed.cause
        for item in ready:
            if isinstance(item, Batch):
                self.emit(item.values, item.timestamps if item.stamped else None)
            else:
                self.output.mark(item)

    def _give_up(self, value: Any) -> list[Any]:
        return as_results(self.function.timeout(value), "timeout", self.function)

    def close(self) -> None:
        calls, self._calls = self._calls, None
        try:
            if calls is not None:
                calls.cancel()
        finally:
            try:
                super().close()
            finally:
                if self._loop is not None:
                    self._loop.close()
