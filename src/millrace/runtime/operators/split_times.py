"""Event time of one subtask of a source: a watermark generator for each split that is read, the lowest one counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.runtime.bases.base import Output
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Status
from millrace.runtime.operators.assign_timestamps import EventTime
from millrace.runtime.pieces import Midst
from millrace.runtime.time_jumps import JumpsIgnored

Emit = Callable[[list[Any], list[int | None] | None], None]


@dataclass(frozen=True)
class TimesSnapshot:
    """``SplitTimes`` at the end of an epoch."""

    rest: Any
    rest_counts: bool
    watermark: int
    idle: bool
    splits: dict[str, Any] = field(default_factory=dict)


class _Marks:
    """What the event time of one split, or of the rest, sends its marks to."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def mark(self, mark: int | Status) -> None:
        self._changed()


class SplitTimes:
    """Elements that the reader emits for no split are "the rest". It is all that counts as long as no split has an
    output, and with splits if there was ever an element in it."""

    def __init__(
        self,
        strategy: WatermarkStrategy,
        emit: Emit,
        output: Output,
        midst: Midst | None = None,
        jumps: JumpsIgnored | None = None,
    ) -> None:
        marks = _Marks(self._combine)
        self._new = partial(EventTime, strategy, self._send, marks, midst, jumps)
        self._stamping = partial(EventTime, strategy, self._send, _Marks(lambda: None), midst)
        self._emit = emit
        self._together: list[tuple[list[Any], list[int | None] | None]] | None = None
        """what is gathered, to go on as one"""
        self._shown = MIN_TIMESTAMP
        """the watermark that has gone on, while something is gathered"""
        self._output = output
        self._rest = self._new()
        self._rest_counts = False
        self._splits: dict[str, EventTime] = {}
        self.watermark = MIN_TIMESTAMP
        self.idle = False
        """whether this subtask no longer holds watermarks back"""

    @contextmanager
    def together(self) -> Iterator[None]:
        """The elements of several splits go on as one batch, and what follows from them in event time behind it."""
        self._together, self._shown = [], self.watermark
        try:
            yield
            self._show()
        finally:
            self._together = None

    def _send(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        if self._together is None:
            self._emit(values, timestamps)
            return
        if self._together and (self._together[0][1] is None) != (timestamps is None):
            self._emit_gathered()
        self._together.append((values, timestamps))

    def _show(self) -> None:
        """What is gathered goes on."""
        self._emit_gathered()
        if self.watermark > self._shown:
            self._shown = self.watermark
            self._output.mark(self.watermark)

    def _emit_gathered(self) -> None:
        parts, self._together = self._together or [], []
        if not parts:
            return
        times = [times for _, times in parts if times is not None]
        known = [each for some in times for each in some] if times else None
        self._emit([value for values, _ in parts for value in values], known)

    def elements(self, values: list[Any], timestamps: list[int | None] | None, now: int) -> None:
        """Elements of no split."""
        self._rest_counts = True
        self._rest.elements(values, timestamps, now)

    def without_watermarks(self, values: list[Any], timestamps: list[int | None] | None, now: int) -> None:
        """Elements that only get their timestamps."""
        self._stamping().elements(values, timestamps, now)

    def periodic(self, split_id: str | None, now: int) -> None:
        """Elements have come one by one, and there is time for a watermark."""
        part = self._rest if split_id is None else self._splits.get(split_id)
        if part is not None:
            part.periodic(now)

    def of_split(self, split_id: str) -> EventTime:
        """A new one, or that of the same split."""
        if split_id not in self._splits:
            if not self._splits:
                self._rest.begin_again()
            self._splits[split_id] = self._new()
            self._combine()
        return self._splits[split_id]

    def release(self, split_id: str) -> None:
        """The split has ended."""
        if self._splits.pop(split_id, None) is not None:
            self._combine()

    def mark(self, watermark: int) -> None:
        """The reader says how far all its splits are."""
        if self._splits:
            self._set_idle(False)
            self._advance(watermark)
        else:
            self._rest.mark(watermark)

    def mark_idle(self) -> None:
        for part in self._parts():
            part.mark(Status.IDLE)

    def clock(self, now: int) -> None:
        """The epoch has no more elements: generators may emit, quiet splits become idle."""
        if self.watermark != MAX_WATERMARK:
            for part in self._parts():
                part.clock(now)

    def end(self) -> None:
        """Bounded input has ended."""
        self._splits.clear()
        self._set_idle(False)
        self._advance(MAX_WATERMARK)

    def ahead(self, limit: int | None) -> frozenset[str]:
        """The splits that are further than this (ms)."""
        return frozenset(name for name, part in self._splits.items() if limit is not None and part.watermark > limit)

    def _parts(self) -> list[EventTime]:
        parts = list(self._splits.values())
        return parts if parts and not self._rest_counts else [*parts, self._rest]

    def _combine(self) -> None:
        active = [part.watermark for part in self._parts() if not part.idle]
        self._set_idle(not active)
        if active:
            self._advance(min(active))

    def _advance(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            if self._together is None:
                self._output.mark(watermark)

    def _set_idle(self, idle: bool) -> None:
        if idle != self.idle:
            if self._together is not None:
                self._show()
            self.idle = idle
            self._output.mark(Status.IDLE if idle else Status.ACTIVE)

    def snapshot(self) -> TimesSnapshot:
        splits = {name: part.snapshot() for name, part in self._splits.items()}
        return TimesSnapshot(self._rest.snapshot(), self._rest_counts, self.watermark, self.idle, splits)

    def restore(self, snapshot: Any) -> None:
        snapshot = _of_now(snapshot)
        self._rest.restore(snapshot.rest)
        self._rest_counts, self.watermark, self.idle = snapshot.rest_counts, snapshot.watermark, snapshot.idle
        self._splits = {name: self._new() for name in snapshot.splits}
        for name, part in self._splits.items():
            part.restore(snapshot.splits[name])

    def take_over(self, snapshots: Sequence[Any], subtask: int, parallelism: int) -> None:
        """Go on with the generators of this subtask, as if nothing had been quiet. With another number of subtasks new
        ones begin: who gets which split is not known yet."""
        if len(snapshots) != parallelism:
            return
        mine = _of_now(snapshots[subtask])
        if mine.watermark != MAX_WATERMARK:
            self.restore(mine)
            self.idle = False
            for part in (self._rest, *self._splits.values()):
                part.begin_again()


def _of_now(snapshot: Any) -> TimesSnapshot:
    """Millrace 0.1 had one generator for all splits."""
    return snapshot if isinstance(snapshot, TimesSnapshot) else TimesSnapshot(snapshot, True, *snapshot[1:3])
