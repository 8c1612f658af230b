"""Functions with operator state in jobs: tasks change workers, epochs are cut anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.jobs import Engine, job_of, numbers

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.functions import (
    AllWindowFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    JoinFunction,
    MapFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SourceFunction,
    WindowFunction,
)
from millrace.datastream.state import ListStateDescriptor
from millrace.datastream.window import CountTumblingWindowAssigner, TumblingEventTimeWindows
from millrace.testing import run_locally

LIFE: list[Any] = []
"""What functions did; they run in this process."""
COUNT = ListStateDescriptor("count", Types.LONG())


@pytest.fixture(autouse=True)
def _new_life() -> None:
    LIFE.clear()


class Counting(CheckpointedFunction):
    """Numbers what it sees, in an attribute."""

    def __init__(self) -> None:
        self.count = 0

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(COUNT)
        LIFE.append(("initialize", context.is_restored(), list(self.saved)))
        self.count += sum(self.saved)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        LIFE.append(("snapshot", context.get_checkpoint_id()))
        self.saved.update([self.count])

    def number(self, value: Any) -> tuple[Any, int]:
        self.count += 1
        return (value, self.count)


class CountingMap(Counting, MapFunction):
    def map(self, value: Any) -> Any:
        return self.number(value)

    def close(self) -> None:
        LIFE.append("close")


def told() -> list[Any]:
    life = list(LIFE)
    LIFE.clear()
    return life


def counting(epoch_records: int | None = 1) -> Engine:
    return Engine(job_of(lambda env: numbers(env, range(8)).map(CountingMap()), epoch_records))


def test_a_function_that_stays_is_left_alone() -> None:
    engine = counting()
    for _ in range(3):
        engine.epoch()
    assert told() == [("initialize", False, []), ("snapshot", 1), ("snapshot", 2), ("snapshot", 3)]


def test_a_new_function_wherever_the_task_is_rebuilt() -> None:
    engine = counting()
    engine.epoch(0)
    told()
    engine.epoch(1)
    assert told() == [("initialize", True, [1]), ("snapshot", 2)]
    engine.epoch(0)
    assert told() == ["close", ("initialize", True, [2]), ("snapshot", 3)]
    engine.epoch(0)
    assert told() == [("snapshot", 4)]
    engine.epoch(1)
    assert told() == ["close", ("initialize", True, [4]), ("snapshot", 5)]


def test_no_snapshot_where_no_epoch_may_follow() -> None:
    engine = counting(epoch_records=None)
    order = engine.coordinator.plan(keep_state=False)
    engine.coordinator.complete(order, engine.tasks(order)[0])
    assert told() == [("initialize", False, []), "close"]


def test_a_repeated_epoch_begins_with_the_state_before_it() -> None:
    engine = counting()
    engine.epoch()
    engine.tasks(engine.coordinator.plan())  # nobody completes it: it has failed elsewhere
    told()
    engine.epoch()
    assert told() == ["close", ("initialize", True, [1]), ("snapshot", 3)]


class Broken(CountingMap):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        super().initialize_state(context)
        if self.count == 2:
            raise OSError("no database")


def test_a_failure_while_it_is_rebuilt_is_the_functions_failure() -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(8)).map(Broken()), 1))
    engine.epoch(0)
    engine.epoch(1)
    acks, _ = engine.tasks(engine.coordinator.plan(), 0)
    assert acks[0].failure is not None
    assert acks[0].failure.during == " in initialize_state()"
    assert acks[0].failure.cause == "OSError: no database"
    assert len(engine.workers[0]) == 0


# -- whole programs -----------------------------------------------------------------------------------------------


class CountingWindow(Counting, ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield self.number((key, len(list(elements))))


class CountingApply(Counting, WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Any) -> Iterator[Any]:
        yield self.number((key, len(list(inputs))))


class CountingAll(Counting, AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Any) -> Iterator[Any]:
        yield self.number(len(list(inputs)))


def windowed(function: Any) -> Callable[[DataStream], DataStream]:
    def build(stream: DataStream) -> DataStream:
        windows = stream.key_by(lambda v: v % 2).count_window(2)
        return windows.apply(function) if isinstance(function, WindowFunction) else windows.process(function)

    return build


def pairs_of_a_key(values: range) -> list[Any]:
    """What windows of two elements of a key give, in the order in which they are full."""
    seen: dict[int, int] = {}
    full: list[Any] = []
    for value in values:
        seen[value % 2] = seen.get(value % 2, 0) + 1
        if seen[value % 2] == 2:
            seen[value % 2] = 0
            full.append((value % 2, 2))
    return full


@pytest.mark.parametrize("function", [CountingWindow(), CountingApply()], ids=["process", "apply"])
@given(st.integers(0, 12), st.integers(1, 5), st.integers(0, 99))
def test_window_functions(function: Any, count: int, epoch_records: int, seed: int) -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    stream = windowed(function)(numbers(env, range(count)))
    run = run_locally(stream, epoch_records=epoch_records, workers=3, seed=seed)
    assert run.collected == [(pair, number) for number, pair in enumerate(pairs_of_a_key(range(count)), 1)]


@given(st.integers(0, 12), st.integers(1, 5), st.integers(0, 99))
def test_functions_of_windows_over_everything(count: int, epoch_records: int, seed: int) -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    stream = numbers(env, range(count)).window_all(CountTumblingWindowAssigner.of(3)).apply(CountingAll())
    run = run_locally(stream, epoch_records=epoch_records, workers=3, seed=seed)
    assert run.collected == [(3, number) for number in range(1, count // 3 + 1)]


class CountingPairs(Counting, JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return self.number((first, second))


class CountingIntervals(Counting, ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield self.number((left, right))


def window_join(left: DataStream, right: DataStream) -> DataStream:
    joined = left.join(right).where(lambda v: v).equal_to(lambda v: v)
    return joined.window(TumblingEventTimeWindows.of(Time.milliseconds(1))).apply(CountingPairs())


def interval_join(left: DataStream, right: DataStream) -> DataStream:
    joined = left.key_by(lambda v: v).interval_join(right.key_by(lambda v: v))
    return joined.between(Time.milliseconds(0), Time.milliseconds(0)).process(CountingIntervals())


@pytest.mark.parametrize("join", [window_join, interval_join])
@given(st.integers(0, 8), st.integers(1, 4), st.integers(0, 99))
def test_join_functions(join: Any, count: int, epoch_records: int, seed: int) -> None:
    env = StreamExecutionEnvironment().set_parallelism(1)
    stream = join(numbers(env, range(count)), numbers(env, range(count)))
    run = run_locally(stream, epoch_records=epoch_records, workers=3, seed=seed)
    assert sorted(pair for pair, _ in run.collected) == [(n, n) for n in range(count)]
    assert [number for _, number in run.collected] == list(range(1, count + 1))


class Position(SourceFunction[int], CheckpointedFunction):
    """Counts to a limit from where it was, and says from where it begins."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.next = 0

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.saved = context.get_operator_state_store().get_list_state(COUNT)
        LIFE.append((context.is_restored(), list(self.saved)))
        for position in self.saved:
            self.next += position

    def open(self, runtime_context: RuntimeContext) -> None:
        LIFE.append("open")

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.saved.update([self.next])

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        while self.next < self.limit:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                self.next += 1


