"""Programs in batch mode whose input does not fit into what tasks may hold, against plain Python."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from tests.runtime.jobs import numbers

from millrace.common.time import Time
from millrace.common.typeinfo import Types
from millrace.datastream import DataStream, RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.functions import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ReduceFunction,
    WindowFunction,
)
from millrace.datastream.output_tag import OutputTag
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.exchange.codec import encode
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.tasks import batch_columns, batch_input, task
from millrace.runtime.tasks.batch_input import keyed_input
from millrace.testing import OperatorHarness, Watermark, run_locally

Event = tuple[str, int, int]
"""(key, time, number)"""


@pytest.fixture(params=["fits", "cut once", "cut again and again"])
def hold(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """How much of the input a task may hold."""
    size = {"fits": 8 * 1024 * 1024, "cut once": 2_000, "cut again and again": 40}[request.param]
    monkeypatch.setattr(task, "HOLD_BYTES", size)
    if size < 3_000:
        for module in (batch_columns, batch_input):
            monkeypatch.setattr(module, "ROUND", 7)
        monkeypatch.setattr(batch_input, "FLUSH_ELEMENTS", 50)
        monkeypatch.setattr(batch_input, "BUCKETS", 4)


pytestmark = pytest.mark.usefixtures("hold")


def events(seed: int, count: int = 400, keys: int = 40) -> list[Event]:
    """Out of order; one key has a third of them."""
    draw = random.Random(seed)
    names = ["heavy" if draw.random() < 0.3 else f"key {draw.randrange(keys)}" for _ in range(count)]
    return [(name, draw.randrange(100), number) for number, name in enumerate(names)]


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(2)
    return env


def stream(env: StreamExecutionEnvironment, given: list[Event]) -> DataStream:
    return numbers(env, given, parallelism=2)


def of_key(given: list[Event]) -> dict[str, list[Event]]:
    """In the order of time."""
    found: dict[str, list[Event]] = defaultdict(list)
    for event in sorted(given, key=lambda event: event[1]):
        found[event[0]].append(event)
    return found


class InOrder(KeyedProcessFunction):
    """Shows when what is called, and that no key meets what another one left in an attribute."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))
        self.of_this_key = 0

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        assert ctx.timer_service().current_watermark() == -(2**63)
        self.of_this_key += 1
        self.seen.add(value[1])
        self.sum.update((self.sum.value() or 0) + value[2])
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        ctx.timer_service().register_processing_time_timer(2**50)
        yield value
        yield OutputTag("times", Types.LONG()), ctx.timestamp()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.timer_service().current_watermark() == 2**63 - 1
        ctx.timer_service().register_event_time_timer(timestamp + 1)  # comes too late to fire
        if timestamp == 2**50:
            yield ctx.get_current_key(), list(self.seen.get()), self.sum.value(), self.of_this_key
            self.of_this_key = 0
        else:
            yield "timer", ctx.get_current_key(), timestamp


def test_process_function() -> None:
    given = events(1)
    found = run_locally(stream(environment(), given).key_by(lambda e: e[0]).process(InOrder())).collected
    keys = of_key(given)
    assert len(found) == len(given) + len(keys) + sum(len({e[1] for e in its}) for its in keys.values())
    rest = found
    while rest:
        key = rest[0][0]
        its = keys.pop(key)
        times = sorted({event[1] + 10 for event in its})
        summary = (key, [event[1] for event in its], sum(event[2] for event in its), len(its))
        whole = len(its) + len(times) + 1
        assert [event[:2] for event in rest[: len(its)]] == [event[:2] for event in its]
        assert set(rest[: len(its)]) == set(its)
        assert rest[len(its) : whole] == [*(("timer", key, time) for time in times), summary]
        rest = rest[whole:]
    assert not keys


class Joined(KeyedCoProcessFunction):
    """What each element of one side has seen of the other."""

    def open(self, runtime_context: Any) -> None:
        self.sides = [
            runtime_context.get_list_state(ListStateDescriptor(f"side {i}", Types.PICKLED_BYTE_ARRAY())) for i in (0, 1)
        ]

    def process_element1(self, value: Event, ctx: Any) -> Iterator[Any]:
        self.sides[0].add(value[1])
        yield "left", value, len(list(self.sides[1].get()))

    def process_element2(self, value: Event, ctx: Any) -> Iterator[Any]:
        self.sides[1].add(value[1])
        yield "right", value, len(list(self.sides[0].get()))


