"""The base of keyed operators in batch mode: a job of one epoch gives them their input key by key.

As in Flink, the watermark stays at its minimum while the elements of a key come, and is at its maximum while the key's
timers fire; then the key's state is deleted. A batch job of several epochs (with a loop, say) gives the input in the
order of arrival, and all keys end with the input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import compress, repeat
from typing import Any

from millrace.common.functions.process_functions import TimeDomain
from millrace.common.output_tag import OutputTag
from millrace.runtime.bases.operator import Operator, failing
from millrace.runtime.bases.process_operators import ElementFunction, KeyedContext, Results
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.timers import TimerQueue


class ByKey(Operator, ABC):
    """An operator that can be given its input key by key. Results of keys that are given together may be mixed."""

    folds = False
    """whether it can also process all keys at once, because its state per key is one folded result"""

    def process_keys(self, chunk: Chunk, inputs: list[int] | None) -> None:
        """Process a chunk with the elements of one key after the other; the last key may continue in the next chunk.

        :param inputs: the input of each element, None for input 0.
        """
        if inputs is None:
            self.process(chunk, 0)
            return
        for input in (0, 1):
            chosen = [its == input for its in inputs]
            if any(chosen):
                self.process(_only(chunk, chosen), input)

    @abstractmethod
    def end_keys(self) -> None:
        """All elements of the keys so far have come: emit their results and delete their state."""

    def folded_entries(self) -> int:
        """The number of keys with folded results in state; only operators with ``folds`` implement it."""
        raise NotImplementedError

    def folded_keys(self) -> Collection[Any]:
        """The keys that have folded results in state."""
        raise NotImplementedError


def _only(chunk: Chunk, chosen: list[bool]) -> Chunk:
    times, keys = chunk.timestamps, chunk.keys
    return Chunk(
        list(compress(chunk.values, chosen)),
        None if times is None else list(compress(times, chosen)),
        None if keys is None else list(compress(keys, chosen)),
    )


class EndingTimers(ByKey):
    """Mixed into operators with timers: at the end of a key, or of the input, processing-time timers fire, too.

    As in Flink timers that are set from then on are ignored: a job with a repeating timer has to end.
    """

    _backend: KeyedStateBackend

    def process_watermark(self, watermark: int) -> None:
        if watermark == MAX_WATERMARK:
            self._close_timers(True)
        super().process_watermark(watermark)

    def next_due(self) -> int | None:
        return None  # timers fire with the end of their key

    def fire_until(self, watermark: int) -> None:
        super().fire_until(watermark)  # type: ignore[misc]
        if watermark == MAX_WATERMARK:
            # Before the watermark advances: later operators emit their final results when it arrives.
            self.fire(self._backend.processing_timers, MAX_WATERMARK, TimeDomain.PROCESSING_TIME)  # type: ignore

    def end_keys(self) -> None:
        self.end_time()
        self._backend.wipe()

    def end_time(self) -> None:
        """Fire all timers that wait for time to pass."""
        with self.at_the_end():
            self.fire_until(MAX_WATERMARK)

    @contextmanager
    def at_the_end(self) -> Iterator[None]:
        """Sets the watermark of the current keys to its maximum."""
        time = self._backend.time
        self._close_timers(True)
        time.firing_since, self.watermark = self.watermark, MAX_WATERMARK
        yield
        time.firing_since, self.watermark = None, MIN_TIMESTAMP
        self._close_timers(False)

    def _close_timers(self, closed: bool) -> None:
        self._backend.event_timers.closed = self._backend.processing_timers.closed = closed


FORGET_AT = 64
"""The number of ended keys whose state is deleted together: one at a time would cost more."""
_NO_KEY = object()


class OneKeyAtATime(EndingTimers):
    """Mixed into operators of process functions: the timers of a key fire before its successor's first element."""

    _ctx: KeyedContext
    call_due: Callable[[TimerQueue, int, TimeDomain, Results], bool]
    _key: Any = _NO_KEY
    _ended = 0
    """number of ended keys whose state was not deleted yet"""

    def method_of(self, input: int) -> ElementFunction:
        """The user's method for an element of this input."""
        raise NotImplementedError

    def process_keys(self, chunk: Chunk, inputs: list[int] | None) -> None:
        ctx, backend, found = self._ctx, self._backend, Results()
        add, stamp, gather = found.values.append, found.timestamps.append, found.gather
        methods: Any = repeat(self.method_of(0))
        if inputs is not None:
            methods = map((self.method_of(0), self.method_of(1)).__getitem__, inputs)
        remaining = iter(chunk.values)
        current, with_times = self._key, chunk.timestamps is not None
        try:
            for key, timestamp, method, value in zip(
                chunk.keys or (), chunk.timestamps or repeat(None), methods, remaining
            ):
                if key is not current:
                    with_times |= self._end_key(found)
                    backend.at = self._key = current = key
                ctx.current_timestamp = timestamp
                results = method(value, ctx)
                if results is not None:
                    for result in results:
                        if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                            gather((result,), timestamp)
                        else:
                            add(result)
                            stamp(timestamp)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        found.emit(self, with_times)

    def end_keys(self) -> None:
        found = Results()
        with_times = self._end_key(found)
        self._key = _NO_KEY
        self._forget()
        found.emit(self, with_times)

    def _end_key(self, found: Results) -> bool:
        """Fire the timers that the current key has set; returns whether the results may have timestamps."""
        events, clocks = self._backend.event_timers, self._backend.processing_timers
        any_events = len(events) > 0
        if any_events or len(clocks):
            with self.at_the_end():
                self.call_due(events, MAX_WATERMARK, TimeDomain.EVENT_TIME, found)
                self.call_due(clocks, MAX_WATERMARK, TimeDomain.PROCESSING_TIME, found)
        self._ended += 1
        if self._ended >= FORGET_AT:
            self._forget()
        return any_events

    def _forget(self) -> None:
        self._backend.wipe()
        self._ended = 0
