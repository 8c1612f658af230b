"""P8: two streams of different types under one function."""

from __future__ import annotations

from millrace.common import Types
from millrace.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment


class Name(CoMapFunction):
    def map1(self, value: int) -> str:
        return f"Integer: {value}"

    def map2(self, value: int) -> str:
        return f"Long: {value}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    integers = env.from_collection([1, 2, 3], Types.INT())
    longs = env.from_collection([1, 2, 3], Types.LONG())
    return integers.connect(longs).map(Name(), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("co-map")


if __name__ == "__main__":
    main()
