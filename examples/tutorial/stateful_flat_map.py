"""P13: a flat map that counts in keyed state and speaks up at every hundredth element of a key."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.common import Types
from millrace.datastream import DataStream, FlatMapFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor


class EveryHundredth(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("my state", Types.LONG()))

    def flat_map(self, value: int) -> Iterator[str]:
        count = (self.state.value() or 0) + 1  # None before the first element of a key
        if count >= 100:
            yield f"state: {count}"
            self.state.clear()
        else:
            self.state.update(count)


def build(env: StreamExecutionEnvironment) -> DataStream:
    """700 numbers with the keys 0, 1 and 2: 234, 233 and 233 of each."""
    return env.from_sequence(0, 699).key_by(lambda number: number % 3).flat_map(EveryHundredth(), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("stateful flat map")


if __name__ == "__main__":
    main()
