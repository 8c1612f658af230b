"""The window join's sibling: all elements of a key and window at once, also where one of the streams has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fixture import stamped

from millrace.common import Time, Types
from millrace.datastream import CoGroupFunction, DataStream, StreamExecutionEnvironment
from millrace.datastream.window import TumblingEventTimeWindows

Element = tuple[str, int]

LEFT: list[Element] = [("a", 1000), ("b", 1000), ("a", 2000), ("b", 6000)]
RIGHT: list[Element] = [("a", 3000), ("c", 3000), ("b", 7000), ("b", 8000)]


class Meet(CoGroupFunction):
    """Who met, and who came alone: a full outer join."""

    def co_group(self, first: Iterable[Element], second: Iterable[Element]) -> Iterator[str]:
        left, right = list(first), list(second)
        if left and right:
            yield f"{left} met {right}"
        else:
            yield f"{left or right} came alone"


def build(env: StreamExecutionEnvironment) -> DataStream:
    left, right = stamped(env, LEFT), stamped(env, RIGHT)
    return (
        left.co_group(right)
        .where(lambda element: element[0])
        .equal_to(lambda element: element[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .apply(Meet(), Types.STRING())
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("co-group")


if __name__ == "__main__":
    main()
