"""One program with state of every kind. Savepoints of it lie under tests/data: what it keeps must not change."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from millrace.common import Row, Time, Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from millrace.datastream import (
    AggregateFunction,
    CheckpointedFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from millrace.datastream.functions import ProcessJoinFunction
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from millrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

COUNT = 60
KEYS = 5
TIMER = 400
"""Event-time timers fire so many ms after their element."""
LATER = 5_000_000
"""Processing-time timers fire at this time (ms) and after it."""
RULES = 3

OBJECT = Types.PICKLED_BYTE_ARRAY()


class Level(enum.Enum):
    LOW = 0
    HIGH = 1


@dataclass(frozen=True)
class Account:
    owner: str
    balance: int
    level: Level
    note: str | None = None


class Point(NamedTuple):
    x: int
    y: float


class Memo:
    """An ordinary class: its instances are pickled."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memo) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Memo({self.text!r})"


class Tenfold(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 10


def key_of(value: int) -> int:
    """0, 1, 2, 3 or 6, which is the smallest number that the second of two subtasks has."""
    key = value % KEYS
    return 6 if key == 4 else key


class Mean(AggregateFunction):
    """Its accumulator is (sum, count)."""

    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


def living(descriptor: Any) -> Any:
    """With a time to live that never ends here."""
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(10_000)).build())
    return descriptor


def account(value: int) -> Account:
    return Account(f"owner {key_of(value)}", value, Level.HIGH if value > 20 else Level.LOW, None)


def memo(value: int) -> Memo | int:
    """Values of two types, so that they can't be a column."""
    return Memo(f"memo {value}") if value % 2 else value


class EveryState(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        get = runtime_context
        self.value = get.get_state(ValueStateDescriptor("value", OBJECT))
        self.memo = get.get_state(ValueStateDescriptor("memo", OBJECT))
        self.list = get.get_list_state(ListStateDescriptor("list", OBJECT))
        row = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
        self.map = get.get_map_state(MapStateDescriptor("map", Types.STRING(), row))
        self.largest = get.get_reducing_state(ReducingStateDescriptor("largest", max, Types.LONG()))
        self.mean = get.get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), OBJECT))
        self.ttl_value = get.get_state(living(ValueStateDescriptor("ttl value", Types.LONG())))
        self.ttl_list = get.get_list_state(living(ListStateDescriptor("ttl list", Types.LONG())))
        self.ttl_map = get.get_map_state(living(MapStateDescriptor("ttl map", Types.LONG(), Types.STRING())))

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        self.value.update(account(value))
        self.memo.update(memo(value))
        self.list.add(Point(value, value / 2))
        self.map.put(f"m{value % 3}", Row(a=value, b=str(value)))
        self.largest.add(value)
        self.mean.add(value)
        self.ttl_value.update(value)
        self.ttl_list.add(value)
        self.ttl_map.put(value % 2, str(value))
        ctx.timer_service().register_event_time_timer(value * 10 + TIMER)
        ctx.timer_service().register_processing_time_timer(LATER + value)
        yield (
            "states",
            key_of(value),
            value,
            self.value.value(),
            self.memo.value(),
            list(self.list.get()),
            dict(self.map.items()),
            self.largest.get(),
            self.mean.get(),
            self.ttl_value.value(),
            list(self.ttl_list.get()),
            dict(self.ttl_map.items()),
        )

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", ctx.get_current_key(), timestamp, ctx.time_domain().name


class Show(ProcessWindowFunction):
    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        bounds = (window.start, window.end) if hasattr(window, "start") else ()
        seen = context.global_state().get_state(ValueStateDescriptor("fired", Types.LONG()))
        seen.update((seen.value() or 0) + 1)
        yield (self.name, key, *bounds, list(elements), seen.value())


class Joined(ProcessJoinFunction):
    def process_element(self, left: int, right: int, ctx: Any) -> Iterable[Any]:
        yield "joined", key_of(left), left, right


class Positions(MapFunction, CheckpointedFunction):
    """Operator state: a list that is dealt out, and one that everybody gets."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.mine = store.get_list_state(ListStateDescriptor("mine", Types.LONG()))
        self.all = store.get_union_list_state(ListStateDescriptor("all", Types.LONG()))
        self.seen = list(self.mine.get())

    def snapshot_state(self, context: Any) -> None:
        self.mine.update(self.seen)
        self.all.update(self.seen)

    def map(self, value: int) -> Any:
        self.seen.append(value)
        return "positions", key_of(value), value, len(self.seen)


class Rules(KeyedBroadcastProcessFunction):
    rules = MapStateDescriptor("rules", Types.LONG(), OBJECT)

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        yield "rules", key_of(value), value, dict(ctx.get_broadcast_state(self.rules).items())

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(self.rules).put(value, account(value))


def every_state(env: StreamExecutionEnvironment) -> DataStream:
    """The program. Results are (what, key, ...)."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Tenfold())
    numbers = env.from_sequence(0, COUNT - 1).uid("numbers").set_parallelism(1)
    stream = numbers.assign_timestamps_and_watermarks(strategy).uid("times").set_parallelism(1)
    keyed = stream.key_by(key_of)
    seconds = Time.milliseconds

    def windowed(name: str, assigner: Any, build: Any) -> DataStream:
        result: DataStream = build(keyed.window(assigner), Show(name)).name(name).uid(name)
        return result

    rules = env.from_sequence(0, RULES - 1).uid("rule numbers").set_parallelism(1)
    right = stream.map(lambda value: value).uid("right").set_parallelism(1).key_by(key_of)
    aggregate = lambda stream, show: stream.aggregate(Mean(), show)
    process = lambda stream, show: stream.process(show)
    return (
        keyed.process(EveryState())
        .name("states")
        .uid("states")
        .union(
            windowed("tumbling", TumblingEventTimeWindows.of(seconds(200)), aggregate),
            windowed("sliding", SlidingEventTimeWindows.of(seconds(300), seconds(100)), aggregate),
            windowed("daily", TumblingProcessingTimeWindows.of(Time.days(1)), aggregate),
            windowed(
                "reduced", TumblingEventTimeWindows.of(seconds(250)), lambda stream, show: stream.reduce(max, show)
            ),
            windowed("elements", TumblingEventTimeWindows.of(seconds(350)), process),
            windowed("sessions", EventTimeSessionWindows.with_gap(seconds(60)), aggregate),
            windowed("merging", EventTimeSessionWindows.with_gap(seconds(70)), process),
            windowed(
                "evicting",
                TumblingEventTimeWindows.of(seconds(300)),
                lambda stream, show: stream.evictor(CountEvictor.of(2)).process(show),
            ),
            windowed(
                "counting",
                GlobalWindows.create(),
                lambda stream, show: stream.trigger(CountTrigger.of(4)).process(show),
            ),
            keyed.interval_join(right).between(seconds(-200), seconds(0)).process(Joined()).name("join").uid("join"),
            keyed.reduce(lambda a, b: a + b)
            .uid("sum")
            .map(lambda value: ("sum", key_of(value), value))
            .uid("tagged sum"),
            stream.rebalance().map(Positions()).name("positions").uid("positions"),
            keyed.connect(rules.broadcast(Rules.rules)).process(Rules()).name("rules").uid("rules"),
        )
    )
