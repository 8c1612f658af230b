"""``SinkOperator`` with a toy FLIP-143 sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.runtime.elements import MAX_WATERMARK
from millrace.runtime.failure import OperatorError
from millrace.runtime.operators.sink import SinkOperator
from millrace.testing import Element, EndInput, OperatorHarness, Step, WatermarkStep
from millrace.testing.script import ProcessingTime


class Writer(SinkWriter[Any]):
    """Hands over pairs; an odd element stays in its state until there is another, or the end."""

    def __init__(self, log: list[Any], begun: int, kept: Sequence[Any] = ()) -> None:
        self.log, self.begun, self.kept = log, begun, list(kept)
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
        return [(self.begun, pair) for pair in self.pairs]

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        return self.kept

    def close(self) -> None:
        self.log.append("close")


class Pairs(Sink[Any]):
    def __init__(self) -> None:
        self.log: list[Any] = []

    def create_writer(self, context: WriterInitContext) -> Writer:
        subtask, parallelism = context.get_index_of_subtask(), context.get_number_of_parallel_subtasks()
        self.log.append((subtask, parallelism, context.get_job_id()))
        return Writer(self.log, context.get_checkpoint_id())

    def restore_writer(self, context: WriterInitContext, states: Sequence[Any]) -> Writer:
        return Writer(self.log, context.get_checkpoint_id(), states)


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


def test_the_writer_lives_for_one_epoch() -> None:
    sink = Pairs()
    with sinking(sink) as harness:
        harness.end_epoch()
        assert sink.log == [], "no writer without elements"
        harness.process_element("a")
        harness.end_epoch()
        assert sink.log == [(1, 3, "0" * 32), "close"]
        harness.end_epoch()
        assert sink.log == [(1, 3, "0" * 32), "close", "close"], "state is carried on through restore_writer"


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
