"""``AsyncDataStream``: many calls at a time, with retries, and results in the order that the user chose.

An event loop in a thread of its own makes the calls. The task's thread hands elements over in chunks; each chunk costs
one message to the loop, and one wake-up of the task if it has to wait at all. Nothing stays in flight between epochs,
so the operator has no state.

A buffer is one of Flink's two queues of stream elements, without its locks: one thread at a time uses it. It takes
elements and marks in the order of the stream, and later, in any order, the results of the elements. Results that may be
emitted are added to ``Ready``.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import repeat
from typing import Any, TypeAlias

from millrace.common.functions import AsyncFunction, AsyncFunctionDescriptor, AsyncRetryStrategy
from millrace.runtime.bases.operator import NO_ELEMENT
from millrace.runtime.bases.process_operators import FunctionOperator
from millrace.runtime.elements import Chunk, Status
from millrace.runtime.failure import shorten
from millrace.runtime.functions.asynchronous import WIND_UP_SECONDS, LoopBlocked, LoopThread

# Buffers of results

Mark: TypeAlias = int | Status
"""A watermark (ms) or a change of status."""


class Entry:
    """One element whose call is in flight."""

    __slots__ = ("began", "results", "segment", "settled", "task", "timer", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.began = 0.0
        """when its call began (s, monotonic clock)"""
        self.settled = False
        """whether the outcome is decided; whatever the coroutine does afterwards is ignored"""
        self.results: list[Any] | None = None
        self.segment: _Segment | None = None


class Batch:
    """Results that are emitted together."""

    __slots__ = ("stamped", "timestamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int | None] = []
        self.stamped = False
        """whether any of the results has a timestamp"""

    def add(self, results: list[Any], timestamp: int | None) -> None:
        self.values.extend(results)
        self.timestamps.extend([timestamp] * len(results))
        if timestamp is not None:
            self.stamped = True

    def extend(self, other: Batch) -> None:
        self.values.extend(other.values)
        self.timestamps.extend(other.timestamps)
        self.stamped = self.stamped or other.stamped


class Ready:
    """Results that may be emitted, with marks between them."""

    def __init__(self) -> None:
        self._items: list[Batch | Mark] = []

    @property
    def batch(self) -> Batch:
        """The batch after the last mark, to add results to."""
        last = self._items[-1] if self._items else None
        if not isinstance(last, Batch):
            last = Batch()
            self._items.append(last)
        return last

    def mark(self, mark: Mark) -> None:
        self._items.append(mark)

    def take(self) -> list[Batch | Mark]:
        items, self._items = self._items, []
        return items


class Buffer(ABC):
    """Holds results until they may be emitted, in an order that subclasses define."""

    def __init__(self) -> None:
        self.ready = Ready()

    @abstractmethod
    def add(self, entry: Entry) -> None:
        """Add an element whose results will follow."""

    @abstractmethod
    def mark(self, mark: Mark) -> None:
        """Add a mark after the elements so far."""

    @abstractmethod
    def complete(self, entry: Entry, results: list[Any]) -> int:
        """Add the results of an element. Returns how many elements left the buffer."""


class OrderedBuffer(Buffer):
    """Emits results in the order of their elements."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: deque[Entry | Mark] = deque()

    def add(self, entry: Entry) -> None:
        self._queue.append(entry)

    def mark(self, mark: Mark) -> None:
        if self._queue:
            self._queue.append(mark)
        else:
            self.ready.mark(mark)

    def complete(self, entry: Entry, results: list[Any]) -> int:
        entry.results = results
        queue, left = self._queue, 0
        while queue:
            head = queue[0]
            if isinstance(head, Entry):
                if head.results is None:
                    break
                self.ready.batch.add(head.results, head.timestamp)
                left += 1
            else:
                self.ready.mark(head)
            queue.popleft()
        return left


class _Segment:
    """The elements between two marks."""

    __slots__ = ("completed", "end", "open", "waiting")

    def __init__(self) -> None:
        self.open = 0
        """number of elements without results"""
        self.completed = 0
        self.waiting = Batch()
        """results of completed elements, while an earlier segment has open ones"""
        self.end: Mark | None = None
        """the mark after the segment; None: the segment is the last one"""