@pytest.mark.parametrize(("limit", "capacity"), [(0, 10), (1, 10), (300, 10), (300, 1), (1_000, 10_000)])
def test_a_source_goes_on_from_its_own_state(monkeypatch: pytest.MonkeyPatch, limit: int, capacity: int) -> None:
    monkeypatch.setattr("millrace.connectors.source_function.CAPACITY", capacity)
    env = StreamExecutionEnvironment().set_parallelism(1)
    run = run_locally(env.add_source(Position(limit)), epoch_records=20, workers=3, seed=limit)
    assert run.collected == list(range(limit))
    initialized = [event for event in told() if event != "open"]
    assert initialized[0] == (False, [])
    assert all(restored and saved for restored, saved in initialized[1:])
    assert len(initialized) > 1 or limit < 300


class Ahead(Position):
    """Moves on before it emits, and writes its position to the state at once: the lock makes that right, too."""

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        while self.next < self.limit:
            with ctx.get_checkpoint_lock():
                self.next += 2
                self.saved.update([self.next])
                ctx.collect(self.next - 2)
                ctx.collect(self.next - 1)


def test_a_source_is_not_stopped_under_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("millrace.connectors.source_function.CAPACITY", 5)
    env = StreamExecutionEnvironment().set_parallelism(1)
    run = run_locally(env.add_source(Ahead(200)), epoch_records=7, workers=2, seed=1)
    assert run.collected == list(range(200))
    assert len(run.epochs) > 3


def test_batch_mode_initializes_too() -> None:
    env = StreamExecutionEnvironment().set_parallelism(1).set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert run_locally(numbers(env, range(3)).map(CountingMap())).collected == [(0, 1), (1, 2), (2, 3)]
    assert told()[0] == ("initialize", False, [])
