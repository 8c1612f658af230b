"""The minimum over channels: how one operator's watermark follows from those of its inputs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from millrace.runtime.elements import MIN_TIMESTAMP, Status


class WatermarkValve:
    """Combines the watermarks of an operator's channels.

    The result is the minimum over active channels. A channel that comes back from idleness with an older watermark than
    the result does not hold the others back: it takes part again when it has caught up.
    """

    def __init__(self, channels: Iterable[Hashable]) -> None:
        self._marks: dict[Hashable, int] = dict.fromkeys(channels, MIN_TIMESTAMP)
        self._idle: set[Hashable] = set()
        self.current = MIN_TIMESTAMP

    @property
    def idle(self) -> bool:
        """Whether every channel is idle."""
        return len(self._idle) == len(self._marks) and bool(self._marks)

    def watermark(self, channel: Hashable, timestamp: int) -> int | None:
        """A channel's watermark; returns the combined one if it advanced, else None."""
        self._idle.discard(channel)
        if timestamp <= self._marks[channel]:
            return None
        self._marks[channel] = timestamp
        return self._advance()

    def status(self, channel: Hashable, status: Status) -> int | None:
        """A channel becomes idle or active; returns the combined watermark if it advanced, else None."""
        if status is Status.ACTIVE:
            self._idle.discard(channel)
            return None
        self._idle.add(channel)
        if self.idle:  # nobody is left to wait for: the furthest channel speaks for all
            return self._raise_to(max(self._marks.values()))
        return self._advance()

    def _advance(self) -> int | None:
        marks = [mark for channel, mark in self._marks.items() if channel not in self._idle and mark >= self.current]
        return self._raise_to(min(marks)) if marks else None

    def _raise_to(self, timestamp: int) -> int | None:
        if timestamp <= self.current:
            return None
        self.current = timestamp
        return timestamp

    def snapshot(self) -> Any:
        """A picklable copy of everything that ``restore`` needs."""
        return (self.current, dict(self._marks), set(self._idle))

    def restore(self, snapshot: Any) -> None:
        """Go on from a snapshot; channels that it does not know keep the lowest watermark."""
        self.current, marks, idle = snapshot
        for channel, mark in marks.items():
            if channel in self._marks:
                self._marks[channel] = mark
        self._idle = {channel for channel in idle if channel in self._marks}

    def begin_at(self, timestamp: int) -> None:
        """All channels have come as far as this."""
        self.current = timestamp
        self._marks = dict.fromkeys(self._marks, timestamp)
