"""The five kinds of keyed state, one of each, over the clicks of a user."""

from __future__ import annotations

from collections.abc import Iterator

from fixture import Click, clicks

from millrace.common import Types
from millrace.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)


class MeanTime(AggregateFunction):
    """Elements are times, the accumulator is (sum, count), the result is their mean."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, accumulator_a: tuple[int, int], accumulator_b: tuple[int, int]) -> tuple[int, int]:
        return accumulator_a[0] + accumulator_b[0], accumulator_a[1] + accumulator_b[1]


class Summary(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.first = runtime_context.get_state(ValueStateDescriptor("first", Types.LONG()))
        self.path = runtime_context.get_list_state(ListStateDescriptor("path", Types.STRING()))
        self.views = runtime_context.get_map_state(MapStateDescriptor("views", Types.STRING(), Types.LONG()))
        self.latest = runtime_context.get_reducing_state(ReducingStateDescriptor("latest", max, Types.LONG()))
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", MeanTime(), pair))

    def process_element(self, value: Click, ctx: KeyedProcessFunction.Context) -> None:
        if self.first.value() is None:
            self.first.update(value.timestamp)
        self.path.add(value.url)
        self.views.put(value.url, (self.views.get(value.url) or 0) + 1)
        self.latest.add(value.timestamp)
        self.mean.add(value.timestamp)
        ctx.timer_service().register_event_time_timer(2**63 - 1)  # once per key: when all input has been read

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        views = ", ".join(f"{url} {count}" for url, count in sorted(self.views.items()))
        path = list(self.path.get())
        yield (
            f"{ctx.get_current_key()}: {len(path)} clicks from {path[0]} to {path[-1]}, first {self.first.value()}, "
            f"latest {self.latest.get()}, mean {self.mean.get():.0f}, views {views}"
        )


def build(env: StreamExecutionEnvironment) -> DataStream:
    return clicks(env).key_by(lambda click: click.user).process(Summary(), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("keyed states")


if __name__ == "__main__":
    main()
