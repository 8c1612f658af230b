"""P16: an aggregating state counts elements; every thousandth one of a key empties it and is not counted itself.

The position in the thousand is state too: as a plain field it would be shared by all keys, and lost in a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from millrace.common import Types
from millrace.datastream import (
    AggregateFunction,
    DataStream,
    FlatMapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from millrace.datastream.state import AggregatingStateDescriptor, ValueStateDescriptor

EVERY = 1_000


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: tuple[str, int], accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, accumulator_a: int, accumulator_b: int) -> int:
        return accumulator_a + accumulator_b


class EveryThousandth(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = AggregatingStateDescriptor("aggregatingState", Count(), Types.LONG())
        self.counted = runtime_context.get_aggregating_state(descriptor)
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def flat_map(self, value: tuple[str, int]) -> Iterator[int]:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        if seen % EVERY:
            self.counted.add(value)
        else:
            yield self.counted.get()
            self.counted.clear()


def build(env: StreamExecutionEnvironment) -> DataStream:
    """3,500 elements of one key."""
    pairs = env.from_sequence(1, 3_500).map(lambda number: ("key", number))
    return pairs.key_by(lambda pair: pair[0]).flat_map(EveryThousandth(), Types.LONG())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("aggregating state")


if __name__ == "__main__":
    main()
