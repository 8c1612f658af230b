"""P10: every element of one stream with every element of the other that has its key and is in the same five seconds."""

from __future__ import annotations

from fixture import stamped

from millrace.common import Time, Types
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows

Element = tuple[str, int]

LEFT: list[Element] = [("a", 1000), ("b", 1000), ("a", 2000), ("b", 2000)]
RIGHT: list[Element] = [("a", 3000), ("b", 3000), ("a", 4000), ("b", 4000)]


def build(env: StreamExecutionEnvironment) -> DataStream:
    left, right = stamped(env, LEFT), stamped(env, RIGHT)
    return (
        left.join(right)
        .where(lambda element: element[0])
        .equal_to(lambda element: element[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .apply(lambda one, other: f"{one}=>{other}", Types.STRING())
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("window join")


if __name__ == "__main__":
    main()
