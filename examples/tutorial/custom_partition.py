"""Notes, P14: a partitioner of one's own. Each element tells where it ended up, counted from 1."""

from __future__ import annotations

from millrace.common import Types
from millrace.datastream import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment

ELEMENTS = [("hello", 1), ("test", 2), ("world", 100)]
SUBTASKS = 4


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.number = runtime_context.get_index_of_this_subtask() + 1

    def map(self, value: tuple[str, int]) -> tuple[int, str]:
        return self.number, value[0]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(ELEMENTS, Types.TUPLE([Types.STRING(), Types.INT()]))
        .partition_custom(lambda key, subtasks: key % subtasks, lambda element: len(element[0]) + element[1])
        .map(WithSubtask())
        .set_parallelism(SUBTASKS)
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("custom partition")


if __name__ == "__main__":
    main()
