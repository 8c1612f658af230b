"""Notes, P13: every five seconds the three most viewed urls of the last minute."""

from __future__ import annotations

from collections.abc import Iterator

from fixture import clicks
from url_views import UrlViewCount, view_counts

from millrace.common import Time, Types
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor
from millrace.datastream.window import SlidingEventTimeWindows

Ranking = tuple[int, list[tuple[str, int]]]
"""end of the window (ms), then the urls with their views"""


class TopNHotItems(KeyedProcessFunction):
    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: UrlViewCount, ctx: KeyedProcessFunction.Context) -> None:
        self.items.add(value)
        ctx.timer_service().register_event_time_timer(value.end + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Ranking]:
        ranked = sorted(self.items.get(), key=lambda item: (-item.count, item.url))  # equals come by their url
        self.items.clear()
        yield ctx.get_current_key(), [(item.url, item.count) for item in ranked[: self.size]]


def build(env: StreamExecutionEnvironment) -> DataStream:
    counts = view_counts(clicks(env), SlidingEventTimeWindows.of(Time.minutes(1), Time.seconds(5)))
    return counts.key_by(lambda view: view.end).process(TopNHotItems(3))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("hot items")


if __name__ == "__main__":
    main()