def test_two_inputs_meet_in_the_order_of_time() -> None:
    left, right = events(2), events(3, 300)
    env = environment()
    connected = stream(env, left).key_by(lambda e: e[0]).connect(stream(env, right).key_by(lambda e: e[0]))
    expected = Counter(
        [("left", e, sum(o[0] == e[0] and o[1] < e[1] for o in right)) for e in left]
        + [("right", e, sum(o[0] == e[0] and o[1] <= e[1] for o in left)) for e in right]
    )
    assert Counter(run_locally(connected.process(Joined())).collected) == expected


class Rules(KeyedBroadcastProcessFunction):
    STATE = MapStateDescriptor("rules", Types.STRING(), Types.INT())

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Event, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value[0], self.count.value(), ctx.get_broadcast_state(self.STATE).get("factor")

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(self.STATE).put("factor", value)


def test_broadcast_side_comes_first() -> None:
    given = events(4)
    env = environment()
    rules = numbers(env, [("", 0, 7)]).map(lambda e: e[2]).broadcast(Rules.STATE)
    found = run_locally(stream(env, given).key_by(lambda e: e[0]).connect(rules).process(Rules())).collected
    expected = [(key, n, 7) for key, its in of_key(given).items() for n in range(1, len(its) + 1)]
    assert Counter(found) == Counter(expected)


def test_reduce() -> None:
    given = events(5)
    reduced = (
        stream(environment(), given).key_by(lambda e: e[0]).reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
    )
    expected = {(k, its[-1][1], sum(e[2] for e in its)) for k, its in of_key(given).items()}
    found = run_locally(reduced).collected
    assert len(found) == len(expected) and set(found) == expected


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Event, accumulator: Any) -> Any:
        return accumulator[0] + 1, accumulator[1] + value[2]

    def merge(self, a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    def get_result(self, accumulator: Any) -> Any:
        return accumulator


class Spread(WindowFunction):
    """What one accumulator of (count, sum) says."""

    def apply(self, key: str, window: Any, inputs: Any) -> Iterator[Any]:
        [(count, total)] = inputs
        yield key, window.start, window.end, count, total


class Whole(WindowFunction):
    def apply(self, key: str, window: Any, inputs: Any) -> Iterator[Any]:
        numbers = [event[2] for event in inputs]
        yield key, window.start, window.end, len(numbers), sum(numbers)


def sessions(times: list[int], gap: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for time in sorted(times):
        if found and time <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], time + gap))
        else:
            found.append((time, time + gap))
    return found


WINDOWS = {
    "tumbling": (TumblingEventTimeWindows.of(Time.milliseconds(10)), lambda t: [(t - t % 10, t - t % 10 + 10)]),
    "sliding": (
        SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(10)),
        lambda t: [(t - t % 10 - 10, t - t % 10 + 10), (t - t % 10, t - t % 10 + 20)],
    ),
}


@pytest.mark.parametrize("contents", ["aggregate", "elements"])
@pytest.mark.parametrize("kind", ["tumbling", "sliding", "session"])
def test_windows(kind: str, contents: str) -> None:
    given = events(6)
    assigner = WINDOWS[kind][0] if kind in WINDOWS else EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    windowed: Any = stream(environment(), given).key_by(lambda e: e[0]).window(assigner)
    result = windowed.aggregate(CountAndSum(), Spread()) if contents == "aggregate" else windowed.apply(Whole())
    expected = Counter[Any]()
    for key, its in of_key(given).items():
        times = [event[1] for event in its]
        windows = sessions(times, 5) if kind == "session" else {w for t in times for w in WINDOWS[kind][1](t)}
        for start, end in windows:
            inside = [event[2] for event in its if start <= event[1] < end]
            expected[(key, start, end, len(inside), sum(inside))] += 1
    assert Counter(run_locally(result).collected) == expected


