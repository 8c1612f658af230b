"""A FLIP-27 source read on the executors: its splits are found on the driver and dealt out once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from millrace.common.source import (
    InputStatus,
    ReaderOutput,
    Source,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.relational.rows import Rows
from millrace.relational.types import DataType
from millrace.runtime.clocks import now_millis
from millrace.runtime.context.measures import Measures
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.task_metrics import Reporting
from millrace.spark.tables.texts.types import outgoing, spark_schema
from millrace.util.skipped import SKIPPED_METRIC, counting_skipped

WAIT_SECONDS = 0.005


def read_source(source: Source[Rows, Any], types: Sequence[DataType], name: str, context: Context) -> Part:
    """The rows of a bounded source, with columns c0, c1, ...

    :param name: of the table, for errors.
    """
    splits = _splits(source, context.parallelism) if context.reads else []
    width = max(len(splits), 1)
    reporting = None if context.metrics is None else context.metrics.node(f"Source: {name}")
    task = ReadTask(source.for_readers(), tuple(tuple(each) for each in splits), name, reporting)
    tasks = context.session.range(0, width, 1, width)
    ship = partial(context.ship, what=f"the source of table {name}")
    return Part.of_frame(tasks).in_python(task, spark_schema(types), ship)


@dataclass
class _Enumeration(SplitEnumeratorContext[Any]):
    parallelism: int
    assigned: dict[int, list[Any]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    def current_parallelism(self) -> int:
        return self.parallelism

    def assign_split(self, split: Any, subtask_id: int) -> None:
        self.assigned.setdefault(subtask_id, []).append(split)

    def signal_no_more_splits(self, subtask_id: int) -> None:
        self.ended.add(subtask_id)

    def current_processing_time(self) -> int:
        return time.time_ns() // 1_000_000


def _splits(source: Source[Rows, Any], parallelism: int) -> list[list[Any]]:
    """All splits, as they are dealt out to that many readers; readers without any are left out."""
    found = _Enumeration(parallelism)
    enumerator = source.create_enumerator(found)
    try:
        enumerator.start()
        before = -1
        while (count := sum(map(len, found.assigned.values()))) > before:
            before = count
            for subtask in range(parallelism):
                if subtask not in found.ended:
                    enumerator.handle_split_request(subtask)
    finally:
        enumerator.close()
    return [found.assigned[subtask] for subtask in sorted(found.assigned)]


class _ReaderContext(SourceReaderContext):
    def __init__(self, subtask: int, parallelism: int) -> None:
        self._subtask = subtask
        self._parallelism = parallelism

    def get_index_of_subtask(self) -> int:
        return self._subtask

    def current_parallelism(self) -> int:
        return self._parallelism

    def current_processing_time(self) -> int:
        return time.time_ns() // 1_000_000


class _Output(ReaderOutput[Rows]):
    """Keeps what a poll gives. Times and watermarks do not matter in batch mode."""

    def __init__(self) -> None:
        self.rows: list[Rows] = []

    def collect(self, record: Rows, timestamp: int | None = None) -> None:
        self.rows.append(record)

    def collect_batch(self, records: list[Rows], timestamps: list[int] | None = None) -> None:
        self.rows += records

    def emit_watermark(self, timestamp: int) -> None: ...

    def mark_idle(self) -> None: ...


@dataclass(frozen=True)
class ReadTask:
    """Reads the splits of each subtask whose number comes in."""

    source: Source[Rows, Any]
    splits: tuple[tuple[Any, ...], ...]
    name: str
    reporting: Reporting | None = None
    """who hears of records that could not be read and are left out"""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for subtask in batch.column(0).to_pylist():
                if subtask < len(self.splits):
                    yield from self._read(subtask)

    def _read(self, subtask: int) -> Iterator[pa.RecordBatch]:
        reader = self.source.create_reader(_ReaderContext(subtask, len(self.splits)))
        output = _Output()
        left_out = 0
        try:
            reader.start()
            reader.add_splits(list(self.splits[subtask]))
            reader.notify_no_more_splits()
            status = InputStatus.MORE_AVAILABLE
            while status is not InputStatus.END_OF_INPUT:
                with counting_skipped() as skipped:
                    status = reader.poll_next(output)
                left_out += skipped.number
                if status is InputStatus.NOTHING_AVAILABLE and not output.rows:
                    time.sleep(WAIT_SECONDS)
                for rows in output.rows:
                    if rows.kinds is not None and rows.kinds.any():
                        raise ValueError(f"table {self.name} has updates or deletions, which batch mode cannot read")
                    yield outgoing(rows.batch)
                output.rows = []
        finally:
            reader.close()
        if left_out and self.reporting is not None:
            measures = Measures(now_millis)
            measures.metrics.counter(SKIPPED_METRIC).inc(left_out)
            self.reporting.report(subtask, measures)
