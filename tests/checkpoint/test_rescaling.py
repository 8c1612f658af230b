"""A job that was saved goes on with any parallelism, from a savepoint or a checkpoint: nothing is lost or doubled.

The oracle is the same program in one go: results by key, in order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import Build, SavedJob, Sum, collecting

from millrace.checkpoint import sections, state_files, task_file
from millrace.checkpoint.folder import RestoreError
from millrace.common import Time, Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

pytestmark = pytest.mark.draw(12)

COUNT = 90
KEYS = 11


@pytest.fixture(autouse=True)
def divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be divided by key group as if the state were large."""
    monkeypatch.setattr(task_file, "UNDIVIDED", 0)
    monkeypatch.setattr(sections, "LEAST_BYTES", 1)
    monkeypatch.setattr(state_files, "ROWS_TOGETHER", 1)


class Tenfold(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 10


def key_of(value: int) -> int:
    return value % KEYS


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Tenfold())
    stream = env.from_sequence(0, COUNT - 1).uid("numbers").set_parallelism(1)
    return stream.assign_timestamps_and_watermarks(strategy).uid("times")


class AllStates(KeyedProcessFunction):
    """Every kind of keyed state, and timers that reach far over the epochs."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.INT()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.INT()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.INT()))
        self.reduced = runtime_context.get_reducing_state(
            ReducingStateDescriptor("reduced", lambda a, b: max(a, b), Types.INT())
        )
        self.folded = runtime_context.get_aggregating_state(AggregatingStateDescriptor("folded", Sum(), Types.INT()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self.value.update((self.value.value() or 0) + 1)
        self.list.add(value)
        self.map.put(f"m{value % 3}", value)
        self.reduced.add(value)
        self.folded.add(value)
        ctx.timer_service().register_event_time_timer(value * 10 + 350)
        yield (
            key_of(value),
            "element",
            self.value.value(),
            list(self.list.get()),
            dict(self.map.items()),
            self.reduced.get(),
            self.folded.get(),
        )

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield ctx.get_current_key(), "timer", timestamp, self.value.value()


class Show(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterable[Any]:
        window = context.window()
        yield key, window.start, window.end, list(elements)


def keyed_states(env: StreamExecutionEnvironment) -> DataStream:
    return numbers(env).key_by(key_of).process(AllStates()).uid("states")


def tumbling(env: StreamExecutionEnvironment) -> DataStream:
    window = TumblingEventTimeWindows.of(Time.milliseconds(200))
    return numbers(env).key_by(key_of).window(window).aggregate(Sum(), Show()).uid("window")


def sliding(env: StreamExecutionEnvironment) -> DataStream:
    window = SlidingEventTimeWindows.of(Time.milliseconds(300), Time.milliseconds(100))
    return numbers(env).key_by(key_of).window(window).aggregate(Sum(), Show()).uid("window")


def lists_of_windows(env: StreamExecutionEnvironment) -> DataStream:
    window = TumblingEventTimeWindows.of(Time.milliseconds(400))
    return numbers(env).key_by(key_of).window(window).process(Show()).uid("window")


def sessions(env: StreamExecutionEnvironment) -> DataStream:
    window = EventTimeSessionWindows.with_gap(Time.milliseconds(120))
    return numbers(env).key_by(key_of).window(window).aggregate(Sum(), Show()).uid("window")


def merging_lists(env: StreamExecutionEnvironment) -> DataStream:
    window = EventTimeSessionWindows.with_gap(Time.milliseconds(120))
    return numbers(env).key_by(key_of).window(window).process(Show()).uid("window")


def reducing(env: StreamExecutionEnvironment) -> DataStream:
    pairs = numbers(env).map(lambda value: (key_of(value), value)).uid("pairs")
    return pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("reduce")


def joining(env: StreamExecutionEnvironment) -> DataStream:
    stream = numbers(env)
    left = stream.key_by(key_of)
    right = stream.map(lambda value: value).uid("right").key_by(key_of)
    from millrace.datastream.functions import ProcessJoinFunction

    class Pair(ProcessJoinFunction):
        def process_element(self, left: int, right: int, ctx: Any) -> Iterable[Any]:
            yield key_of(left), left, right

    return left.interval_join(right).between(Time.milliseconds(-230), Time.milliseconds(0)).process(Pair()).uid("join")


KEYED: dict[str, Build] = {
    build.__name__: build
    for build in (keyed_states, tumbling, sliding, lists_of_windows, sessions, merging_lists, reducing, joining)
}


def by_key(results: Iterable[Any]) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = defaultdict(list)
    for result in results:
        found[result[0]].append(result)
    return found


def in_one_go(build: Build, directory: Path) -> list[Any]:
    return SavedJob(collecting(build, 1), directory / "whole").finish()


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize(("before", "after"), [(2, 2), (1, 3), (3, 2), (2, 5)])
@pytest.mark.parametrize("name", KEYED)
def test_keyed_operators(name: str, before: int, after: int, source: str, tmp_path: Path) -> None:
    build = KEYED[name]
    first = SavedJob(collecting(build, before), tmp_path / "first", 1)
    for _ in range(6):
        result = first.epoch()
    if source == "savepoint":
        first.epoch(tmp_path / "saved")
        path = str(tmp_path / "saved")
    else:
        assert result.checkpoint is not None
        path = result.checkpoint
    second = SavedJob(collecting(build, after), tmp_path / "second")
    second.restore(path)
    found, wanted = by_key([*first.collected, *second.finish()]), by_key(in_one_go(build, tmp_path))
    # Several keys' windows fire at one time, in an order that depends on the subtasks: within a key there is one.
    assert found == wanted


class Positions(MapFunction, CheckpointedFunction):
    """Two lists of operator state: one is dealt out, of the other everybody gets all."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.mine = store.get_list_state(ListStateDescriptor("mine", Types.INT()))
        self.all = store.get_union_list_state(ListStateDescriptor("all", Types.INT()))
        self.seen = list(self.mine.get())
        self.before = sorted(self.all.get())

    def snapshot_state(self, context: Any) -> None:
        self.mine.update(self.seen)
        self.all.update(self.seen)

    def map(self, value: int) -> Any:
        self.seen.append(value)
        return value, tuple(self.seen), tuple(self.before)


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize(("before", "after"), [(2, 2), (1, 3), (3, 2)])
def test_operator_state(before: int, after: int, source: str, tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return numbers(env).rebalance().map(Positions()).uid("positions")

    first = SavedJob(collecting(build, before), tmp_path / "first", 1)
    for _ in range(6):
        path = first.epoch().checkpoint
    if source == "savepoint":
        first.epoch(tmp_path / "saved")
        path = str(tmp_path / "saved")
    assert path is not None
    known = sorted(value for value, *_ in first.collected)
    # One worker: a copy of a task that is rebuilt in another one is initialized with what its own subtask has.
    second = SavedJob(collecting(build, after), tmp_path / "second", workers=1)
    second.restore(path)
    results = second.finish()
    assert sorted(value for value, *_ in [*first.collected, *results]) == list(range(COUNT))
    assert {before for _, _, before in results[:after]} == {tuple(known)}, "everybody gets the union"
    last: dict[int, tuple[int, ...]] = {}
    for value, seen, _ in results:
        last[value] = seen
    lists = [set(seen) for seen in last.values() if not any(set(seen) < set(other) for other in last.values())]
    assert sorted(value for seen in lists for value in seen) == list(range(COUNT)), "each item went to one subtask"


class Rules(BroadcastProcessFunction):
    rules = MapStateDescriptor("rules", Types.INT(), Types.STRING())

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        yield value, dict(ctx.get_broadcast_state(self.rules).items())

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(self.rules).put(value, f"rule {value}")


@pytest.mark.parametrize(("before", "after"), [(2, 2), (1, 3), (3, 2)])
def test_broadcast_state(before: int, after: int, tmp_path: Path) -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        rules = env.from_sequence(0, 2).uid("rules").set_parallelism(1).broadcast(Rules.rules)
        return numbers(env).rebalance().connect(rules).process(Rules()).uid("apply")

    first = SavedJob(collecting(build, before), tmp_path / "first")
    for _ in range(6):
        first.epoch()
    first.epoch(tmp_path / "saved")
    second = SavedJob(collecting(build, after), tmp_path / "second")
    second.restore(str(tmp_path / "saved"))
    results = second.finish()
    assert sorted(value for value, _ in [*first.collected, *results]) == list(range(COUNT))
    assert all(rules == {n: f"rule {n}" for n in range(3)} for _, rules in results)


class Patient(EventTimeTrigger):
    """Fires like the default trigger, but is another class: its windows run on the general operator."""


FORMS: dict[str, tuple[Build, Build]] = {}


def _forms(name: str, window: Any) -> None:
    def fast(env: StreamExecutionEnvironment) -> DataStream:
        return numbers(env).key_by(key_of).window(window).aggregate(Sum(), Show()).uid("window")

    def general(env: StreamExecutionEnvironment) -> DataStream:
        windowed = numbers(env).key_by(key_of).window(window).trigger(Patient())
        return windowed.aggregate(Sum(), Show()).uid("window")

    FORMS[name] = (fast, general)


_forms("tumbling", TumblingEventTimeWindows.of(Time.milliseconds(200)))
_forms("sliding", SlidingEventTimeWindows.of(Time.milliseconds(300), Time.milliseconds(100)))
_forms("sessions", EventTimeSessionWindows.with_gap(Time.milliseconds(120)))


@pytest.mark.parametrize(("before", "after"), [(2, 2), (1, 3)])
@pytest.mark.parametrize("name", FORMS)
def test_open_windows_survive_another_trigger(name: str, before: int, after: int, tmp_path: Path) -> None:
    fast, general = FORMS[name]
    first = SavedJob(collecting(fast, before), tmp_path / "first")
    for _ in range(6):
        first.epoch()
    first.epoch(tmp_path / "saved")
    second = SavedJob(collecting(general, after), tmp_path / "second")
    second.restore(str(tmp_path / "saved"))
    assert by_key([*first.collected, *second.finish()]) == by_key(in_one_go(fast, tmp_path))


def test_other_windows_are_refused(tmp_path: Path) -> None:
    first = SavedJob(collecting(tumbling, 2), tmp_path / "first")
    first.epoch(tmp_path / "saved")
    second = SavedJob(collecting(sliding, 2), tmp_path / "second")
    with pytest.raises(RestoreError, match="keep the earlier windows"):
        second.restore(str(tmp_path / "saved"))
