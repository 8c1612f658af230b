"""Programs with windows, run in this process: against the oracle in many epochs and workers, and each kind of use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.windows.window_oracle import Happened, Oracle, SessionOracle, grid
from tests.runtime.windows.windowing import Show, ShowSorted, Total

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkStrategy
from millrace.datastream import DataStream, OutputTag, RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    RuntimeContext,
    WindowFunction,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing import run_locally

ms = Time.milliseconds
MAX = 2**63 - 1
TUMBLING = TumblingEventTimeWindows.of(ms(10))
LATE = OutputTag("late")
Element = tuple[Any, int, int]
"""(key, number, timestamp)"""


class Third(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[2])


class Behind(WatermarkGenerator):
    """A watermark 5 ms behind after every element that is a multiple of 2."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event[1] % 2 == 0:
            output.emit_watermark(event_timestamp - 5)

    def on_periodic_emit(self, output: Any) -> None:
        """All is said where the elements are."""


STRATEGY = WatermarkStrategy.for_generator(Behind).with_timestamp_assigner(Third())


def environment(batch: bool = False) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    return env.set_runtime_mode(RuntimeExecutionMode.BATCH) if batch else env


def stamped(elements: list[Element], batch: bool = False) -> DataStream:
    stream = environment(batch).from_collection(elements)
    return stream.assign_timestamps_and_watermarks(STRATEGY).set_parallelism(1)


def collected(stream: DataStream) -> list[Any]:
    return run_locally(stream).collected


# -- against the oracle -------------------------------------------------------------------------------------------


def ask(model: Any, elements: list[Element]) -> Happened:
    """Everything that happens, with watermarks as ``Behind`` makes them."""
    happened, watermark = [], -(2**63)
    for element in elements:
        happened.append(model.element(element[0], element, element[2]))
        if element[1] % 2 == 0 and element[2] - 5 > watermark:
            watermark = element[2] - 5
            happened.append(model.watermark(watermark))
    happened.append(model.watermark(MAX))
    fired = [firing for step in happened for firing in step.fired]
    return Happened(fired, [value for step in happened for value in step.late])


WINDOWS: dict[str, tuple[Any, Any]] = {
    "tumbling": (TUMBLING, lambda: Oracle(grid(10, 10), 3)),
    "sliding": (SlidingEventTimeWindows.of(ms(10), ms(5)), lambda: Oracle(grid(10, 5), 3)),
    "sessions": (EventTimeSessionWindows.with_gap(ms(4)), lambda: SessionOracle(lambda value: 4, 3)),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("folded", [False, True], ids=["process", "aggregate"])
@settings(max_examples=examples(20))
@given(
    times=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 12)), min_size=1, max_size=25),
    epoch_records=st.sampled_from([1, 4, None]),
    seed=st.integers(0, 99),
)
def test_programs(name: str, folded: bool, times: list[Any], epoch_records: int | None, seed: int) -> None:
    """Elements move on by a ms each, out of order by up to 12; copies of the tasks take turns in three workers."""
    assigner, model = WINDOWS[name]
    elements = [(key, number, number + back) for number, (key, back) in enumerate(times)]
    happened = ask(model(), elements)
    windows = stamped(elements).key_by(lambda value: value[0]).window(assigner).allowed_lateness(3)
    windows.side_output_late_data(LATE)
    results = windows.aggregate(Total(), Show()) if folded else windows.process(ShowSorted())
    late = results.get_side_output(LATE).map(lambda value: ("late", value))
    run = run_locally(
        results.map(lambda value: value[:3]).union(late), epoch_records=epoch_records, workers=3, seed=seed
    )
    expected = [("late", value) for value in happened.late]
    for key, span, values in happened.fired:
        numbers = [value[1] for value in values]
        total = (key, len(numbers), sum(numbers), max(numbers))
        expected.append((key, span, (total,) if folded else tuple(sorted(values))))
    assert Counter(run.collected) == Counter(expected)


@pytest.mark.parametrize("epoch_records", [1, None])
def test_late_elements_are_counted(epoch_records: int | None) -> None:
    elements = [("a", 0, 0), ("a", 2, 30), ("b", 3, 4), ("a", 5, 24), ("a", 7, 30)]
    stream = stamped(elements).key_by(lambda value: value[0]).window(TUMBLING).sum(1)
    run = run_locally(stream, epoch_records=epoch_records, workers=2, seed=1)
    assert sorted(run.collected) == [("a", 0, 0), ("a", 5, 24), ("a", 9, 30)]
    assert run.metrics.counter("TumblingEventTimeWindows", "numLateRecordsDropped") == 1


def test_batch_mode_knows_no_late_elements() -> None:
    elements = [("a", 0, 0), ("a", 2, 30), ("b", 3, 4), ("a", 5, 7)]
    stream = stamped(elements, batch=True).key_by(lambda value: value[0]).window(TUMBLING)
    assert sorted(collected(stream.reduce(lambda left, right: (left[0], left[1] + right[1], 0)))) == [
        ("a", 2, 30),
        ("a", 5, 0),
        ("b", 3, 4),
    ]


# -- one field ----------------------------------------------------------------------------------------------------

NUMBERS = [("a", 3, 1), ("a", 1, 2), ("a", 3, 4), ("a", 1, 6), ("b", 8, 7)]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sum", ("a", 8, 1)),
        ("min", ("a", 1, 1)),
        ("max", ("a", 3, 1)),
        ("min_by", ("a", 1, 2)),
        ("max_by", ("a", 3, 1)),
    ],
)
def test_one_field(method: str, expected: Any) -> None:
    """The other fields are those of the first element, or of the first that wins."""
    windows = stamped(NUMBERS).key_by(lambda value: value[0]).window(TUMBLING)
    assert sorted(collected(getattr(windows, method)(1))) == [expected, ("b", 8, 7)]
    everything = stamped(NUMBERS).window_all(TUMBLING)
    best = ("b", 8, 7) if method == "max_by" else ("a", {"sum": 16, "max": 8}.get(method, expected[1]), expected[2])
    assert collected(getattr(everything, method)(1)) == [best]