class UnorderedBuffer(Buffer):
    """Emits results as they come, but never across a mark."""

    def __init__(self) -> None:
        super().__init__()
        self._segments: deque[_Segment] = deque([_Segment()])

    def add(self, entry: Entry) -> None:
        entry.segment = self._segments[-1]
        entry.segment.open += 1

    def mark(self, mark: Mark) -> None:
        if len(self._segments) == 1 and not self._segments[0].open:
            self.ready.mark(mark)
        else:
            self._segments[-1].end = mark
            self._segments.append(_Segment())

    def complete(self, entry: Entry, results: list[Any]) -> int:
        segments, segment = self._segments, entry.segment
        assert segment is not None, "complete() comes after add()"
        segment.open -= 1
        if segment is not segments[0]:
            segment.completed += 1
            segment.waiting.add(results, entry.timestamp)
            return 0
        self.ready.batch.add(results, entry.timestamp)
        left = 1
        while not segment.open and segment.end is not None:
            self.ready.mark(segment.end)
            segments.popleft()
            segment = segments[0]
            if segment.completed:
                self.ready.batch.extend(segment.waiting)
                left += segment.completed
                segment.completed, segment.waiting = 0, Batch()
        return left


# Calls

BLOCKED_SECONDS = 30.0
"""If no call ends within the timeout plus this many seconds, a coroutine blocks the loop."""


REMEMBERED = 0.98
"""The factor by which the remembered duration of the longest call decays with each further call."""


class CallError(Exception):
    """A call has failed, and with it the job."""

    def __init__(self, cause: BaseException, element: Any = NO_ELEMENT, during: str = "") -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.element = element
        self.during = during


