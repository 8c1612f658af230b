"""Programs with windows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyflink.common import Duration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from pyflink.datastream.output_tag import OutputTag
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    CountWindow,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)

EVENTS = [("a", 1, 1000), ("b", 2, 1500), ("a", 3, 4999), ("a", 4, 5000), ("b", 5, 12_000), ("a", 6, 12_500)]
EVENT = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])


class Third(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[2])


def _events(env: StreamExecutionEnvironment, values: Any = EVENTS, delay: int = 0) -> Any:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay))
    return env.from_collection(values, EVENT).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Third())
    )


def _by_key(env: StreamExecutionEnvironment, **more: Any) -> Any:
    return _events(env, **more).key_by(lambda event: event[0], Types.STRING())


def add(a: Any, b: Any) -> Any:
    return a[0], a[1] + b[1], max(a[2], b[2])


class Summary(ProcessWindowFunction):
    def process(self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        yield key, window.start, window.end, sorted(element[1] for element in elements)


class AllSummary(ProcessAllWindowFunction):
    def process(self, context: ProcessAllWindowFunction.Context, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().start, context.window().end, sorted(element[1] for element in elements)


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]


def tumbling_reduce(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(add)


def tumbling_process(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5))).process(Summary())


def tumbling_with_offset(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(1))).process(Summary())


def tumbling_aggregate(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5))).aggregate(Mean())


def aggregate_with_window_function(env: StreamExecutionEnvironment) -> Any:
    class Named(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
            yield key, context.window().end, list(elements)

    windowed = _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5)))
    return windowed.aggregate(Mean(), window_function=Named())


def reduce_with_window_function(env: StreamExecutionEnvironment) -> Any:
    windowed = _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5)))
    return windowed.reduce(add, window_function=Summary())


def tumbling_apply(env: StreamExecutionEnvironment) -> Any:
    class Count(WindowFunction[tuple, tuple, str, TimeWindow]):
        def apply(self, key: str, window: TimeWindow, inputs: Iterable[tuple]) -> Iterable[tuple]:
            yield key, window.max_timestamp(), len(list(inputs))

    return _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5))).apply(Count())


def sliding(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))).process(Summary())


def sliding_uneven(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(2))).reduce(add)


def sessions(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(EventTimeSessionWindows.with_gap(Time.seconds(4))).process(Summary())


def sessions_at_the_gap(env: StreamExecutionEnvironment) -> Any:
    values = [("a", 1, 0), ("a", 2, 1000), ("a", 3, 2001), ("a", 4, 5000)]
    return _by_key(env, values=values).window(EventTimeSessionWindows.with_gap(Time.seconds(1))).process(Summary())


def sessions_out_of_order(env: StreamExecutionEnvironment) -> Any:
    values = [("a", 1, 10_000), ("a", 2, 1000), ("a", 3, 6000), ("a", 4, 3500), ("a", 5, 30_000)]
    windowed = _by_key(env, values=values, delay=60_000).window(EventTimeSessionWindows.with_gap(Time.seconds(3)))
    return windowed.reduce(add)


def windows_of_all(env: StreamExecutionEnvironment) -> Any:
    return _events(env).window_all(TumblingEventTimeWindows.of(Time.seconds(5))).process(AllSummary())


def apply_to_all(env: StreamExecutionEnvironment) -> Any:
    class Count(AllWindowFunction[tuple, tuple, TimeWindow]):
        def apply(self, window: TimeWindow, inputs: Iterable[tuple]) -> Iterable[tuple]:
            yield window.start, len(list(inputs))

    return _events(env).window_all(TumblingEventTimeWindows.of(Time.seconds(5))).apply(Count())


def count_windows(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).count_window(2).reduce(add)


def sliding_count_windows(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).count_window(3, 2).reduce(add)


def count_windows_apply(env: StreamExecutionEnvironment) -> Any:
    class Total(WindowFunction[tuple, tuple, str, CountWindow]):
        def apply(self, key: str, window: CountWindow, inputs: Iterable[tuple]) -> Iterable[tuple]:
            yield key, sum(each[1] for each in inputs)

    return _by_key(env).count_window(2).apply(Total())


def count_trigger(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(20))).trigger(CountTrigger.of(2)).reduce(add)


def purging_trigger(env: StreamExecutionEnvironment) -> Any:
    windowed = _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(20)))
    return windowed.trigger(PurgingTrigger.of(CountTrigger.of(2))).reduce(add)


def global_windows(env: StreamExecutionEnvironment) -> Any:
    return _by_key(env).window(GlobalWindows.create()).trigger(CountTrigger.of(3)).reduce(add)


def late_elements(env: StreamExecutionEnvironment) -> Any:
    late = OutputTag("late", Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()]))
    windowed = _by_key(env, delay=3_600_000).window(TumblingEventTimeWindows.of(Time.seconds(5)))
    result = windowed.side_output_late_data(late).reduce(add)
    return result.union(result.get_side_output(late))


def allowed_lateness(env: StreamExecutionEnvironment) -> Any:
    windowed = _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5)))
    return windowed.allowed_lateness(60_000).reduce(add)


def joined_with_itself(env: StreamExecutionEnvironment) -> Any:
    counts = _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(add)
    return counts.key_by(lambda event: event[0]).reduce(lambda a, b: (a[0], a[1] + b[1], 0))


def windows_of_windows(env: StreamExecutionEnvironment) -> Any:
    small = _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(add)
    return small.window_all(TumblingEventTimeWindows.of(Time.seconds(10))).process(AllSummary())


def timestamps_of_results(env: StreamExecutionEnvironment) -> Any:
    class Stamp(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value[0], value[1], ctx.timestamp()

    return _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5))).reduce(add).process(Stamp())


def continuous_trigger(env: StreamExecutionEnvironment) -> Any:
    windowed = _by_key(env, delay=3_600_000).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    return windowed.trigger(ContinuousEventTimeTrigger.of(Time.seconds(5))).reduce(add)


def negative_timestamps(env: StreamExecutionEnvironment) -> Any:
    values = [("a", 1, -1), ("a", 2, -5000), ("a", 3, -5001), ("a", 4, 0)]
    windowed = _by_key(env, values=values, delay=60_000).window(TumblingEventTimeWindows.of(Time.seconds(5)))
    return windowed.process(Summary())


def window_state(env: StreamExecutionEnvironment) -> Any:
    from pyflink.datastream.state import ValueStateDescriptor

    class Counted(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
            count = context.global_state().get_state(ValueStateDescriptor("count", Types.INT()))
            count.update((count.value() or 0) + 1)
            yield key, context.window().start, count.value()

    return _by_key(env).window(TumblingEventTimeWindows.of(Time.seconds(5))).process(Counted())