def test_one_field_of_rows_and_of_plain_values() -> None:
    named = Types.ROW_NAMED(["key", "number", "time"], [Types.STRING(), Types.INT(), Types.LONG()])
    rows = environment().from_collection([Row(*value) for value in NUMBERS], named)
    keyed = rows.key_by(lambda row: row.key).count_window(4)
    assert collected(keyed.sum("number")) == [Row(key="a", number=8, time=1)]
    rows = environment().from_collection([Row(*value) for value in NUMBERS], named)
    assert collected(rows.key_by(lambda row: row[0]).count_window(2, 1).min_by("number")) == [
        Row(key="a", number=1, time=2),
        Row(key="a", number=1, time=2),
        Row(key="a", number=1, time=6),
    ]
    plain = environment().from_collection([3, 1, 2, 5], Types.INT())
    assert collected(plain.key_by(lambda value: value % 2).count_window(3).max()) == [5]


# -- other uses ---------------------------------------------------------------------------------------------------


def numbers(count: int) -> DataStream:
    return environment().from_collection(list(range(1, count + 1)), Types.INT())


def test_count_windows() -> None:
    parity = numbers(11).key_by(lambda value: value % 2)
    assert sorted(collected(parity.count_window(3).sum())) == [1 + 3 + 5, 2 + 4 + 6, 7 + 9 + 11]
    sums = [sum(range(start, start + 4)) for start in range(1, 9, 2)]
    assert collected(numbers(11).key_by(lambda value: 0).count_window(4, 2).sum()) == sums


def test_triggers_and_evictors() -> None:
    windows = numbers(7).key_by(lambda value: 0).window(GlobalWindows.create())
    stream = windows.trigger(CountTrigger.of(2)).evictor(CountEvictor.of(3)).reduce(lambda left, right: left + right)
    assert collected(stream) == [1 + 2, 2 + 3 + 4, 4 + 5 + 6]


class Spread(WindowFunction):
    """The window with the smallest and the largest number."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.name = runtime_context.get_task_name()

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        numbers = sorted(value[1] for value in inputs)
        yield key, window.start, numbers[0], numbers[-1], self.name


def test_apply() -> None:
    stream = stamped(NUMBERS).key_by(lambda value: value[0]).window(TUMBLING).apply(Spread()).name("spread")
    found = sorted(collected(stream))
    assert [value[:4] for value in found] == [("a", 0, 1, 3), ("b", 0, 8, 8)]
    assert all(value[4].startswith("spread ->") for value in found)


class Largest(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterator[Any]:
        yield window.end, max(value[1] for value in inputs)


class Growing(ProcessAllWindowFunction):
    """How many windows there were, and the sum of this one; the windows without a 5 go to the side."""

    SEEN = ValueStateDescriptor("seen", Types.INT())

    def process(self, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        seen = context.global_state().get_state(self.SEEN)
        seen.update((seen.value() or 0) + 1)
        context.window_state().get_state(self.SEEN).update(1)
        total = sum(value[1] for value in elements)
        yield seen.value(), context.window().start, total
        if total != 5:
            yield OutputTag("other"), total

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.SEEN).clear()


SPREAD_OUT = [("a", 1, 1), ("b", 5, 12), ("a", 2, 8), ("c", 7, 25)]


def test_functions_of_all_windows() -> None:
    assert collected(stamped(SPREAD_OUT).window_all(TUMBLING).apply(Largest())) == [(10, 2), (20, 5), (30, 7)]
    stream = stamped(SPREAD_OUT).window_all(TUMBLING).process(Growing())
    other = stream.get_side_output(OutputTag("other"))
    run = run_locally(stream.union(other), epoch_records=1, workers=2, seed=5)
    assert Counter(run.collected) == Counter([(1, 0, 3), (2, 10, 5), (3, 20, 7), 3, 7])


def test_windows_of_windows() -> None:
    """A result has the last timestamp of its window, so windows of the same size fit."""
    first = stamped(SPREAD_OUT).key_by(lambda value: value[0]).window(TUMBLING).sum(1)
    assert [value[1] for value in collected(first.window_all(TUMBLING).max_by(1))] == [3, 5, 7]


class Stamps(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield ctx.timestamp()


def test_timestamps_of_results() -> None:
    first = stamped(SPREAD_OUT).key_by(lambda value: value[0]).window(TUMBLING).sum(1)
    assert sorted(collected(first.process(Stamps()))) == [9, 19, 29]


# -- failures -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("assigner", [TUMBLING, EventTimeSessionWindows.with_gap(ms(5))], ids=repr)
def test_elements_without_timestamps(assigner: Any) -> None:
    stream = numbers(3).key_by(lambda value: 0).window(assigner).sum()
    with pytest.raises(JobFailedError) as error:
        collected(stream)
    message = str(error.value)
    assert "assign_timestamps_and_watermarks" in message
    assert "test_windowed_stream_programs.py" in message, "where the windows were made"
    assert "element: 1" in message


def test_results_have_the_declared_type() -> None:
    windows = numbers(3).key_by(lambda value: 0).count_window(3)
    with pytest.raises(JobFailedError, match="declared type"):
        collected(windows.reduce(lambda left, right: left + right, output_type=Types.STRING()))
    windows = numbers(3).key_by(lambda value: 0).count_window(3)
    assert collected(windows.reduce(lambda left, right: left + right, output_type=Types.DOUBLE())) == [6.0]
