"""Reads splits inside the task: the reader of a FLIP-27 source, with the timestamps and watermarks of its strategy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from millrace.common.source import InputStatus, ReaderOutput, Source, SourceReaderContext
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream.functions import RuntimeContext
from millrace.relational.rows import Rows
from millrace.runtime.elements import Chunk, Status, count
from millrace.runtime.epoch import SourceOrder, SourceReport
from millrace.runtime.operators.assign_timestamps import EventTime, ExtractionError
from millrace.runtime.operators.base import Output, ReadingOperator
from millrace.runtime.state.operator_state import OperatorStateBackend

WAIT_SECONDS = 0.005
"""How long a source that must be read to its end waits when it has nothing."""
CHUNK = 4_096
"""Elements that single ``collect`` calls are gathered to."""


class _ReaderContext(SourceReaderContext):
    def __init__(self, operator: SourceOperator, max_records: int | None) -> None:
        self._operator = operator
        self._max_records = max_records

    def get_index_of_subtask(self) -> int:
        return self._operator.context.runtime.get_index_of_this_subtask()

    def current_parallelism(self) -> int:
        return self._operator.context.runtime.get_number_of_parallel_subtasks()

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def max_records(self) -> int | None:
        return self._max_records

    def get_runtime_context(self) -> RuntimeContext:
        return self._operator.context.runtime

    def get_operator_state_store(self) -> OperatorStateBackend:
        return self._operator.operator_state()


class _Output(ReaderOutput[Any]):
    """Gathers single elements to chunks; counts."""

    def __init__(self, time: EventTime, clock: Callable[[], int]) -> None:
        self._time = time
        self._clock = clock
        self._values: list[Any] = []
        self._timestamps: list[int | None] = []
        self.count = 0
        """records so far; of batches of rows the rows, but one at least: an epoch has an end also if all are empty"""

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self._values.append(record)
        self._timestamps.append(timestamp)
        self.count += max(len(record), 1) if record.__class__ is Rows else 1
        if len(self._values) >= CHUNK:
            self.flush()

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self.flush()
        self.count += max(count(records), len(records))
        self._time.elements(records, None if timestamps is None else list(timestamps), self._clock())

    def emit_watermark(self, timestamp: int) -> None:
        self.flush()
        self._time.mark(timestamp)

    def mark_idle(self) -> None:
        self.flush()
        self._time.mark(Status.IDLE)

    def flush(self) -> None:
        if not self._values:
            return
        values, timestamps = self._values, self._timestamps
        self._values, self._timestamps = [], []
        known = None if timestamps.count(None) == len(timestamps) else timestamps
        self._time.elements(values, known, self._clock())


class SourceOperator(ReadingOperator):
    """The head of every stream. It has no inputs: the task calls ``read`` once per epoch."""

    def __init__(self, source: Source[Any, Any], strategy: WatermarkStrategy) -> None:
        self._source = source
        self._strategy = strategy
        self._report = SourceReport((), False, -(2**63))
        self._finished = False
        self._paused = False
        self._operator_state = OperatorStateBackend()

    def setup(self, context: Any, output: Output) -> None:
        super().setup(context, output)
        self._time = EventTime(self._strategy, self.emit, output)

    def process(self, chunk: Chunk, input: int) -> None:
        raise AssertionError("a source has no input")

    def read(self, order: SourceOrder, epoch: int, records: int | None, millis: int | None) -> Iterator[None]:
        """Read this epoch's share; control comes back after every poll so that the task can pass results on."""
        if self._finished:
            return
        if order.paused and not order.stop:
            self._paused = True
            self._report = SourceReport(order.splits, False, self._time.watermark)
            return
        self._paused = False
        try:
            yield from self._read(order, epoch, records, millis)
        except ExtractionError as error:
            raise self.context.error(error.cause or error, error.element, f" {error}") from error
        except Exception as error:
            raise self.context.error(error, during=" to read") from error

    def _read(self, order: SourceOrder, epoch: int, records: int | None, millis: int | None) -> Iterator[None]:
        self.context.runtime.measures.accumulators.expect_again()
        reader = self._source.create_reader(_ReaderContext(self, records))
        output = _Output(self._time, self.context.clock)
        status = InputStatus.NOTHING_AVAILABLE
        try:
            reader.start()
            if order.splits:
                reader.add_splits(list(order.splits))
            if order.no_more_splits:
                reader.notify_no_more_splits()
            until = None if millis is None else self.context.clock() + millis
            while not order.stop:
                status = reader.poll_next(output)
                yield
                if status is InputStatus.NOTHING_AVAILABLE and order.whole:
                    time.sleep(WAIT_SECONDS)
                elif status is not InputStatus.MORE_AVAILABLE:
                    break
                if records is not None and output.count >= records:
                    break
                if until is not None and self.context.clock() >= until:
                    break
            self._finished = order.stop or status is InputStatus.END_OF_INPUT
            if not self._finished:
                reader.end_epoch(output, epoch)
            output.flush()
            splits = () if self._finished else tuple(reader.snapshot_state(epoch))
        finally:
            reader.close()
        if self._finished:
            self._time.end()
            self.output.mark(Status.FINISHED)
        self._report = SourceReport(splits, self._finished, self._time.watermark, self._time.idle)
        yield

    @property
    def finished(self) -> bool:
        """Whether the last split has been read to its end."""
        return self._finished

    def report(self) -> SourceReport:
        """What the driver has to know for the next epoch."""
        return self._report

    def after_input(self, now: int) -> None:
        # A source that has to wait for others is not idle.
        if not self._finished and not self._paused:
            self._time.clock(now)
            self._report = replace(self._report, idle=self._time.idle)

    def operator_state(self) -> OperatorStateBackend:
        return self._operator_state

    def snapshot(self) -> Any:
        return (self._time.snapshot(), self._finished)

    def restore(self, snapshot: Any) -> None:
        times, self._finished = snapshot
        self._time.restore(times)
        self._report = SourceReport((), self._finished, self._time.watermark)

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        # Whoever had ended reports that again: the operators below wait for it.
        runtime = self.context.runtime
        self._time.take_over(
            [times for times, _ in smalls],
            runtime.get_index_of_this_subtask(),
            runtime.get_number_of_parallel_subtasks(),
        )
