"""P18: word count. In streaming mode every word sends its new count, in batch mode only the last one."""

from __future__ import annotations

from millrace.common import Types
from millrace.datastream import DataStream, StreamExecutionEnvironment

WORDS = ["hello", "world", "hello", "flink", "hello", "world", "hello", "flink"]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        env.from_collection(WORDS, Types.STRING())
        .map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
        .set_parallelism(1)  # dealt out to several subtasks the words could come in another order
        .key_by(lambda pair: pair[0])
        .sum(1)
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("word count")


if __name__ == "__main__":
    main()
