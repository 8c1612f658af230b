"""P3: every five seconds the two most viewed urls of the last ten, counted by url and ranked by window.

All counts of a window are there when the watermark has passed its end: a timer one millisecond later says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from fixture import clicks, timestamp_text
from url_views import UrlViewCount, view_counts

from millrace.common import Time, Types
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor
from millrace.datastream.window import SlidingEventTimeWindows

RULE = "=" * 40


def ranking(ranked: list[tuple[str, int]], end: int) -> str:
    """The text of one window, from its best urls and their views."""
    lines = [
        f"浏览量No.{place} url:{url} 浏览量:{views} 窗口结束时间:{timestamp_text(end)}\n"
        for place, (url, views) in enumerate(ranked, 1)
    ]
    return f"{RULE}\n{''.join(lines)}{RULE}\n\n\n"


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
        yield ranking([(view.url, view.count) for view in ranked], timestamp - 1)


def build(env: StreamExecutionEnvironment) -> DataStream:
    counts = view_counts(clicks(env), SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)))
    return counts.key_by(lambda view: view.end).process(TopN(2), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("top n")


if __name__ == "__main__":
    main()