def test_count_windows() -> None:
    given = events(7)
    counted = stream(environment(), given).key_by(lambda e: e[0]).count_window(3)
    found = run_locally(counted.reduce(lambda a, b: (a[0], 0, a[2] + b[2]))).collected
    assert Counter(f[0] for f in found) == Counter(
        {k: len(its) // 3 for k, its in of_key(given).items() if len(its) > 2}
    )


class Pair(ProcessJoinFunction):
    def process_element(self, left: Event, right: Event, ctx: Any) -> Iterator[Any]:
        yield left[2], right[2], ctx.get_timestamp()


def test_interval_join() -> None:
    left, right = events(8, 200), events(9, 200)
    env = environment()
    keyed = [stream(env, side).key_by(lambda e: e[0]) for side in (left, right)]
    joined = keyed[0].interval_join(keyed[1]).between(Time.milliseconds(-2), Time.milliseconds(3)).process(Pair())
    expected = Counter(
        (a[2], b[2], max(a[1], b[1]))
        for a, b in itertools.product(left, right)
        if a[0] == b[0] and -2 <= b[1] - a[1] <= 3
    )
    assert Counter(run_locally(joined).collected) == expected


def test_several_keyed_steps_one_behind_the_other() -> None:
    given = events(10)
    env = environment()
    summed = stream(env, given).key_by(lambda e: e[0]).reduce(lambda a, b: (a[0], 0, a[2] + b[2]))
    counted = summed.map(lambda e: ("even" if e[2] % 2 == 0 else "odd", 1)).key_by(lambda e: e[0])
    expected = Counter("even" if sum(e[2] for e in its) % 2 == 0 else "odd" for its in of_key(given).values())
    assert dict(run_locally(counted.sum(1)).collected) == dict(expected)


@pytest.mark.parametrize("fold", [False, True])
def test_only_what_does_not_fit_goes_to_a_file(fold: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[int] = []
    make = batch_input.Buckets.__init__

    def noting(cut: batch_input.Buckets, level: int, sample: list[Any]) -> None:
        levels.append(level)
        make(cut, level, sample)

    monkeypatch.setattr(batch_input.Buckets, "__init__", noting)
    keyed = stream(environment(), events(12)).key_by(lambda e: e[0])
    run_locally(keyed.reduce(lambda a, b: b) if fold else keyed.process(InOrder()))
    enough = 40 if fold else 2_000  # what is folded is small
    if enough < task.HOLD_BYTES:
        assert not levels
    else:
        assert 0 in levels and (fold or task.HOLD_BYTES > 40 or max(levels) > 0)


class Concatenate(ReduceFunction):
    def reduce(self, value1: str, value2: str) -> str:
        return value1 + value2


@pytest.mark.parametrize("hold", [1, 100, 1_000, 100_000])
def test_folding_by_small_packets(hold: int) -> None:
    draw, expected = random.Random(3), defaultdict[str, str](str)
    harness = OperatorHarness.for_function(Concatenate(), key_selector=lambda value: value[0], batch=True)
    with harness:
        folded = keyed_input(harness._gate, hold)
        for _ in range(300):
            values = [draw.choice("abcdefghijklmnop") + str(draw.randrange(10)) for _ in range(4)]
            for value in values:
                expected[value[0]] += value
            folded.add(encode(Chunk(values, None, [value[0] for value in values]), []), 0, (0, 0))
        folded.add(encode(Chunk([], None, []), [(0, MAX_WATERMARK)]), 0, (0, 0))
        for _ in folded.run():
            pass
        assert sorted(record.value for record in harness.records) == sorted(expected.values())
        assert harness.output[-1] == Watermark(MAX_WATERMARK)


class Holding(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.all = runtime_context.get_map_state(MapStateDescriptor("all", Types.INT(), Types.INT()))

    def process_element(self, value: Event, ctx: Any) -> None:
        self.all.put(value[2], 1)
        ctx.timer_service().register_event_time_timer(10)


def test_state_of_few_keys_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    most, wipe = [0], KeyedStateBackend.wipe

    def counting(backend: KeyedStateBackend) -> None:
        table = backend.table("all")
        most[0] = max(most[0], 0 if table is None else len(table.rows))
        wipe(backend)
        assert table is None or not table.rows

    monkeypatch.setattr(KeyedStateBackend, "wipe", counting)
    given = [(f"key {number}", 0, number) for number in range(2_000)]
    run_locally(stream(environment(), given).key_by(lambda e: e[0]).process(Holding()))
    assert 0 < most[0] <= 64


def test_several_epochs_give_all_keys_at_once_and_the_same_results() -> None:
    given = events(11)
    reduced = stream(environment(), given).key_by(lambda e: e[0]).reduce(lambda a, b: (a[0], 0, a[2] + b[2]))
    run = run_locally(reduced, epoch_records=50)
    assert len(run.epochs) > 2
    assert Counter(run.collected) == Counter(
        its[0] if len(its) == 1 else (k, 0, sum(e[2] for e in its)) for k, its in of_key(given).items()
    )
