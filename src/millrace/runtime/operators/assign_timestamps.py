"""``assign_timestamps_and_watermarks``: event time begins here.

Watermarks are generated once per chunk (Flink's periodic emission, by data instead of by clock), or wherever a
generator emits one from ``on_event``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from millrace.common.watermark_strategy import WatermarkOutput, WatermarkStrategy
from millrace.runtime.bases.base import Operator, Output, failing
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk, Status
from millrace.runtime.pieces import Midst, Pause
from millrace.runtime.time_jumps import JumpsIgnored, TimeJumps


class _Marks(WatermarkOutput):
    """Collects what a generator emits, with the position among the elements of the chunk."""

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
    """Where watermarks and status changes go."""

    def mark(self, mark: int | Status) -> None: ...


class EventTime:
    """Timestamps and watermarks of one stream: used by the operator, and by sources for each split."""

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
        self._marks = _Marks()
        self._midst = Midst() if midst is None else midst
        self._pause = Pause()
        self.watermark = MIN_TIMESTAMP
        self._idle = False
        self._last_active: int | None = None

    def elements(self, values: list[Any], timestamps: list[int | None] | None, now: int) -> None:
        """Stamp elements and send them on, with the watermarks that follow from them."""
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
        """The times that the watermark follows."""
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
                extract(value, MIN_TIMESTAMP if known is None else known)
                for known, value in zip(timestamps, remaining)
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
        """Send a watermark if it advances, or a status change."""
        if isinstance(mark, Status):
            self._set_idle(mark is Status.IDLE)
        elif mark > self.watermark:
            self._set_idle(False)
            self.watermark = mark
            self._output.mark(mark)

    def clock(self, now: int) -> None:
        """The epoch has no more elements: generators may emit, quiet streams become idle."""
        if self.watermark == MAX_WATERMARK:  # the end: nothing follows it
            return
        self.periodic(now)
        if self._idle_timeout is not None:
            if self._last_active is None or self._last_active > now:  # of another process
                self._last_active = now
            elif now - self._last_active >= self._idle_timeout:
                self._set_idle(True)

    def periodic(self, now: int) -> None:
        """Let the generator emit."""
        self._pause.ends(now)
        if self._generator is not None:
            self._generator.on_periodic_emit(self._marks)
            for _, mark in self._marks.take():
                self.mark(mark)

    def end(self) -> None:
        """Bounded input has ended."""
        self._set_idle(False)
        self.mark(MAX_WATERMARK)

    @property
    def idle(self) -> bool:
        """Whether this stream no longer holds watermarks back."""
        return self._idle

    def begin_again(self) -> None:
        """How long the stream has been quiet counts from now on."""
        self._idle, self._last_active = False, None

    def _set_idle(self, idle: bool) -> None:
        if idle != self._idle:
            self._idle = idle
            self._output.mark(Status.IDLE if idle else Status.ACTIVE)

    def snapshot(self) -> Any:
        # What a generator without state does is said by the program, which may change.
        generator = None if getattr(self._generator, "stateless", False) else self._generator
        cap = () if self._cap is None else (self._cap.snapshot(),)
        return (generator, self.watermark, self._idle, self._last_active, *cap)

    def restore(self, snapshot: Any) -> None:
        generator, self.watermark, self._idle, self._last_active, *cap = snapshot
        if self._cap is not None and cap:
            self._cap.restore(cap[0])
        self._generator = generator if generator is not None else self._generator

    def take_over(self, snapshots: Sequence[Any], subtask: int, parallelism: int) -> None:
        """Go on with the generator of this subtask. Those of another number of subtasks can't be put together: then
        a new one begins."""
        if len(snapshots) == parallelism and snapshots[subtask][1] != MAX_WATERMARK:
            generator, self.watermark = snapshots[subtask][:2]
            if self._cap is not None and len(snapshots[subtask]) > 4:
                self._cap.restore(snapshots[subtask][4])
            self._generator = generator if generator is not None else self._generator


def jumps_of(strategy: WatermarkStrategy, context: Any) -> JumpsIgnored | None:
    """Who counts the elements that the watermark does not follow; None for a strategy that follows all."""
    return None if strategy.max_jump_ms is None else JumpsIgnored(context)


class ExtractionError(Exception):
    """The timestamp assigner or the watermark generator failed on an element; the text says what it was to do."""

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
    """Gives elements new timestamps and replaces the watermarks of its input (all but the last) by its own."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy

    def setup(self, context: Any, output: Output) -> None:
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
        """The input's status says nothing about the event time that begins here."""

    def tick(self, now: int) -> None:
        self._time.clock(self.context.steady())

    def snapshot(self) -> Any:
        return self._time.snapshot()

    def restore(self, snapshot: Any) -> None:
        self._time.restore(snapshot)

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        runtime = self.context.runtime
        self._time.take_over(
            smalls, runtime.get_index_of_this_subtask(), runtime.get_number_of_parallel_subtasks()
        )
