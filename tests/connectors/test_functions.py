"""SourceFunction and SinkFunction as sources and sinks."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.threads import no_thread_left

from millrace.common.source import Boundedness, InputStatus
from millrace.common.typeinfo import Types
from millrace.connectors import source_function
from millrace.connectors.sink_function import SinkFunctionSink
from millrace.connectors.source_function import FunctionSplit, SourceFunctionSource
from millrace.datastream.functions import SinkFunction, SourceFunction
from millrace.testing.connectors.runtime import Clock as DrivingClock
from millrace.testing.connectors.runtime import Collected, ReaderContext, SinkRun, SourceRun, read_all


class Counting(SourceFunction[int]):
    emits_same_elements = True

    def __init__(self, count: int) -> None:
        self.count = count

    def run(self, ctx: Any) -> None:
        for number in range(self.count):
            ctx.collect(number)


class Stamped(SourceFunction[str]):
    def run(self, ctx: Any) -> None:
        ctx.collect("plain")
        ctx.collect_with_timestamp("a", 10)
        ctx.collect_with_timestamp("b", 20)
        ctx.emit_watermark(15)
        ctx.collect_with_timestamp("c", 30)
        ctx.mark_as_temporarily_idle()
        ctx.collect("end")


class Failing(SourceFunction[int]):
    def run(self, ctx: Any) -> None:
        ctx.collect(1)
        raise KeyError("the user's error")


class Endless(SourceFunction[int]):
    cancelled = threading.Event()

    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: Any) -> None:
        number = 0
        while self.running:
            ctx.collect(number)
            number += 1

    def cancel(self) -> None:
        self.running = False
        Endless.cancelled.set()


@given(st.integers(0, 300), st.integers(1, 3), st.lists(st.integers(1, 40), max_size=4))
def test_run_is_read_to_its_end(count: int, parallelism: int, cuts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_function, "CAPACITY", 20)
        run = SourceRun(SourceFunctionSource(Counting(count), Types.INT()), parallelism)
        by_subtask = run.to_end(iter(cuts))
    assert by_subtask[0] == list(range(count))
    assert not any(by_subtask[1:])


def test_timestamps_and_watermarks() -> None:
    source = SourceFunctionSource(Stamped(), Types.STRING())
    assert source.get_boundedness() is Boundedness.BOUNDED
    assert source.get_produced_type() == Types.STRING()
    assert repr(source) == "SourceFunctionSource(Stamped)"
    run = SourceRun(source)
    run.to_end()
    (output,) = run.outputs
    assert output.records == ["plain", "a", "b", "c", "end"]
    assert output.timestamps == [None, 10, 20, 30, None]
    assert output.watermarks == [15, -1]


def test_an_error_in_run_reaches_the_task() -> None:
    with pytest.raises(KeyError, match="the user's error"):
        read_all(SourceFunctionSource(Failing()))


def test_close_cancels_run() -> None:
    output = Collected()
    with no_thread_left("millrace-source-function"):
        reader = SourceFunctionSource(Endless()).create_reader(ReaderContext(0, 1, DrivingClock()))
        reader.add_splits([FunctionSplit()])
        while len(output.records) < 100:
            assert reader.poll_next(output) is not InputStatus.END_OF_INPUT
        reader.close()
        assert Endless.cancelled.is_set()
    assert output.records == list(range(len(output.records)))


class Again(Endless):
    emits_same_elements = True


@pytest.mark.parametrize(("function", "first"), [(Endless, 0), (Again, 7)])
def test_a_function_that_starts_again(function: type[Endless], first: int, caplog: pytest.LogCaptureFixture) -> None:
    """Elements are skipped only where the function says that it emits the same ones: those of a socket are others."""
    reader = SourceFunctionSource(function()).create_reader(ReaderContext(0, 1, DrivingClock()))
    reader.add_splits([FunctionSplit(emitted=7)])
    output = Collected()
    while len(output.records) < 100:
        reader.poll_next(output)
    assert output.records == list(range(first, first + len(output.records)))
    assert reader.snapshot_state(1) == [FunctionSplit(emitted=first + len(output.records))]
    (said,) = (record.getMessage() for record in caplog.records)
    then = "are skipped" if first else "may come twice"
    assert said.startswith(f"source function {function.__name__} starts again: 7 elements that were read {then}")
    reader.close()


LOG: list[Any] = []


class Logging(SinkFunction[Any]):
    def open(self, runtime_context: Any) -> None:
        LOG.append(
            ("open", runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks())
        )

    def invoke(self, value: Any, context: Any) -> None:
        LOG.append((value, context.timestamp(), context.current_watermark(), context.current_processing_time()))

    def finish(self) -> None:
        LOG.append("finish")

    def close(self) -> None:
        LOG.append("close")


class Plain(SinkFunction[Any]):
    def invoke(self, value: Any) -> None:  # type: ignore[override]
        LOG.append(value)


def test_a_sink_function_sees_elements_times_and_the_end() -> None:
    LOG.clear()
    run = SinkRun(SinkFunctionSink(Logging()))
    now = run.clock.now
    run.epoch(["a"])
    assert [("open", 0, 1), ("a", 7, 5, now)] == LOG
    LOG.clear()
    run.epoch(["b"], end=True)
    assert [("b", 7, 5, now), "finish", "close"] == LOG
    LOG.clear()
    run.epoch(["c"], crash="write")
    assert [("open", 0, 1), ("c", 7, 5, now), "close"] == LOG


def test_a_sink_function_may_leave_out_the_context() -> None:
    LOG.clear()
    SinkRun(SinkFunctionSink(Plain())).epoch([1, 2])
    assert LOG == [1, 2]
    assert repr(SinkFunctionSink(Plain())) == "SinkFunctionSink(Plain)"