class Calls:
    """Calls in flight: at most ``capacity``, each for at most ``timeout`` ms (0 or less: no limit).

    As in Flink an element counts until its results leave the buffer, so ``capacity`` bounds the buffer, too.
    """

    def __init__(
        self,
        loop: LoopThread,
        call: Callable[[Any], Awaitable[list[Any]]],
        on_timeout: Callable[[Any], list[Any]],
        timeout: int,
        capacity: int,
        buffer: Buffer,
    ) -> None:
        self._loop = loop
        self._call = call
        self._on_timeout = on_timeout
        self._timeout = timeout / 1000 if timeout > 0 else None
        self._patience = self._timeout and min(self._timeout + BLOCKED_SECONDS, threading.TIMEOUT_MAX)
        self._capacity = capacity
        # Used by the task's thread only.
        self._marks: list[Mark] = []
        """marks after the last submitted element"""
        self._collected = 0
        """number of elements whose results were collected"""
        # Used by the loop's thread only.
        self._arrived: deque[Entry | Mark] = deque()
        """elements and marks that wait for free capacity"""
        self._admitted = 0
        self._running: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        """tasks that were cancelled and have not ended"""
        self._context = contextvars.copy_context()
        # Used by both threads, under the lock.
        self._changed = threading.Condition()
        self._buffer = buffer
        self._submitted = 0
        self._released = 0
        self._longest = 0.0
        """estimated duration of a call (s): the longest recent one"""
        self._wanted = -1
        """the task waits until at most this many elements are in flight; -1: it does not wait"""
        self._error: CallError | None = None
        self._cancelled = False

    # -- in the task's thread -------------------------------------------------------------------------------------

    def ahead(self, elements: int) -> tuple[float, float]:
        """(how long the last of this many further elements would wait before its call begins, duration of a call), both
        in seconds and estimated."""
        with self._changed:
            in_flight = self._submitted - self._released + elements
            return (in_flight - 1) // self._capacity * self._longest, self._longest

    @property
    def in_flight(self) -> int:
        """The number of elements whose results were not collected."""
        return self._submitted - self._collected

    @property
    def running(self) -> int:
        """The number of elements whose results are not ready yet."""
        with self._changed:
            return self._submitted - self._released

    def submit(self, entries: list[Entry]) -> None:
        """Start the calls of elements as soon as there is capacity."""
        marks, self._marks = self._marks, []
        with self._changed:
            self._submitted += len(entries)
        self._loop.post(self._arrive, [*marks, *entries])

    def mark(self, mark: Mark) -> None:
        """Add a mark after the elements so far. It is sent to the loop with the next elements."""
        self._marks.append(mark)

    def collect(self, limit: int) -> list[Batch | Mark]:
        """The results that may be emitted, as soon as at most ``limit`` elements are in flight. Raises
        ``CallError``.
        """
        with self._changed:
            self._wanted = limit
            while self._error is None and self._submitted - self._released > limit:
                before = self._released
                if not self._changed.wait(self._patience) and self._released == before and self._error is None:
                    self._error = self._blocked()
            self._wanted = -1
            if self._error is not None:
                raise self._error
            ready = self._buffer.ready.take()
            self._collected = self._released
            if self._submitted == self._released:
                ready += self._marks
                self._marks = []
            return ready

    def _blocked(self) -> CallError:
        self._loop.blocked = True
        cause = TimeoutError(
            f"no call has ended for {self._patience:g} s though each may take {self._timeout:g} s: something in the "
            "event loop does not give control back; await what takes long, or use asyncio.to_thread() for it"
        )
        return CallError(cause.with_traceback(self._loop.where()), during=" to run its event loop")

    def cancel(self) -> None:
        """Cancel the calls in flight, and wait until they have cleaned up."""
        in_flight = self._submitted != self._released or self._ending
        if in_flight and not self._loop.blocked:
            with contextlib.suppress(LoopBlocked):
                self._loop.wait_for(self._cancel_all(), 2 * WIND_UP_SECONDS)

    # -- in the loop ----------------------------------------------------------------------------------------------

    async def _cancel_all(self) -> None:
        self._stop_all()
        if self._ending:
            await asyncio.wait(self._ending, timeout=WIND_UP_SECONDS)

    def _stop_all(self) -> None:
        self._cancelled = True
        self._arrived.clear()
        for task in list(self._running):
            self._stop(task)

    def _stop(self, task: asyncio.Task[None]) -> None:
        # Only once: a second cancellation would disturb the clean-up.
        if task in self._running:
            self._running.remove(task)
            self._ending.add(task)
            task.cancel()

    def _over(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._ending.discard(task)

    def _arrive(self, items: list[Entry | Mark]) -> None:
        # The task's context: a call must not see the context variables that another one has set.
        self._context = contextvars.copy_context()
        self._arrived.extend(items)
        with self._changed:
            self._admit()

    def _admit(self) -> None:
        arrived, buffer = self._arrived, self._buffer
        while arrived and not self._cancelled:
            item = arrived[0]
            if not isinstance(item, Entry):
                buffer.mark(item)
            elif self._admitted - self._released < self._capacity:
                self._admitted += 1
                buffer.add(item)
                self._start(item)
            else:
                return
            arrived.popleft()

    def _start(self, entry: Entry) -> None:
        # Not loop.create_task(): with a user's eager task factory the call would run in the middle of _admit.
        task: asyncio.Task[None] = self._context.run(asyncio.Task, self._run(entry), loop=self._loop.loop)
        entry.task = task
        entry.began = time.perf_counter()
        self._running.add(task)
        task.add_done_callback(self._over)
        if self._timeout is not None:
            assert self._loop.loop is not None
            entry.timer = self._loop.loop.call_later(self._timeout, self._expire, entry)

    def _first_outcome(self, entry: Entry) -> bool:
        """Decide the outcome of an element. False if it was decided before, or the calls were cancelled."""
        if entry.settled or self._cancelled:
            return False
        entry.settled = True
        if entry.timer is not None:
            entry.timer.cancel()
        return True

    async def _run(self, entry: Entry) -> None:
        try:
            results = await self._call(entry.value)
        except BaseException as error:  # sys.exit() must not end the loop's thread, a cancelled call not be lost
            if self._first_outcome(entry):
                self._fail(entry, error)
        else:
            if self._first_outcome(entry):
                self._settle(entry, results)

    def _expire(self, entry: Entry) -> None:
        if not self._first_outcome(entry):
            return
        assert entry.task is not None, "the clock starts with the call"
        self._stop(entry.task)
        try:
            results = self._on_timeout(entry.value)
        except BaseException as error:
            self._fail(entry, error, " in timeout()")
        else:
            self._settle(entry, results)

    def _settle(self, entry: Entry, results: list[Any]) -> None:
        with self._changed:
            self._released += self._buffer.complete(entry, results)
            self._longest = max(self._longest * REMEMBERED, time.perf_counter() - entry.began)
            if self._submitted - self._released <= self._wanted:
                self._changed.notify()
            self._admit()

    def _fail(self, entry: Entry, error: BaseException, during: str = "") -> None:
        self._stop_all()
        with self._changed:
            self._error = self._error or CallError(error, entry.value, during)
            self._changed.notify()


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
