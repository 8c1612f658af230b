"""The page views of every url in every window: counted as the clicks come, told with the window's bounds.

It is what ``fake_window`` does by hand, and the first half of ``top_n``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fixture import Click, clicks, timestamp_text

from millrace.common import Time, Types
from millrace.datastream import AggregateFunction, DataStream, ProcessWindowFunction, StreamExecutionEnvironment
from millrace.datastream.window import TimeWindow, TumblingEventTimeWindows, WindowAssigner


class UrlViewCount(NamedTuple):
    url: str
    count: int
    start: int
    end: int


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Click, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithWindow(ProcessWindowFunction[int, UrlViewCount, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[int]
    ) -> Iterator[UrlViewCount]:
        (count,) = elements
        yield UrlViewCount(key, count, context.window().start, context.window().end)


def view_counts(stream: DataStream, windows: WindowAssigner[Click, TimeWindow]) -> DataStream:
    """One UrlViewCount per url and window of the clicks."""
    return stream.key_by(lambda click: click.url).window(windows).aggregate(Count(), WithWindow())


def line(views: UrlViewCount) -> str:
    return f"{views.url}:{timestamp_text(views.start)}~{timestamp_text(views.end)}:{views.count}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    return view_counts(clicks(env), TumblingEventTimeWindows.of(Time.seconds(5))).map(line, Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("url views")


if __name__ == "__main__":
    main()
