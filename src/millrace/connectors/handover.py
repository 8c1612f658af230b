"""What a source function has emitted and its reader has not taken yet."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from millrace.common.source import ReaderOutput
from millrace.connectors.checkpoint_lock import CheckpointLock
from millrace.util.threads import Cancelled

ELEMENT, WATERMARK, IDLE = "element", "watermark", "idle"


MOST_BYTES = 32 * 2**20
"""How far a function may be ahead in any case, about: one element more than that."""
SAMPLED = 16
"""Of so many elements one is weighed; texts and bytes always are."""


class Event(NamedTuple):
    """One call of the function's context."""

    kind: str
    value: Any = None
    timestamp: int | None = None


class Handover:
    """A queue between two threads."""

    def __init__(self, skip: int, capacity: int) -> None:
        """:param skip: so many elements were read in an earlier life.
        :param capacity: how many elements the function may be ahead.
        """
        self.lock = CheckpointLock()
        self.error: BaseException | None = None
        self._changed = threading.Condition()
        self._events: list[Event] = []
        self._bytes = 0
        self._element_bytes = self._unweighed = 0
        self._skip = skip
        self._capacity = capacity
        self._cancelled = False
        self._done = False
        self.on_available: Callable[[], None] | None = None
        """is called, in the function's thread, when there is something to take again"""

    def put(self, event: Event) -> None:
        """Waits for room. Raises ``Cancelled`` when it is not wanted any more."""
        with self.lock, self._changed:
            while not self.has_room and not self._cancelled:
                self._changed.wait()
            if self._cancelled:
                raise Cancelled
            if self._skip:
                self._skip -= event.kind == ELEMENT
                return
            self._events.append(event)
            self._bytes += self._weight(event.value)
            first = len(self._events) == 1
            if first:
                self._changed.notify_all()
        if first:
            self._tell()

    def _tell(self) -> None:
        if self.on_available is not None:
            self.on_available()

    @property
    def has_room(self) -> bool:
        """Whether the function may be ahead by one element more."""
        return len(self._events) < self._capacity and self._bytes < MOST_BYTES

    def _weight(self, value: Any) -> int:
        if value.__class__ is str or value.__class__ is bytes:
            return len(value)
        if not self._unweighed:
            self._element_bytes, self._unweighed = _weighed(value), SAMPLED
        self._unweighed -= 1
        return self._element_bytes

    def limit(self, capacity: int) -> None:
        """Let the function be so many elements ahead from now on."""
        if capacity != self._capacity:
            with self._changed:
                self._capacity = capacity
                self._changed.notify_all()

    def take(self, seconds: float = 0.0) -> list[Event]:
        """All that is there; waits so long if there is nothing."""
        with self._changed:
            if seconds and not (self._events or self._done):
                self._changed.wait(seconds)
            events, self._events, self._bytes = self._events, [], 0
            self._changed.notify_all()
            return events

    def finish(self, error: BaseException | None) -> None:
        """The function is over: by itself, unless it was told to."""
        with self._changed:
            if not self._cancelled:
                self.error, self._done = error, True
                self._changed.notify_all()
        self._tell()

    def cancel(self) -> None:
        """Let the function end as soon as it emits something, or takes the lock."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()
        self.lock.close()

    @property
    def exhausted(self) -> bool:
        """Whether the function has ended and all that it emitted was taken."""
        with self._changed:
            return self._done and not self._events


def _weighed(value: Any) -> int:
    try:
        return len(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    except Exception:  # what sends it or stores it says so
        return sys.getsizeof(value)


def emit(events: list[Event], output: ReaderOutput[Any]) -> int:
    """Pass events on in order, neighbouring elements of a kind together; how many elements they were."""
    values: list[Any] = []
    timestamps: list[int] = []
    elements = 0

    def flush() -> None:
        nonlocal values, timestamps
        if values:
            output.collect_batch(values, timestamps or None)
            values, timestamps = [], []

    for kind, value, timestamp in events:
        if kind == ELEMENT:
            elements += 1
            if values and (timestamp is None) == bool(timestamps):
                flush()
            values.append(value)
            if timestamp is not None:
                timestamps.append(timestamp)
        else:
            flush()
            if kind == WATERMARK:
                output.emit_watermark(value)
            else:
                output.mark_idle()
    flush()
    return elements
