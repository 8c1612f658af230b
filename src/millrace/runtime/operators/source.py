"""Reads splits inside the task: the reader of a FLIP-27 source, with the timestamps and watermarks of its strategy."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from millrace.common.source import InputStatus, Source
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.runtime.bases.base import Output, ReadingOperator
from millrace.runtime.elements import MIN_TIMESTAMP, Chunk, Status
from millrace.runtime.operators.assign_timestamps import ExtractionError
from millrace.runtime.operators.live_reader import LiveReader, ReaderContext
from millrace.runtime.operators.source_output import SourceOutput
from millrace.runtime.operators.split_times import SplitTimes
from millrace.runtime.protocol.epoch import SourceOrder, SourceReport
from millrace.runtime.state.operator_state import OperatorStateBackend
from millrace.util.skipped import SKIPPED_METRIC, counting_skipped

WAIT_SECONDS = 0.005
"""How long a source that must be read to its end waits when it has nothing."""


class SourceOperator(ReadingOperator):
    """The head of every stream. It has no inputs: the task calls ``read`` once per epoch.

    Its reader lives as long as the operator. The unfinished splits are part of the operator's own state, so a new
    reader can go on from there; the driver only tells of new ones.
    """

    def __init__(self, source: Source[Any, Any], strategy: WatermarkStrategy) -> None:
        self._source = source
        self._strategy = strategy
        self._report = SourceReport((), False, MIN_TIMESTAMP)
        self._finished = False
        self._paused = False
        self._operator_state = OperatorStateBackend()
        self._live: LiveReader | None = None

    def setup(self, context: Any, output: Output) -> None:
        super().setup(context, output)
        self._times = SplitTimes(self._strategy, self.emit, output)
        self._skipped = context.runtime.get_metrics_group().counter(SKIPPED_METRIC)

    def process(self, chunk: Chunk, input: int) -> None:
        raise AssertionError("a source has no input")

    def read(self, order: SourceOrder, epoch: int, records: int | None, millis: int | None) -> Iterator[None]:
        """Read this epoch's share; control comes back after every poll so that the task can pass results on."""
        if self._finished:
            return
        try:
            yield from self._read(order, epoch, records, millis)
        except ExtractionError as error:
            self._drop_quietly()
            raise self.context.error(error.cause or error, error.element, f" {error}") from error
        except Exception as error:
            self._drop_quietly()
            raise self.context.error(error, during=" to read") from error

    def _read(self, order: SourceOrder, epoch: int, records: int | None, millis: int | None) -> Iterator[None]:
        self._paused = order.paused and not order.stop
        if order.stop and self._live is None:  # a reader that would only be told to stop is not worth making
            self._end()
            yield
            return
        live = self._live or self._begin(records)
        live.begin_epoch(order, self._times.ahead(order.limit))
        status = InputStatus.NOTHING_AVAILABLE
        if not order.paused and not order.stop:
            until = None if millis is None else self.context.clock() + millis
            while True:
                with counting_skipped() as skipped:
                    status = live.reader.poll_next(live.output)
                self._skipped.inc(skipped.number)
                yield
                if status is InputStatus.NOTHING_AVAILABLE and order.whole:
                    time.sleep(WAIT_SECONDS)
                elif status is not InputStatus.MORE_AVAILABLE:
                    break
                if records is not None and live.output.total >= records:
                    break
                if until is not None and self.context.clock() >= until:
                    break
        if status is not InputStatus.END_OF_INPUT:
            live.reader.end_epoch(live.output, epoch)
        live.output.flush_all()
        if order.stop or status is InputStatus.END_OF_INPUT:
            self._end(*live.said())
        else:
            splits = tuple(live.reader.snapshot_state(epoch))
            self._report = SourceReport(splits, False, self._times.watermark, self._times.idle, *live.said())
        yield

    def _begin(self, records: int | None) -> LiveReader:
        self.context.runtime.measures.accumulators.expect_again()
        context = ReaderContext(self.context, self._operator_state, records)
        output = SourceOutput(self._times, self.context.clock)
        self._live = LiveReader(self._source, context, output, self._report.splits)
        return self._live

    def _end(self, events: tuple[Any, ...] = (), requests: int = 0) -> None:
        self._finished = True
        self.close()
        self._times.end()
        self.output.mark(Status.FINISHED)
        self._report = SourceReport((), True, self._times.watermark, events=events, requests=requests)

    @property
    def finished(self) -> bool:
        """Whether the last split has been read to its end."""
        return self._finished

    def report(self) -> SourceReport:
        """What the driver has to know for the next epoch. The state of this one is written by now."""
        if self._live is not None:
            self._live.reader.snapshot_taken()
        return self._report

    def tick(self, now: int) -> None:
        # A source that has to wait for others is not idle.
        if not self._finished and not self._paused:
            self._times.clock(now)
            self._report = replace(self._report, watermark=self._times.watermark, idle=self._times.idle)

    def operator_state(self) -> OperatorStateBackend:
        return self._operator_state

    def snapshot(self) -> Any:
        return (self._times.snapshot(), self._finished, self._report.splits)

    def restore(self, snapshot: Any) -> None:
        self._drop_quietly()
        # Without splits: a checkpoint of Millrace 0.1, whose driver sends all of them.
        times, self._finished, splits = snapshot if len(snapshot) == 3 else (*snapshot, ())
        self._times.restore(times)
        self._report = SourceReport(splits, self._finished, self._times.watermark)

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        # Whoever had ended reports that again: the operators below wait for it. The driver deals all splits anew.
        runtime = self.context.runtime
        self._times.take_over(
            [small[0] for small in smalls],
            runtime.get_index_of_this_subtask(),
            runtime.get_number_of_parallel_subtasks(),
        )

    def close(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.reader.close()

    def _drop_quietly(self) -> None:
        """The reader is out of date, or has failed: what it says at its end is of no interest."""
        with contextlib.suppress(Exception):
            self.close()
