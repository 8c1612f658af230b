"""Assigns timestamps and watermarks: ``assign_timestamps_and_watermarks``, and event time of a source by split.

Watermarks are generated once per chunk (Flink's periodic emission, by data instead of by clock), or wherever a
generator emits one from ``on_event``. A source subtask has a watermark generator for each split that it reads; the
lowest watermark counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from millrace.common.watermark_strategy import WatermarkOutput, WatermarkStrategy
from millrace.runtime.bases.operator import Operator, OperatorContext, Output, failing
from millrace.runtime.clocks import JumpsIgnored, TimeJumps
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk, Midst, Pause, Status

# Timestamps of a stream


class _GeneratorOutput(WatermarkOutput):
    """Collects the output of a generator, with the index among the elements of the chunk."""

    def __init__(self) -> None:
        self.position = 0
        self.marks: list[tuple[int, int | Status]] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.marks.append((self.position, timestamp))

    def mark_idle(self) -> None:
        self.marks.append((self.position, Status.IDLE))

    def mark_active(self) -> None:
        self.marks.append((self.position, Status.ACTIVE))

    def take(self) -> list[tuple[int, int | Status]]:
        marks, self.marks = self.marks, []
        return marks


class TakesMarks(Protocol):
    """Receives watermarks and status changes."""

    def mark(self, mark: int | Status) -> None: ...


class EventTime:
    """The timestamps and watermarks of one stream; used by the operator, and by sources for each split."""

    def __init__(
        self,
        strategy: WatermarkStrategy,
        emit: Callable[[list[Any], list[int | None] | None], None],
        output: TakesMarks,
        midst: Midst | None = None,
        jumps: JumpsIgnored | None = None,
    ) -> None:
        self._cap = None if strategy.max_jump_ms is None else TimeJumps(strategy.max_jump_ms)
        self._jumps = jumps
        self._assigner = strategy.timestamp_assigner
        self._generator = strategy.create_generator()
        self._idle_timeout = strategy.idle_timeout_ms
        self._emit = emit
        self._output = output
        self._marks = _GeneratorOutput()
        self._midst = Midst() if midst is None else midst
        self._pause = Pause()
        self.watermark = MIN_TIMESTAMP
        self._idle = False
        self._last_active: int | None = None

    def elements(self, values: list[Any], timestamps: list[int | None] | None, now: int) -> None:
        """Assign timestamps to elements and emit them, with the watermarks that follow from them."""
        if not values:
            return
        self._last_active = now
        self._set_idle(False)
        if self._assigner is not None:
            timestamps = self._extract(values, timestamps)
        generator, marks = self._generator, self._marks
        if generator is None:
            self._emit(values, timestamps)
            return
        known: list[Any] = [MIN_TIMESTAMP] * len(values) if timestamps is None else timestamps
        if self._cap is not None and timestamps is not None:
            known = self._capped([MIN_TIMESTAMP if time is None else time for time in known], values)
        on_batch, on_values = getattr(generator, "on_batch", None), getattr(generator, "on_values", None)
        try:
            if on_values is not None:
                marks.position = len(values)
                on_values(values, marks, self._capped)
            elif on_batch is not None:
                on_batch(known if None not in known else [MIN_TIMESTAMP if ts is None else ts for ts in known])
            else:
                for position, (value, timestamp) in enumerate(zip(values, known)):
                    marks.position = position + 1
                    generator.on_event(value, MIN_TIMESTAMP if timestamp is None else timestamp, marks)
            marks.position = len(values)
            if self._pause.is_over(now, self._midst):
                generator.on_periodic_emit(marks)
        except Exception as error:
            raise _no_watermark(values, known, marks.position, error) from error
        self._send(values, timestamps)

    def _capped(self, times: list[int], values: Sequence[Any]) -> list[int]:
        """The timestamps (ms) that the watermark generator sees, without jumps too far ahead."""
        if self._cap is None:
            return times
        found, ignored = self._cap.capped(times)
        if ignored and self._jumps is not None:
            self._jumps.ignored(len(ignored), times[ignored[0]], values[ignored[0]])
        return found

    def _extract(self, values: list[Any], timestamps: list[int | None] | None) -> list[int | None]:
        assert self._assigner is not None
        extract = self._assigner.extract_timestamp
        remaining = iter(values)
        try:
            if timestamps is None:
                return [extract(value, MIN_TIMESTAMP) for value in remaining]
            return [
                extract(value, MIN_TIMESTAMP if known is None else known) for known, value in zip(timestamps, remaining)
            ]
        except Exception as error:
            raise ExtractionError(failing(values, remaining), cause=error) from error

    def _send(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        start = 0
        for position, mark in self._marks.take():
            if position > start:
                self._emit(values[start:position], None if timestamps is None else timestamps[start:position])
                start = position
            self.mark(mark)
        if start == 0:
            self._emit(values, timestamps)
        elif start < len(values):
            self._emit(values[start:], None if timestamps is None else timestamps[start:])

    def mark(self, mark: int | Status) -> None:
        """Emit a watermark if it advances, or a status change."""
        if isinstance(mark, Status):
            self._set_idle(mark is Status.IDLE)
        elif mark > self.watermark:
            self._set_idle(False)
            self.watermark = mark
            self._output.mark(mark)

    def clock(self, now: int) -> None:
        """The epoch has no more elements: generators may emit, and streams without elements become idle."""
        if self.watermark == MAX_WATERMARK:  # the end: nothing follows it
            return
        self.periodic(now)
        if self._idle_timeout is not None:
            if self._last_active is None or self._last_active > now:  # of another process
                self._last_active = now
            elif now - self._last_active >= self._idle_timeout:
                self._set_idle(True)

    def periodic(self, now: int) -> None:
        """Let the generator emit a watermark."""
        self._pause.ends(now)
        if self._generator is not None:
            self._generator.on_periodic_emit(self._marks)
            for _, mark in self._marks.take():
                self.mark(mark)

    def end(self) -> None:
        """The bounded input has ended."""
        self._set_idle(False)
        self.mark(MAX_WATERMARK)

    @property
    def idle(self) -> bool:
        """Whether this stream is idle and holds no watermark back."""
        return self._idle

    def begin_again(self) -> None:
        """The time without elements counts from now on."""
        self._idle, self._last_active = False, None

    def _set_idle(self, idle: bool) -> None:
        if idle != self._idle:
            self._idle = idle
            self._output.mark(Status.IDLE if idle else Status.ACTIVE)

    def snapshot(self) -> Any:
        # A generator without state does what the program says, and the program may have changed.
        generator = None if getattr(self._generator, "stateless", False) else self._generator
        cap = () if self._cap is None else (self._cap.snapshot(),)
        return (generator, self.watermark, self._idle, self._last_active, *cap)

    def restore(self, snapshot: Any) -> None:
        generator, self.watermark, self._idle, self._last_active, *cap = snapshot
        if self._cap is not None and cap:
            self._cap.restore(cap[0])
        self._generator = generator if generator is not None else self._generator

    def take_over(self, snapshots: Sequence[Any], subtask: int, parallelism: int) -> None:
        """Restore the generator of this subtask. With another number of subtasks their generators can't be combined, so
        a new one is used."""
        if len(snapshots) == parallelism and snapshots[subtask][1] != MAX_WATERMARK:
            generator, self.watermark = snapshots[subtask][:2]
            if self._cap is not None and len(snapshots[subtask]) > 4:
                self._cap.restore(snapshots[subtask][4])
            self._generator = generator if generator is not None else self._generator


def jumps_of(strategy: WatermarkStrategy, context: OperatorContext) -> JumpsIgnored | None:
    """The counter of elements that the watermark does not follow; None: the strategy has no limit on jumps."""
    return None if strategy.max_jump_ms is None else JumpsIgnored(context)


class ExtractionError(Exception):
    """The timestamp assigner or the watermark generator failed on an element; the text says which."""

    def __init__(self, element: Any, task: str = "to extract a timestamp", cause: Exception | None = None) -> None:
        super().__init__(task)
        self.element = element
        self.cause = cause


def _no_watermark(values: list[Any], timestamps: list[Any], position: int, error: Exception) -> ExtractionError:
    for value, timestamp in zip(values, timestamps):
        if timestamp is not None and not isinstance(timestamp, int):
            return ExtractionError(value, cause=TypeError(f"a timestamp must be an int (ms), not {timestamp!r}"))
    return ExtractionError(values[max(position, 1) - 1], "to make a watermark", error)


class AssignTimestampsOperator(Operator):
    """Assigns new timestamps to elements, and replaces the watermarks of its input (all but the last) by its own."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._time = EventTime(self._strategy, self.emit, output, context.midst, jumps_of(self._strategy, context))

    def process(self, chunk: Chunk, input: int) -> None:
        try:
            self._time.elements(chunk.values, chunk.timestamps, self.context.steady())
        except ExtractionError as error:
            raise self.context.error(error.cause or error, error.element, f" {error}") from error

    def process_watermark(self, watermark: int) -> None:
        self.watermark = watermark
        if watermark == MAX_WATERMARK:
            self._time.end()

    def process_status(self, status: Status) -> None:
        """The input's status says nothing about event time, which begins at this operator."""

    def tick(self, now: int) -> None:
        self._time.clock(self.context.steady())

    def snapshot(self) -> Any:
        return self._time.snapshot()

    def restore(self, snapshot: Any) -> None:
        self._time.restore(snapshot)

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        runtime = self.context.runtime
        self._time.take_over(smalls, runtime.get_index_of_this_subtask(), runtime.get_number_of_parallel_subtasks())


