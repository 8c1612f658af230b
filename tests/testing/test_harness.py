"""``OperatorHarness`` itself; what operators do in it is tested under ``tests/runtime/operators``."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from millrace.common.functions.callables import as_filter, as_flat_map, as_map, as_reduce
from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import functions as f
from millrace.datastream.output_tag import OutputTag
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from millrace.datastream.window import TimeWindow, TumblingEventTimeWindows
from millrace.runtime.operators.one_input_operators import MapOperator
from millrace.testing import OperatorHarness, Record, Status, Watermark

LIFE: list[str] = []


class Echo(f.KeyedProcessFunction):
    """Keeps what it sees, with a timer 10 ms after each element."""

    def open(self, runtime_context: f.RuntimeContext) -> None:
        LIFE.append("open")
        self.context = runtime_context
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.INT()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.INT(), Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.last.update(value)
        self.all.add(value)
        self.counts.put(value, (self.counts.get(value) or 0) + 1)
        ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 10)
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 10)
        yield value
        yield OutputTag("side"), -value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield (str(ctx.time_domain()), timestamp, list(self.all.get()))

    def close(self) -> None:
        LIFE.append("close")


def parity(value: int) -> int:
    return value % 2


def echoing(**settings: Any) -> OperatorHarness:
    return OperatorHarness.for_function(Echo(), key_selector=parity, **settings)


@pytest.fixture(autouse=True)
def _new_life() -> None:
    LIFE.clear()


def test_output_in_order() -> None:
    with echoing() as harness:
        harness.process_element(1, timestamp=5)
        harness.process_watermark(3)
        harness.process_status(Status.IDLE)
        assert harness.output == [Record(1, 5), Watermark(3), Status.IDLE]
        assert harness.records == [Record(1, 5)]
        assert harness.values == [1]
        assert harness.side_output(OutputTag("side")) == harness.side_output("side") == [Record(-1, 5)]
        assert harness.side_output("other") == []
        assert harness.take_output() == [Record(1, 5), Watermark(3), Status.IDLE]
        assert harness.output == []


def test_several_elements_are_one_chunk() -> None:
    sizes = []
    with OperatorHarness.for_function(as_map(lambda v: v)) as harness:
        process = harness._gate.chunk
        harness._gate.chunk = lambda chunk, which: (sizes.append(len(chunk)), process(chunk, which))  # type: ignore
        harness.process_elements([(1, None), (2, 5), (3, None)])
        harness.process_element(4)
    assert sizes == [3, 1]
    assert harness.records == [Record(1), Record(2, 5), Record(3), Record(4)]


def test_state_and_timers_for_assertions() -> None:
    with echoing(processing_time=100) as harness:
        harness.process_elements([(1, 5), (2, 6), (3, 7), (1, 8)])
        assert harness.state_of(1, "last") == 1
        assert harness.state_of(1, "all") == [1, 3, 1]
        assert harness.state_of(1, "counts") == {1: 2, 3: 1}
        assert harness.state_of(0, "last") == 2
        assert harness.state_of(7, "last") is None
        assert harness.state_of(1, "no such state") is None
        harness.state_of(1, "all").append(99)
        assert harness.state_of(1, "all") == [1, 3, 1], "a copy"
        assert harness.num_event_time_timers() == 4
        assert harness.num_processing_time_timers() == 2, "one per key at 110"
        harness.process_watermark(15)
        assert (harness.watermark, harness.num_event_time_timers()) == (15, 3)
        harness.advance_processing_time(9)
        assert (harness.processing_time, harness.num_processing_time_timers()) == (109, 2)
        harness.advance_processing_time(1)
        assert harness.num_processing_time_timers() == 0


def test_state_on_disk() -> None:
    with echoing(state_backend=EmbeddedRocksDBStateBackend()) as harness:
        for value in (1, 2, 3):
            harness.process_element(value, value)
            harness.snapshot_delta()
        assert harness.state_of(1, "all") == [1, 3]
        assert harness.state_of(1, "counts") == {1: 1, 3: 1}
        assert sorted(harness.keys("last")) == [0, 1]
        assert harness.num_event_time_timers() == 3
        copy = harness.restored()
    with copy:
        assert copy.state_of(1, "all") == [1, 3]
        copy.process_watermark(12)
        assert copy.values == [("TimeDomain.EVENT_TIME", 11, [1, 3]), ("TimeDomain.EVENT_TIME", 12, [2])]


def test_windows_on_disk() -> None:
    assigner, on_disk = TumblingEventTimeWindows.of(Time.milliseconds(10)), EmbeddedRocksDBStateBackend()
    harness = OperatorHarness.for_windows(
        assigner, reduce=lambda a, b: a + b, key_selector=parity, state_backend=on_disk
    )
    with harness:
        for value in (1, 2, 3):
            harness.process_element(value, value)
            harness.snapshot_delta()
        assert harness.state_of(1, "window-contents", TimeWindow(0, 10)) == 4
        harness.process_watermark(9)
        assert harness.values == [4, 2]


def test_life() -> None:
    harness = echoing()
    with pytest.raises(RuntimeError, match="not open"):
        harness.process_element(1)
    with harness:
        assert harness.is_open
        assert LIFE == ["open"]
    assert LIFE == ["open", "close"]
    with pytest.raises(RuntimeError, match="not open"):
        harness.process_element(1)


def test_the_function_runs_as_a_copy() -> None:
    class Counts(f.MapFunction):
        seen = 0

        def map(self, value: Any) -> int:
            self.seen += 1
            return self.seen

    function = Counts()
    with OperatorHarness.for_function(function) as harness:
        harness.process_elements([(0, None)] * 3)
        assert harness.values == [1, 2, 3]
        assert function.seen == 0
        following = harness.restored()
        following.process_element(0)
        assert following.values == [1], "attributes are no state"


def test_snapshot_and_restore() -> None:
    first = echoing(processing_time=50).open()
    first.process_elements([(1, 5), (2, 6)])
    first.process_watermark(12)
    snapshot = pickle.loads(pickle.dumps(first.snapshot()))
    first.process_element(3, 7)  # is not in the snapshot
    second = first.fresh().restore(snapshot).open()
    assert second.output == []
    assert (second.watermark, second.processing_time) == (12, 50)
    second.process_watermark(20)
    assert second.output == [
        Record(("TimeDomain.EVENT_TIME", 15, [1]), 15),
        Record(("TimeDomain.EVENT_TIME", 16, [2]), 16),
        Watermark(20),
    ]
    with pytest.raises(RuntimeError, match="not opened yet"):
        second.restore(snapshot)


def test_a_copy_is_rebuilt_from_deltas() -> None:
    worker, copy = echoing().open(), echoing()
    for value in (1, 3, 2):
        worker.process_element(value, value)
        copy.apply(worker.snapshot_delta())
    copy.open()
    for key in (0, 1):
        assert copy.state_of(key, "all") == worker.state_of(key, "all")
    copy.process_watermark(11)
    assert copy.values == [("TimeDomain.EVENT_TIME", 11, [1, 3])]


def test_a_snapshot_ends_the_epoch() -> None:
    harness = echoing(processing_time=100).open()
    harness.process_element(1)
    harness._now = 110  # the clock moved on, nobody told the operator
    harness.snapshot()
    assert ("TimeDomain.PROCESSING_TIME", 110, [1]) in harness.values


def test_state_that_cannot_be_stored_is_noticed() -> None:
    class Keeps(f.KeyedProcessFunction):
        def open(self, runtime_context: f.RuntimeContext) -> None:
            self.state = runtime_context.get_state(ValueStateDescriptor("s", Types.PICKLED_BYTE_ARRAY()))

        def process_element(self, value: Any, ctx: Any) -> None:
            self.state.update(n for n in [1])

    harness = OperatorHarness.for_function(Keeps(), key_selector=parity).open()
    harness.process_element(1)
    with pytest.raises(TypeError, match="generator"):
        harness.snapshot()


def test_channels() -> None:
    with OperatorHarness.for_function(as_map(lambda v: v), channels=2) as harness:
        harness.process_watermark(5, channel=0)
        assert harness.output == []
        harness.process_watermark(3, channel=1)
        harness.process_status(Status.IDLE, channel=1)
        assert harness.output == [Watermark(3), Watermark(5)]
        with pytest.raises(ValueError, match="no channel 2"):
            harness.process_watermark(1, channel=2)
        with pytest.raises(ValueError, match="no channel 0 of input 1"):
            harness.process_watermark(1, input=1)


def test_the_end_of_one_input() -> None:
    class Pass(f.CoMapFunction):
        def map1(self, value: Any) -> Any:
            return value

        map2 = map1

    with OperatorHarness.for_function(Pass()) as harness:
        harness.end_input(0)
        assert harness.output == []
        harness.process_watermark(7, input=1)
        harness.end_input(1)
        assert harness.output == [Watermark(7), Watermark(2**63 - 1), Status.FINISHED]


def test_the_subtask() -> None:
    with echoing(parallelism=3, subtask=2, max_parallelism=64) as harness:
        context = harness.operator.context.runtime
        assert context.get_index_of_this_subtask() == 2
        assert context.get_number_of_parallel_subtasks() == 3
        assert context.get_max_number_of_parallel_subtasks() == 64
    with pytest.raises(ValueError, match="no subtask 3 of 3"):
        echoing(parallelism=3, subtask=3)


def test_job_parameters() -> None:
    with echoing(job_parameters={"a": "1"}) as harness:
        assert harness.operator.context.runtime.get_job_parameter("a", "0") == "1"
        assert harness.restored().operator.context.runtime.get_job_parameter("a", "0") == "1"


class Co(f.CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> None: ...

    def process_element2(self, value: Any, ctx: Any) -> None: ...


class KeyedCo(f.KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> None: ...

    def process_element2(self, value: Any, ctx: Any) -> None: ...


class Plain(f.ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None: ...


class Mapper(f.CoMapFunction):
    def map1(self, value: Any) -> Any: ...

    def map2(self, value: Any) -> Any: ...


class FlatMapper(f.CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any: ...

    def flat_map2(self, value: Any) -> Any: ...


@pytest.mark.parametrize(
    ("function", "keyed", "batch", "operator"),
    [
        (as_map(str), False, False, "MapOperator"),
        (as_map(str), True, False, "KeyedProcessOperator"),
        (as_flat_map(list), False, False, "FlatMapOperator"),
        (as_filter(bool), False, False, "FilterOperator"),
        (as_filter(bool), True, True, "BatchKeyedProcessOperator"),
        (as_reduce(max), True, False, "ReduceOperator"),
        (as_reduce(max), True, True, "BatchReduceOperator"),
        (Plain(), False, False, "ProcessOperator"),
        (Echo(), True, False, "KeyedProcessOperator"),
        (Echo(), True, True, "BatchKeyedProcessOperator"),
        (Co(), False, False, "CoProcessOperator"),
        (KeyedCo(), True, False, "KeyedCoProcessOperator"),
        (KeyedCo(), True, True, "BatchKeyedCoProcessOperator"),
        (Mapper(), False, False, "CoProcessOperator"),
        (Mapper(), True, False, "KeyedCoProcessOperator"),
        (FlatMapper(), False, False, "CoProcessOperator"),
        (FlatMapper(), True, True, "BatchKeyedCoProcessOperator"),
    ],
)
def test_the_operator_follows_from_the_function(function: Any, keyed: bool, batch: bool, operator: str) -> None:
    harness = OperatorHarness.for_function(function, key_selector=parity if keyed else None, batch=batch)
    assert type(harness.operator).__name__ == operator


@pytest.mark.parametrize(
    ("function", "keyed", "message"),
    [
        (as_reduce(max), False, "needs a key_selector"),
        (Echo(), False, "needs a key_selector"),
        (Plain(), True, "not keyed: leave key_selector out"),
        (object(), False, "no operator takes a object; known are: .*MapFunction"),
    ],
)
def test_a_function_that_does_not_fit(function: Any, keyed: bool, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        OperatorHarness.for_function(function, key_selector=parity if keyed else None)


def test_any_operator() -> None:
    with OperatorHarness(lambda: MapOperator(as_map(lambda v: v + 1))) as harness:
        harness.process_element(1)
        assert harness.restored().output == []
        assert harness.values == [2]
        with pytest.raises(TypeError, match="no keyed state"):
            harness.state_of(1, "s")
    with pytest.raises(ValueError, match="2 inputs need as many key selectors"):
        OperatorHarness(lambda: MapOperator(as_map(str)), inputs=2, key_selectors=[parity])
