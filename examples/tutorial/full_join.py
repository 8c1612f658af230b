"""Two streams joined without windows: each side keeps all its elements of a key in a list state."""

from __future__ import annotations

from collections.abc import Iterator

from fixture import stamped

from millrace.common import Types
from millrace.datastream import DataStream, KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor

Element = tuple[str, str, int]

LEFT: list[Element] = [("a", "stream-1", 1000), ("b", "stream-1", 2000)]
RIGHT: list[Element] = [("a", "stream-2", 3000), ("b", "stream-2", 4000)]


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        element = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", element))
        self.right = runtime_context.get_list_state(ListStateDescriptor("right", element))

    def process_element1(self, value: Element, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        self.left.add(value)
        for other in self.right.get():
            yield f"{value} => {other}"

    def process_element2(self, value: Element, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        self.right.add(value)
        for other in self.left.get():
            yield f"{other} => {value}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    left, right = stamped(env, LEFT), stamped(env, RIGHT)
    return (
        left.connect(right)
        .key_by(lambda element: element[0], lambda element: element[0], Types.STRING())
        .process(Join(), Types.STRING())
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("full join")


if __name__ == "__main__":
    main()
