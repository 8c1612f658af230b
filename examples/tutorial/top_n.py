"""P3, its last step: the two most viewed urls of each window, from the counts of its urls.

All counts of a window are there when the watermark has passed its end: a timer one millisecond later says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fixture import CLICKS, stamped, timestamp_text

from millrace.common import Types
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor

SIZE, SLIDE = 10_000, 5_000
RULE = "=" * 40


class UrlViewCount(NamedTuple):
    url: str
    count: int
    start: int
    end: int
    timestamp: int
    """event time of a window's result: its last millisecond"""


def counts() -> list[UrlViewCount]:
    """What sliding windows of ten seconds, one every five, count for the clicks."""
    found: dict[tuple[int, str], int] = {}
    for click in CLICKS:
        last = click.timestamp - click.timestamp % SLIDE
        for start in range(last, last - SIZE, -SLIDE):
            found[start, click.url] = found.get((start, click.url), 0) + 1
    return [UrlViewCount(url, n, start, start + SIZE, start + SIZE - 1) for (start, url), n in sorted(found.items())]


class TopN(KeyedProcessFunction):
    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.urls = runtime_context.get_list_state(ListStateDescriptor("list-state", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: UrlViewCount, ctx: KeyedProcessFunction.Context) -> None:
        self.urls.add(value)
        ctx.timer_service().register_event_time_timer(value.end + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        ranked = sorted(self.urls.get(), key=lambda view: view.count, reverse=True)[: self.size]
        self.urls.clear()
        end = timestamp_text(timestamp - 1)
        lines = [
            f"浏览量No.{place} url:{view.url} 浏览量:{view.count} 窗口结束时间:{end}\n"
            for place, view in enumerate(ranked, 1)
        ]
        yield f"{RULE}\n{''.join(lines)}{RULE}\n\n\n"


def build(env: StreamExecutionEnvironment) -> DataStream:
    return stamped(env, counts()).key_by(lambda view: view.end).process(TopN(2), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("top n")


if __name__ == "__main__":
    main()
