"""The minimum over channels: how one operator's watermark follows from those of its inputs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from heapq import heapify, heappop, heappush, heapreplace

from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Status

ValveState = tuple[int, dict[Hashable, int], dict[Hashable, bool]]
"""(combined watermark, channel -> its watermark, channel -> whether it is idle): all channels, or those that changed"""


class WatermarkValve:
    """Combines the watermarks of an operator's channels.

    The result is the minimum over active channels. A channel that comes back from idleness with an older watermark than
    the result does not hold the others back: it takes part again when it has caught up. One that has finished, with the
    last watermark of all, does not speak for those that are idle: what these bring later is not late.

    A mark costs O(log channels), amortised: the heap has an entry for each channel that takes part, with a watermark
    that the channel had once. Only the entry at its top is brought up to date.
    """

    def __init__(self, channels: Iterable[Hashable]) -> None:
        self._channels = list(channels)
        self._places = {channel: place for place, channel in enumerate(self._channels)}
        self._marks = [MIN_TIMESTAMP] * len(self._channels)
        self._left = len(self._channels)
        """channels that have not finished"""
        self._idle: set[int] = set()
        self._heap: list[tuple[int, int]] = []
        """(a watermark that the channel had, its place)"""
        self._in_heap: list[bool] = []
        self._moved: set[int] = set()
        self._turned: set[int] = set()
        """places whose watermark, or whose idleness, has changed since the last delta"""
        self.current = MIN_TIMESTAMP
        self._take_part_again()

    @property
    def idle(self) -> bool:
        """Whether every channel is idle, of those that have not finished."""
        return 0 < self._left == len(self._idle)

    def watermark(self, channel: Hashable, timestamp: int) -> int | None:
        """A channel's watermark; returns the combined one if it advanced, else None."""
        place = self._places[channel]
        self._activate(place)
        if timestamp <= self._marks[place]:
            return None
        self._marks[place] = timestamp
        self._left -= timestamp == MAX_WATERMARK
        self._moved.add(place)
        if not self._in_heap[place]:
            self._join(place)
        return self._raise_to(self._furthest()) if self.idle else self._advance()

    def status(self, channel: Hashable, status: Status) -> int | None:
        """A channel becomes idle or active; returns the combined watermark if it advanced, else None."""
        place = self._places[channel]
        if status is Status.ACTIVE:
            self._activate(place)
            return None
        if place not in self._idle and self._marks[place] < MAX_WATERMARK:
            self._idle.add(place)
            self._turned.add(place)
        if self.idle:  # nobody is left to wait for: the furthest channel speaks for all
            return self._raise_to(self._furthest())
        return self._advance()

    def _furthest(self) -> int:
        return max((mark for mark in self._marks if mark < MAX_WATERMARK), default=MIN_TIMESTAMP)

    def _activate(self, place: int) -> None:
        if place in self._idle:
            self._idle.discard(place)
            self._turned.add(place)
            if not self._in_heap[place]:
                self._join(place)

    def _join(self, place: int) -> None:
        heappush(self._heap, (self._marks[place], place))
        self._in_heap[place] = True

    def _advance(self) -> int | None:
        heap, marks = self._heap, self._marks
        while heap:
            known, place = heap[0]
            mark = marks[place]
            if place in self._idle or mark < self.current:
                heappop(heap)  # until it is active, or has caught up
                self._in_heap[place] = False
            elif mark > known:
                heapreplace(heap, (mark, place))
            else:
                return self._raise_to(mark)
        return None

    def _raise_to(self, timestamp: int) -> int | None:
        if timestamp <= self.current or (timestamp == MAX_WATERMARK and self._left):
            return None
        self.current = timestamp
        return timestamp

    # -- snapshots --------------------------------------------------------------------------------------------------

    def full(self) -> ValveState:
        """Everything, for ``restore``."""
        everywhere = range(len(self._channels))
        return self._state(everywhere, everywhere)

    def delta(self) -> ValveState | None:
        """What has changed since the last call, for ``restore`` after what was before; None: nothing."""
        moved, turned, self._moved, self._turned = self._moved, self._turned, set(), set()
        return self._state(moved, turned) if moved or turned else None

    def _state(self, moved: Iterable[int], turned: Iterable[int]) -> ValveState:
        channels, marks, idle = self._channels, self._marks, self._idle
        return (
            self.current,
            {channels[place]: marks[place] for place in sorted(moved)},
            {channels[place]: place in idle for place in sorted(turned)},
        )

    def restore(self, state: ValveState) -> None:
        """Go on from a state, full or a change; channels that it does not know stay as they are."""
        places = self._places
        self.current, marks, idleness = state
        for channel, mark in marks.items():
            if channel in places:
                self._marks[places[channel]] = mark
        for channel, idle in idleness.items():
            if channel in places:
                (self._idle.add if idle else self._idle.discard)(places[channel])
        self._moved.clear()
        self._turned.clear()
        self._take_part_again()

    def begin_at(self, timestamp: int) -> None:
        """All channels have come as far as this."""
        self.current = timestamp
        self._marks = [timestamp] * len(self._marks)
        self._moved.update(range(len(self._marks)))
        self._take_part_again()

    def _take_part_again(self) -> None:
        self._left = sum(mark < MAX_WATERMARK for mark in self._marks)
        self._idle = {place for place in self._idle if self._marks[place] < MAX_WATERMARK}
        self._heap = [(mark, place) for place, mark in enumerate(self._marks)]
        heapify(self._heap)
        self._in_heap = [True] * len(self._marks)
