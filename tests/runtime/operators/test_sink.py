"""``SinkOperator`` with a toy FLIP-143 sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.sinks import SinkOperator
from millrace.testing import Element, EndInput, OperatorHarness, Step, WatermarkStep
from millrace.testing.script import ProcessingTime


class Writer(SinkWriter[Any]):
    """Hands over pairs; an odd element stays in its state until there is another, or the end."""

    def __init__(self, log: list[Any], context: WriterInitContext, kept: Sequence[Any] = ()) -> None:
        self.log, self.context, self.kept = log, context, list(kept)
        self.pairs: list[Any] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        if element == "fail":
            raise OSError("disk full")
        self.kept.append((element, context.timestamp(), context.current_watermark()))
        if len(self.kept) == 2:
            self.pairs.append(tuple(self.kept))
            self.kept = []

    def flush(self, end_of_input: bool) -> None:
        if end_of_input and self.kept:
            self.pairs.append(tuple(self.kept))
            self.kept = []

    def prepare_commit(self) -> list[Any]:
        pairs, self.pairs = self.pairs, []
        return [(self.context.get_checkpoint_id(), pair) for pair in pairs]

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        return list(self.kept)

    def close(self) -> None:
        self.log.append("close")


class Pairs(Sink[Any]):
    def __init__(self) -> None:
        self.log: list[Any] = []

    def create_writer(self, context: WriterInitContext) -> Writer:
        subtask, parallelism = context.get_index_of_subtask(), context.get_number_of_parallel_subtasks()
        self.log.append((subtask, parallelism, context.get_job_id()))
        return Writer(self.log, context)

    def restore_writer(self, context: WriterInitContext, states: Sequence[Any]) -> Writer:
        self.log.append(("restored", len(states)))
        return Writer(self.log, context, states)


def sinking(sink: Pairs | None = None) -> OperatorHarness:
    sink = sink or Pairs()
    return OperatorHarness(lambda: SinkOperator(sink), parallelism=3, subtask=1)


SCRIPT: list[Step] = [
    Element("a", 1), WatermarkStep(5), Element("b"), ProcessingTime(9), Element("c", 7), WatermarkStep(6), Element("d"),
    Element("e"), EndInput(),
]  # fmt: skip


@pytest.mark.parametrize("restoring", [False, True])
@pytest.mark.parametrize("every", [1, 2, 3, 100])
def test_every_element_is_committed_once_with_its_time(every: int, restoring: bool) -> None:
    """The epochs show in the committables, so ``check_variants`` is not for it: only contents are the same."""
    harness = sinking().open()
    committed: list[Any] = []
    for number, step in enumerate(SCRIPT, 1):
        if isinstance(step, Element):
            harness.process_element(step.value, step.timestamp)
        elif isinstance(step, WatermarkStep):
            harness.process_watermark(step.timestamp)
        elif isinstance(step, EndInput):
            harness.end_input()
        if number % every == 0 or number == len(SCRIPT):
            harness.end_epoch()
            committed += harness.committables
            harness.committables.clear()
            if restoring:
                harness = harness.restored()
    low = -(2**63)
    assert [pair for _, pair in committed] == [
        (("a", 1, low), ("b", None, 5)), (("c", 7, 5), ("d", None, 6)), (("e", None, 6),)
    ]  # fmt: skip
    assert [epoch for epoch, _ in committed] == sorted(epoch for epoch, _ in committed)


CREATED = (1, 3, "0" * 32)


def test_the_writer_lasts_to_the_end_of_the_input() -> None:
    sink = Pairs()
    with sinking(sink) as harness:
        harness.end_epoch()
        assert sink.log == [], "no writer without elements"
        for element in "abc":
            harness.process_element(element)
            harness.end_epoch()
        harness.end_epoch()
        assert sink.log == [CREATED]
        harness.end_input()
        harness.end_epoch()
        assert sink.log == [CREATED, "close"]
        harness.end_epoch()
        harness.end_epoch()
    assert sink.log == [CREATED, "close"], "nothing is left to be done"
    assert [[element for element, _, _ in pair] for _, pair in harness.committables] == [["a", "b"], ["c"]]


def test_a_writer_that_is_out_of_date_is_replaced() -> None:
    """Another copy of the task has gone on in another process, from the first epoch's state."""
    sink = Pairs()
    with sinking(sink) as harness:
        harness.process_element("a")
        harness.end_epoch()
        first = harness.operator.snapshot()
        harness.process_element("counts for nothing")
        harness.end_epoch()
        harness.committables.clear()
        harness.operator.restore(first)
        assert sink.log == [CREATED, "close"]
        harness.process_element("b")
        harness.end_epoch()
    assert sink.log == [CREATED, "close", ("restored", 1), "close"]
    assert [[element for element, _, _ in pair] for _, pair in harness.committables] == [["a", "b"]]


class ClosesBadly(Pairs):
    def create_writer(self, context: WriterInitContext) -> Writer:
        writer = super().create_writer(context)
        writer.close = lambda: 1 / 0  # type: ignore[assignment, method-assign]
        return writer


def test_an_error_in_closing_what_is_out_of_date_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    with sinking(ClosesBadly()) as harness:
        harness.process_element("a")
        harness.end_epoch()
        harness.operator.restore(harness.operator.snapshot())
        assert "out of date could not be closed" in caplog.text
        harness.process_element("b")
        harness.end_epoch()
        assert len(harness.committables) == 1


def test_a_sink_that_reports_each_epoch_does_so_after_the_end() -> None:
    sink = Pairs()
    sink.reports_each_epoch = True
    with sinking(sink) as harness:
        harness.end_epoch()
        assert sink.log == [CREATED]
        harness.end_input()
        harness.end_epoch()
        harness.end_epoch()
        assert sink.log == [CREATED], "its committer wants to hear of watermarks"


def test_the_end_without_elements_still_flushes() -> None:
    with sinking() as harness:
        harness.process_watermark(MAX_WATERMARK)
        harness.end_input()
        harness.end_epoch()
        assert harness.committables == []


def test_a_failure_names_the_element_and_closes_the_writer() -> None:
    sink = Pairs()
    with pytest.raises(OperatorError, match="disk full") as caught, sinking(sink) as harness:
        harness.process_elements([("a", None), ("fail", None)])
    assert caught.value.failure.element == "'fail'"
    assert sink.log[-1] == "close"


class Telling(Writer):
    """Tells when a slice ended."""

    def end_slice(self, now: int) -> None:
        if now == 666:
            raise OSError("disk full")
        self.log.append(now)


class Tells(Pairs):
    def create_writer(self, context: WriterInitContext) -> Writer:
        super().create_writer(context)
        return Telling(self.log, context)


def test_the_writer_hears_of_slices_and_of_the_clock() -> None:
    sink = Tells()
    with sinking(sink) as harness:
        harness.operator.end_slice()
        harness.operator.tick(5)
        assert sink.log == [], "no writer without elements"
        harness.process_element("a")
        harness.operator.end_slice()
        harness.set_processing_time(7)
        harness.operator.end_slice()
        assert sink.log == [CREATED, 0, 7, 7]
        harness.end_input()
        harness.end_epoch()
        del sink.log[:]
        harness.operator.end_slice()
        harness.operator.tick(8)
        assert sink.log == [], "the input has ended"


def test_a_slice_that_fails_is_told() -> None:
    with sinking(Tells()) as harness:
        harness.process_element("a")
        with pytest.raises(OperatorError, match="disk full") as caught:
            harness.operator.tick(666)
    assert caught.value.failure.during == " to write"
