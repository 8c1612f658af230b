"""``SourceOperator`` with a toy FLIP-27 source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.source import CHUNK, SourceOperator
from millrace.testing import OperatorHarness, Record, Status, Watermark
from millrace.util.skipped import record_skipped

END = [Watermark(MAX_WATERMARK), Status.FINISHED]


@dataclass(frozen=True)
class Split:
    """The numbers that are still to be read; "idle", "stop" and "fail" are commands."""

    values: tuple[Any, ...]


class Reader(SourceReader[Any, Split]):
    def __init__(self, log: list[str], context: SourceReaderContext) -> None:
        self.log, self.context = log, context
        self.splits: list[Split] = []
        self.no_more = False

    def start(self) -> None:
        self.log.append(f"start {self.context.get_index_of_subtask()} of {self.context.current_parallelism()}")

    def add_splits(self, splits: Sequence[Split]) -> None:
        self.splits += splits

    def notify_no_more_splits(self) -> None:
        self.no_more = True

    def poll_next(self, output: ReaderOutput[Any]) -> InputStatus:
        while self.splits and not self.splits[0].values:
            self.splits.pop(0)
        if not self.splits:
            return InputStatus.END_OF_INPUT if self.no_more else InputStatus.NOTHING_AVAILABLE
        value, *rest = self.splits[0].values
        self.splits[0] = replace(self.splits[0], values=tuple(rest))
        if value == "idle":
            output.mark_idle()
        elif value == "pause":
            return InputStatus.NOTHING_AVAILABLE
        elif value == "bad":
            record_skipped()
        elif value == "fail":
            raise OSError("disk on fire")
        elif isinstance(value, tuple):
            output.collect_batch(list(value), [int(v) for v in value])
        elif isinstance(value, str):
            output.emit_watermark(int(value))
        else:
            output.collect(value, value if value >= 0 else None)
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[Split]:
        return [split for split in self.splits if split.values]

    def close(self) -> None:
        self.log.append("close")


class Numbers(Source[Any, Split]):
    def __init__(self) -> None:
        self.log: list[str] = []

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[Split], checkpoint: Any = None
    ) -> SplitEnumerator[Split]:
        raise NotImplementedError

    def create_reader(self, context: SourceReaderContext) -> Reader:
        return Reader(self.log, context)


def reading(strategy: WatermarkStrategy | None = None, source: Numbers | None = None) -> OperatorHarness:
    source = source or Numbers()
    return OperatorHarness(lambda: SourceOperator(source, strategy or WatermarkStrategy.no_watermarks()), inputs=0)


def test_reads_to_the_end() -> None:
    source = Numbers()
    with reading(source=source) as harness:
        report = harness.read([Split((1, 2)), Split((-1, (4, 5)))])
    assert harness.output == [Record(1, 1), Record(2, 2), Record(-1), Record(4, 4), Record(5, 5), *END]
    assert (report.splits, report.finished) == ((), True)
    assert source.log == ["start 0 of 1", "close"]


def test_epochs_carry_the_splits_on_in_fresh_operators() -> None:
    harness = reading().open()
    new: tuple[Any, ...] = (Split((1, 2, 3)), Split((4,)))
    found: list[Any] = []
    for _ in range(20):
        report = harness.read(new, records=1)
        new = ()
        found.append([item.value for item in harness.take_output() if isinstance(item, Record)])
        harness = harness.restored()
        if report.finished:
            break
    assert found == [[1], [2], [3], [4], []]
    assert harness.read().finished, "a finished source stays finished"
    assert harness.output == []


def test_counts_records_that_are_left_out() -> None:
    harness = reading().open()
    harness.read([Split((1, "bad", 2, "bad", 3, "bad"))], records=2)
    assert harness.counter("numRecordsInErrors") == 1
    harness = harness.restored()
    harness.read()
    assert harness.counter("numRecordsInErrors") == 3
    record_skipped()  # nobody reads here
    assert harness.counter("numRecordsInErrors") == 3


def test_waits_for_splits() -> None:
    with reading() as harness:
        report = harness.read([Split((1,))], no_more_splits=False)
        assert (report.splits, report.finished, harness.values) == ((), False, [1])
        assert harness.read([Split((2, "pause", 3))]).splits == (Split((3,)),)
        harness.end_epoch()
        assert harness.read().finished
        assert harness.values == [1, 2, 3]


def test_stopping_ends_the_stream_without_reading() -> None:
    with reading() as harness:
        assert harness.read([Split((1, 2))], stop=True).finished
        assert harness.output == END


def test_watermarks_of_strategy_and_reader() -> None:
    with reading(WatermarkStrategy.for_monotonous_timestamps()) as harness:
        report = harness.read([Split((5, "6", (9, 8), "3", 10))], no_more_splits=False)
        assert harness.output == [
            Record(5, 5), Watermark(4), Watermark(6), Record(9, 9), Record(8, 8), Watermark(8), Record(10, 10),
            Watermark(9),
        ]  # fmt: skip
        assert report.watermark == 9
        assert harness.restored().read([], no_more_splits=False).watermark == 9


def test_an_idle_reader_is_active_with_its_next_element() -> None:
    with reading() as harness:
        harness.read([Split((1, "idle", 2, "idle", "7", "idle"))], no_more_splits=False)
        assert harness.output == [
            Record(1, 1), Status.IDLE, Status.ACTIVE, Record(2, 2), Status.IDLE, Status.ACTIVE, Watermark(7),
            Status.IDLE,
        ]  # fmt: skip


def test_single_elements_are_gathered_to_chunks() -> None:
    with reading(WatermarkStrategy.for_monotonous_timestamps()) as harness:
        harness.read([Split(tuple(range(CHUNK + 1)))])
        marks = [item for item in harness.output if isinstance(item, Watermark)]
    assert marks == [Watermark(CHUNK - 2), Watermark(CHUNK - 1), Watermark(MAX_WATERMARK)]
    assert harness.values == list(range(CHUNK + 1))


def test_a_failing_reader_is_closed_and_named() -> None:
    source = Numbers()
    with reading(source=source) as harness, pytest.raises(OperatorError, match="disk on fire") as caught:
        harness.read([Split((1, "fail"))])
    assert caught.value.failure.during == " to read"
    assert source.log[-1] == "close"


def test_only_sources_read() -> None:
    from millrace.common.functions.callables import as_map

    with OperatorHarness.for_function(as_map(str)) as harness, pytest.raises(TypeError, match="only sources read"):
        harness.read()
