"""What windows wait for: times, and whom each concerns."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Agenda(Generic[T]):
    """Entries by time (ms), each once. Not state: an operator plans again from its windows after a restore."""

    def __init__(self) -> None:
        self._times: list[int] = []
        self._entries: dict[int, dict[T, None]] = {}

    def add(self, time: int, entry: T) -> None:
        entries = self._entries.get(time)
        if entries is None:
            self._entries[time] = {entry: None}
            heapq.heappush(self._times, time)
        else:
            entries[entry] = None

    def next_time(self) -> int | None:
        return self._times[0] if self._times else None

    def due(self, now: int) -> Iterator[tuple[int, Iterable[T]]]:
        """Take off what is due until ``now``, in order of time; may be added to meanwhile."""
        while self._times and self._times[0] <= now:
            time = heapq.heappop(self._times)
            yield time, self._entries.pop(time)

    def clear(self) -> None:
        self._times.clear()
        self._entries.clear()


