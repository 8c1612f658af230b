"""Counts the words of a folder's Python files and keeps the most frequent ones: two keyed stages after the reading.

    python examples/word_count_files.py [FOLDER]

The counting is exact and in streaming mode: a timer at the end of event time makes every word send its count once.
"""

from __future__ import annotations

import heapq
import os
import re
import sys
import zlib
from collections.abc import Iterator

from millrace.common import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSource, StreamFormat
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor

END_OF_TIME = 2**63 - 1
"""The last watermark: it comes when all input has been read."""

PARTS = 8
"""Into how many parts the ranking is divided before the last step."""

find_words = re.compile(r"[A-Za-z_]+").findall


def words_of(line: str) -> list[str]:
    return find_words(line.lower())


def python_files(folder: str) -> list[str]:
    """All Python files below a folder, without installed packages."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ("site-packages", "dist-packages", "__pycache__")]
        found += [os.path.join(place, name) for name in names if name.endswith(".py")]
    return sorted(found)


class CountWords(KeyedProcessFunction):
    """Counts in state, and tells the count when the input has ended."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        count = self.count.value()
        if count is None:
            ctx.timer_service().register_event_time_timer(END_OF_TIME)
        self.count.update((count or 0) + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[str, int]]:
        yield ctx.get_current_key(), self.count.value()


class Largest(KeyedProcessFunction):
    """The ``size`` largest counts of a key's elements, largest first, when the input has ended."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.best = runtime_context.get_list_state(ListStateDescriptor("best", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> None:
        best = list(self.best.get())
        if not best:
            ctx.timer_service().register_event_time_timer(END_OF_TIME)
        ranked = (-value[1], value[0])
        if len(best) < self.size:
            best.append(ranked)
        elif ranked < max(best):
            best = heapq.nsmallest(self.size, [*best, ranked])
        else:
            return
        self.best.update(best)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[str, int]]:
        for negative, word in sorted(self.best.get()):
            yield word, -negative


def build(env: StreamExecutionEnvironment, files: list[str], top: int = 20) -> DataStream:
    """The ``top`` most frequent words of the files with their counts, most frequent first."""
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), *files).build()
    return (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
        .flat_map(words_of)
        .key_by(lambda word: word)
        .process(CountWords())
        .name("count words")
        .key_by(lambda counted: zlib.crc32(counted[0].encode()) % PARTS)
        .process(Largest(top))
        .name("largest of a part")
        .key_by(lambda counted: 0)
        .process(Largest(top))
        .name("largest of all")
        .set_parallelism(1)
    )


def main() -> None:
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.__file__)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    for word, count in build(env, python_files(folder)).execute_and_collect():
        print(f"{count:>10,} {word}")


if __name__ == "__main__":
    main()
