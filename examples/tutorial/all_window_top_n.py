"""P2: the same ranking as ``top_n``, in one subtask: windows over all clicks, which keep every url until they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from fixture import clicks
from top_n import ranking

from millrace.common import Time, Types
from millrace.datastream import DataStream, ProcessAllWindowFunction, StreamExecutionEnvironment
from millrace.datastream.window import SlidingEventTimeWindows, TimeWindow


class TopUrls(ProcessAllWindowFunction[str, str, TimeWindow]):
    def __init__(self, size: int) -> None:
        self.size = size

    def process(self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[str]) -> Iterator[str]:
        yield ranking(Counter(elements).most_common(self.size), context.window().end)


def build(env: StreamExecutionEnvironment) -> DataStream:
    urls = clicks(env).map(lambda click: click.url, Types.STRING())
    windows = urls.window_all(SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
    return windows.process(TopUrls(2), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("top n of all")


if __name__ == "__main__":
    main()
