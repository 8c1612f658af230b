"""``StatefulSinkOperator``: a sink function whose buffer survives whatever happens to its subtask."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.typeinfo import Types
from millrace.connectors.sink_function import SinkFunctionSink
from millrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    SinkFunction,
)
from millrace.datastream.state import ListStateDescriptor
from millrace.runtime.failure import OperatorError
from millrace.testing import Element, EndInput, OperatorHarness, Step, WatermarkStep, check_variants

WRITTEN: list[list[Any]] = []
"""The batches that a sink wrote; a list per run, since functions run in this process."""


class Buffering(SinkFunction[Any], CheckpointedFunction):
    """Writes in batches of a certain size, the rest at the end."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.buffer: list[Any] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.saved = store.get_list_state(ListStateDescriptor("buffer", Types.PICKLED_BYTE_ARRAY()))
        if context.is_restored():
            self.buffer.extend(self.saved)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update(self.buffer)

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self.buffer.append((value, context.timestamp(), context.current_watermark()))
        if len(self.buffer) == self.size:
            self.write()

    def finish(self) -> None:
        if self.buffer:
            self.write()

    def write(self) -> None:
        WRITTEN[-1].append(self.buffer)
        self.buffer = []


def buffering(size: int) -> OperatorHarness:
    WRITTEN.append([])
    return OperatorHarness.for_function(Buffering(size))


@given(st.lists(st.integers(0, 9), max_size=9), st.integers(1, 4))
def test_every_element_is_in_one_batch(values: list[int], size: int) -> None:
    WRITTEN.clear()
    script: list[Step] = [step for v in values for step in (Element(v, v), WatermarkStep(max(values) + v))]
    marks = [-(2**63), *(max(values[: n + 1]) + max(values) for n in range(len(values)))]
    elements = [(value, value, mark) for value, mark in zip(values, marks)]
    batches = [elements[start : start + size] for start in range(0, len(elements), size)]
    check_variants(lambda: buffering(size), [*script, EndInput()])
    assert len(WRITTEN) == 10, "one run in every variant"
    assert all(written == batches for written in WRITTEN)


def test_the_buffer_is_operator_state() -> None:
    with buffering(3) as harness:
        harness.process_elements([("a", 1), ("b", None)])
        harness.end_epoch()
        assert [value for value, _, _ in harness.operator_state_of("buffer")] == ["a", "b"]
        harness.process_element("c")
        harness.end_epoch()
        assert harness.operator_state_of("buffer") == []


class OnlyValue(Buffering):
    def invoke(self, value: Any) -> None:  # type: ignore[override]
        if value is None:
            raise ValueError("nothing to write")
        self.buffer.append(value)

    def finish(self) -> None:
        raise ValueError(f"{len(self.buffer)} are left")


def test_failures_name_the_element_or_the_end() -> None:
    with OperatorHarness.for_function(OnlyValue(9)) as harness:
        with pytest.raises(OperatorError) as caught:
            harness.process_elements([(1, None), (None, None)])
        assert (caught.value.failure.element, caught.value.failure.during) == ("None", " to write")
        with pytest.raises(OperatorError, match=r"(?s)in finish\(\).*1 are left"):
            harness.end_input()


def test_a_sink_that_lives_for_an_epoch_has_no_place_for_state() -> None:
    with pytest.raises(TypeError, match=r"Buffering is a CheckpointedFunction: use add_sink\(\), which"):
        SinkFunctionSink(Buffering(3))
