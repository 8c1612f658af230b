"""Where results wait for their turn: Flink's two queues of stream elements, without its locks.

A buffer is used by one thread at a time. It takes elements and marks in the order of the stream, and later, in any
order, the results of the elements. What may go on is added to ``Ready``.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from typing import Any, TypeAlias

from millrace.runtime.elements import Status

Mark: TypeAlias = int | Status
"""A watermark (ms) or a change of status."""


class Entry:
    """One element on its way."""

    __slots__ = ("began", "results", "segment", "settled", "task", "timer", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.began = 0.0
        """when its call did (s, of a clock that only goes on)"""
        self.settled = False
        """whether its outcome is known: whatever its coroutine does from now on does not count"""
        self.results: list[Any] | None = None
        self.segment: _Segment | None = None


class Batch:
    """Results that go on together."""

    __slots__ = ("stamped", "timestamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int | None] = []
        self.stamped = False
        """whether any of them has a timestamp"""

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
    """What may go on: results, with marks at their places among them."""

    def __init__(self) -> None:
        self._items: list[Batch | Mark] = []

    @property
    def batch(self) -> Batch:
        """The results behind the last mark, to add to."""
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
    """The order in which results go on."""

    def __init__(self) -> None:
        self.ready = Ready()

    @abstractmethod
    def add(self, entry: Entry) -> None:
        """An element whose results will follow."""

    @abstractmethod
    def mark(self, mark: Mark) -> None:
        """A mark behind the elements so far."""

    @abstractmethod
    def complete(self, entry: Entry, results: list[Any]) -> int:
        """The results of an element. Returns how many elements left the buffer for it."""


class OrderedBuffer(Buffer):
    """Results go on in the order of their elements."""

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
        """elements without results"""
        self.completed = 0
        self.waiting = Batch()
        """results of the completed ones, while earlier segments are not through"""
        self.end: Mark | None = None
        """the mark behind the segment; None for the last one"""


class UnorderedBuffer(Buffer):
    """Results go on as they come, but never across a mark."""

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
