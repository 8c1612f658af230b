"""Sources and sinks that the user writes: FLIP-27, FLIP-143, and the old function classes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.spark.conftest import MakeEnvironment, Watch

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
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
from millrace.datastream import ProcessFunction, SinkFunction, SourceFunction
from millrace.runtime.coordination.coordinator import JobFailedError


@dataclass(frozen=True)
class Page:
    """Numbers still to be read."""

    name: str
    numbers: tuple[int, ...]


class Pages(Source[int, Page]):
    """Hands out its pages one by one; a reader emits one number a poll, with its tenfold as timestamp."""

    def __init__(self, *pages: Page) -> None:
        self.pages = pages

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: SplitEnumeratorContext[Page], checkpoint: Any = None) -> PageEnumerator:
        return PageEnumerator(context, list(self.pages))

    def create_reader(self, context: SourceReaderContext) -> PageReader:
        return PageReader()


class PageEnumerator(SplitEnumerator[Page]):
    def __init__(self, context: SplitEnumeratorContext[Page], pages: list[Page]) -> None:
        self.context, self.pages = context, pages

    def handle_split_request(self, subtask_id: int) -> None:
        if self.pages:
            self.context.assign_split(self.pages.pop(0), subtask_id)
        else:
            self.context.signal_no_more_splits(subtask_id)


class PageReader(SourceReader[int, Page]):
    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.ending = False

    def add_splits(self, splits: Sequence[Page]) -> None:
        self.pages += splits

    def notify_no_more_splits(self) -> None:
        self.ending = True

    def poll_next(self, output: ReaderOutput[int]) -> InputStatus:
        if not self.pages:
            return InputStatus.END_OF_INPUT if self.ending else InputStatus.NOTHING_AVAILABLE
        page = self.pages[0]
        if not page.numbers:
            self.pages.pop(0)
        else:
            output.collect(page.numbers[0], page.numbers[0] * 10)
            self.pages[0] = replace(page, numbers=page.numbers[1:])
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[Page]:
        return self.pages


class Ledger(Sink[int]):
    """Each writer keeps what it is given until the epoch ends; the committer adds it to a file on the driver."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create_writer(self, context: WriterInitContext) -> LedgerWriter:
        return LedgerWriter(context, 0)

    def restore_writer(self, context: WriterInitContext, states: Sequence[int]) -> LedgerWriter:
        return LedgerWriter(context, sum(states))

    def create_committer(self) -> LedgerCommitter:
        return LedgerCommitter(self.path)


class LedgerWriter(SinkWriter[int]):
    def __init__(self, context: WriterInitContext, written: int) -> None:
        self.context, self.written = context, written
        self.entries: list[tuple[int, int | None]] = []

    def write(self, element: int, context: SinkWriterContext) -> None:
        self.entries.append((element, context.timestamp()))

    def prepare_commit(self) -> list[Any]:
        entries, self.entries = self.entries, []
        self.written += len(entries)
        return [(self.context.get_checkpoint_id(), self.context.get_index_of_subtask(), entries, os.getpid())]

    def snapshot_state(self, checkpoint_id: int) -> list[int]:
        return [self.written]


class LedgerCommitter(Committer[Any]):
    def __init__(self, path: Path) -> None:
        self.path = path

    def commit(self, committables: Sequence[Any]) -> None:
        with self.path.open("a") as file:
            file.writelines(json.dumps([*committable, os.getpid()]) + "\n" for committable in committables)


PAGES = [Page("a", (1, 2, 3)), Page("b", (10, 11)), Page("c", ()), Page("d", (20, 21, 22, 23))]
NUMBERS = sorted(number for page in PAGES for number in page.numbers)


@pytest.mark.parametrize("batch", [False, True])
def test_source_and_sink_of_the_new_kind(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path, batch: bool
) -> None:
    ledger = tmp_path / "ledger"
    env = environment(2, batch, **{"millrace.epoch.max-records": 2})
    env.from_source(Pages(*PAGES), WatermarkStrategy.for_monotonous_timestamps(), "pages").sink_to(Ledger(ledger))
    env.execute()
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    entries = sorted(tuple(entry) for _, _, entries, *_ in lines for entry in entries)
    assert entries == [(number, number * 10) for number in NUMBERS]
    assert len(watch.epochs) == 1 if batch else len(watch.epochs) > 2
    epochs = [epoch for epoch, *_ in lines]
    assert epochs == sorted(epochs)
    assert len({(epoch, subtask) for epoch, subtask, *_ in lines}) == len(lines)
    assert {committed for *_, committed in lines} == {os.getpid()}, "committers run on the driver"
    assert all(written != os.getpid() for *_, written, _ in lines), "writers run in the tasks"


def test_a_failed_epoch_is_not_committed(environment: MakeEnvironment, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    env = environment(1, **{"millrace.epoch.max-records": 2})
    numbers = env.from_source(Pages(Page("a", (1, 2, 3, 4, 0, 5))), WatermarkStrategy.no_watermarks(), "pages")
    numbers.map(lambda number: 12 // number).sink_to(Ledger(ledger))
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        env.execute()
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert [[value for value, _ in entries] for _, _, entries, *_ in lines] == [[12, 6], [4, 3]]


class Countdown(SourceFunction[int]):
    """With timestamps and watermarks."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        for number in range(self.start, 0, -1):
            if not self.running:
                return
            ctx.collect_with_timestamp(number, (self.start - number) * 100)
            ctx.emit_watermark((self.start - number) * 100)

    def cancel(self) -> None:
        self.running = False


class TellTime(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> list[tuple[int, int | None, int]]:
        return [(value, ctx.timestamp(), ctx.timer_service().current_watermark())]


class Append(SinkFunction[Any]):
    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, runtime_context: Any) -> None:
        self.file = self.path.with_suffix(f".{runtime_context.get_index_of_this_subtask()}").open("a")

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        assert context.timestamp() == value[1]
        self.file.write(f"{value}\n")

    def close(self) -> None:
        self.file.close()


def test_source_function_and_sink_function(environment: MakeEnvironment, tmp_path: Path) -> None:
    env = environment(2)
    told = env.add_source(Countdown(4), "countdown").process(TellTime()).set_parallelism(1)
    told.add_sink(Append(tmp_path / "told")).set_parallelism(2)
    env.execute()
    lines = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    lowest = -(2**63)
    assert sorted(lines, reverse=True) == [f"({4 - n}, {n * 100}, {n * 100 - 100 if n else lowest})" for n in range(4)]


class Broken(SourceFunction[int]):
    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        ctx.collect(1)
        raise OSError("the line is dead")


def test_a_source_function_that_fails(environment: MakeEnvironment) -> None:
    env = environment(1)
    env.add_source(Broken()).print()
    with pytest.raises(JobFailedError, match=r"failed to read[^$]*OSError: the line is dead"):
        env.execute()