# Event time by split

Emit = Callable[[list[Any], list[int | None] | None], None]


@dataclass(frozen=True)
class TimesSnapshot:
    """The state of ``SplitTimes`` at the end of an epoch."""

    rest: Any
    rest_counts: bool
    watermark: int
    idle: bool
    splits: dict[str, Any] = field(default_factory=dict)


class _SplitMarks:
    """Receives the watermarks and status changes of one split, or of the elements without split."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def mark(self, mark: int | Status) -> None:
        self._changed()


class SplitTimes:
    """The event time of a source subtask by split. Elements that the reader emits for no split are "the rest". The rest
    is all that counts while no split has an output; later it counts next to the splits if it ever had an element."""

    def __init__(
        self,
        strategy: WatermarkStrategy,
        emit: Emit,
        output: Output,
        midst: Midst | None = None,
        jumps: JumpsIgnored | None = None,
    ) -> None:
        marks = _SplitMarks(self._combine)
        self._new = partial(EventTime, strategy, self._send, marks, midst, jumps)
        self._stamping = partial(EventTime, strategy, self._send, _SplitMarks(lambda: None), midst)
        self._emit = emit
        self._together: list[tuple[list[Any], list[int | None] | None]] | None = None
        """gathered (values, timestamps), to be emitted as one batch"""
        self._shown = MIN_TIMESTAMP
        """the last emitted watermark (ms), while batches are gathered"""
        self._output = output
        self._rest = self._new()
        self._rest_counts = False
        self._splits: dict[str, EventTime] = {}
        self.watermark = MIN_TIMESTAMP
        self.idle = False
        """whether this subtask is idle and holds no watermark back"""

    @contextmanager
    def together(self) -> Iterator[None]:
        """Gathers the elements of several splits and emits them as one batch, with the resulting watermark after it."""
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
        """Emit the gathered elements as one batch."""
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
        """Emit elements of no split."""
        self._rest_counts = True
        self._rest.elements(values, timestamps, now)

    def without_watermarks(self, values: list[Any], timestamps: list[int | None] | None, now: int) -> None:
        """Assign timestamps to elements and emit them, without generating watermarks."""
        self._stamping().elements(values, timestamps, now)

    def periodic(self, split_id: str | None, now: int) -> None:
        """A batch of single elements has ended: let the generator of its split emit a watermark."""
        part = self._rest if split_id is None else self._splits.get(split_id)
        if part is not None:
            part.periodic(now)

    def of_split(self, split_id: str) -> EventTime:
        """The event time of a split; a new one if the split is new."""
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
        """The reader has emitted a watermark (ms) that holds for all its splits."""
        if self._splits:
            self._set_idle(False)
            self._advance(watermark)
        else:
            self._rest.mark(watermark)

    def mark_idle(self) -> None:
        for part in self._parts():
            part.mark(Status.IDLE)

    def clock(self, now: int) -> None:
        """The epoch has no more elements: generators may emit, and splits without elements become idle."""
        if self.watermark != MAX_WATERMARK:
            for part in self._parts():
                part.clock(now)

    def end(self) -> None:
        """The bounded input has ended."""
        self._splits.clear()
        self._set_idle(False)
        self._advance(MAX_WATERMARK)

    def ahead(self, limit: int | None) -> frozenset[str]:
        """The ids of the splits whose watermark is above this limit (ms)."""
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
        """Restore the generators of this subtask; the time without elements counts from now on. With another number of
        subtasks new generators are used, because it is not known yet which subtask gets which split."""
        if len(snapshots) != parallelism:
            return
        mine = _of_now(snapshots[subtask])
        if mine.watermark != MAX_WATERMARK:
            self.restore(mine)
            self.idle = False
            for part in (self._rest, *self._splits.values()):
                part.begin_again()


def _of_now(snapshot: Any) -> TimesSnapshot:
    """Convert a snapshot of Millrace 0.1, which had one generator for all splits."""
    return snapshot if isinstance(snapshot, TimesSnapshot) else TimesSnapshot(snapshot, True, *snapshot[1:3])
