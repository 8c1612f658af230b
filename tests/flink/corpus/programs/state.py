"""Programs with state and timers."""

from __future__ import annotations

from typing import Any

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import AggregateFunction
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

PAIRS = [("a", 1), ("b", 10), ("a", 2), ("c", 100), ("b", 20), ("a", 3)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
TIMED = [("a", 1000), ("b", 2500), ("a", 2000), ("a", 9000), ("b", 9500), ("a", 20000)]


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def _keyed(env: StreamExecutionEnvironment) -> Any:
    return env.from_collection(PAIRS, PAIR).key_by(lambda pair: pair[0], Types.STRING())


def _timed(env: StreamExecutionEnvironment) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    stream = env.from_collection(TIMED, PAIR).assign_timestamps_and_watermarks(strategy)
    return stream.key_by(lambda pair: pair[0], Types.STRING())


def value_state(env: StreamExecutionEnvironment) -> Any:
    class Running(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            total = (self.sum.value() or 0) + value[1]
            self.sum.update(total)
            yield value[0], total

    return _keyed(env).process(Running())


def value_state_cleared(env: StreamExecutionEnvironment) -> Any:
    class UpToTwo(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            seen = (self.seen.value() or 0) + 1
            if seen == 2:
                self.seen.clear()
                yield ctx.get_current_key()
            else:
                self.seen.update(seen)

    return _keyed(env).process(UpToTwo())


def list_state(env: StreamExecutionEnvironment) -> Any:
    class Gather(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.INT()))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            self.all.add(value[1])
            if value[1] == 3:
                self.all.add_all([7, 8])
            yield value[0], list(self.all.get())

    return _keyed(env).process(Gather())


def list_state_updated(env: StreamExecutionEnvironment) -> Any:
    class LastTwo(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.INT()))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            last = [*self.all.get(), value[1]][-2:]
            self.all.update(last)
            yield value[0], sum(self.all.get())

    return _keyed(env).process(LastTwo())


def map_state(env: StreamExecutionEnvironment) -> Any:
    class Histogram(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.INT(), Types.INT()))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            place = value[1] % 2
            self.counts.put(place, (self.counts.get(place) or 0) + 1)
            if self.counts.contains(0) and self.counts.contains(1):
                self.counts.remove(0)
            yield value[0], sorted(self.counts.items()), self.counts.is_empty(), sorted(self.counts.keys())

    return _keyed(env).process(Histogram())


def reducing_state(env: StreamExecutionEnvironment) -> Any:
    class Product(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            descriptor = ReducingStateDescriptor("product", lambda a, b: a * b, Types.INT())
            self.product = runtime_context.get_reducing_state(descriptor)

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            self.product.add(value[1])
            yield value[0], self.product.get()

    return _keyed(env).process(Product())


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]


def aggregating_state(env: StreamExecutionEnvironment) -> Any:
    class Means(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            descriptor = AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
            self.mean = runtime_context.get_aggregating_state(descriptor)

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            self.mean.add(value[1])
            yield value[0], self.mean.get()

    return _keyed(env).process(Means())


def long_time_to_live(env: StreamExecutionEnvironment) -> Any:
    class Count(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            descriptor = ValueStateDescriptor("count", Types.INT())
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
            self.count = runtime_context.get_state(descriptor)

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            yield value[0], self.count.value()

    return _keyed(env).process(Count())


def event_timers(env: StreamExecutionEnvironment) -> Any:
    class Alarm(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            ctx.timer_service().register_event_time_timer(value[1] + 5000)
            yield "in", value[0], ctx.timestamp()

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
            yield "fired", ctx.get_current_key(), timestamp

    return _timed(env).process(Alarm())


def deleted_timers(env: StreamExecutionEnvironment) -> Any:
    class Alarm(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            if self.last.value() is not None:
                ctx.timer_service().delete_event_time_timer(self.last.value())
            self.last.update(value[1] + 5000)
            ctx.timer_service().register_event_time_timer(value[1] + 5000)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
            yield ctx.get_current_key(), timestamp

    return _timed(env).process(Alarm())


def same_timer_twice(env: StreamExecutionEnvironment) -> Any:
    class Alarm(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            ctx.timer_service().register_event_time_timer(50_000)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
            yield ctx.get_current_key(), timestamp, ctx.timestamp()

    return _timed(env).process(Alarm())


def timer_that_sets_a_timer(env: StreamExecutionEnvironment) -> Any:
    class Again(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            if value[1] < 2000:
                ctx.timer_service().register_event_time_timer(3000)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
            yield timestamp
            if timestamp < 12_000:
                ctx.timer_service().register_event_time_timer(timestamp + 3000)

    return _timed(env).process(Again())


def connected_maps(env: StreamExecutionEnvironment) -> Any:
    class Both(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return "number", value

        def map2(self, value: Any) -> Any:
            return "text", value

    return env.from_collection([1, 2]).connect(env.from_collection(["x"])).map(Both())


def connected_flat_maps(env: StreamExecutionEnvironment) -> Any:
    class Both(CoFlatMapFunction):
        def flat_map1(self, value: Any) -> Any:
            yield from range(value)

        def flat_map2(self, value: Any) -> Any:
            yield value.upper()

    return env.from_collection([2, 1]).connect(env.from_collection(["x"])).flat_map(Both())


def connected_keyed(env: StreamExecutionEnvironment) -> Any:
    class Total(KeyedCoProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.INT()))

        def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
            self.all.add(value[1])
            ctx.timer_service().register_event_time_timer(1)

        def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Any:
            self.all.add(-value[1])
            ctx.timer_service().register_event_time_timer(1)

        def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Any:
            yield ctx.get_current_key(), sum(self.all.get())

    never = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_days(1)).with_timestamp_assigner(Second())
    one = env.from_collection(PAIRS, PAIR).assign_timestamps_and_watermarks(never)
    other = env.from_collection([("a", 1), ("d", 5)], PAIR).assign_timestamps_and_watermarks(never)
    both = one.key_by(lambda pair: pair[0]).connect(other.key_by(lambda pair: pair[0]))
    return both.process(Total())


def broadcast_rules(env: StreamExecutionEnvironment) -> Any:
    rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())

    class Check(KeyedBroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield "element", value

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(rules).put(value[0], value[1])
            yield "rule", value, sorted(ctx.get_broadcast_state(rules).items())

    rule_stream = env.from_collection([("low", 5), ("high", 50)], PAIR).broadcast(rules)
    return _keyed(env).connect(rule_stream).process(Check())


def state_in_rich_map(env: StreamExecutionEnvironment) -> Any:
    from pyflink.datastream import MapFunction

    class Numbered(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

        def map(self, value: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            return value[0], self.count.value()

    return _keyed(env).map(Numbered())


def state_in_rich_reduce(env: StreamExecutionEnvironment) -> Any:
    from pyflink.datastream import ReduceFunction

    class Counted(ReduceFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

        def reduce(self, one: Any, other: Any) -> Any:
            self.count.update((self.count.value() or 0) + 1)
            return one[0], one[1] + other[1] + 1000 * self.count.value()

    return _keyed(env).reduce(Counted())


def state_in_rich_filter(env: StreamExecutionEnvironment) -> Any:
    from pyflink.datastream import FilterFunction

    class FirstOnly(FilterFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

        def filter(self, value: Any) -> bool:
            first = self.seen.value() is None
            self.seen.update(True)
            return first

    return _keyed(env).filter(FirstOnly())
