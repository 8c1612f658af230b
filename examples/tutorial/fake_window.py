"""P15: a tumbling window made by hand of a map state (window start -> page views) and timers."""

from __future__ import annotations

from collections.abc import Iterator

from fixture import Click, clicks, timestamp_text

from millrace.common import Types
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import MapStateDescriptor


class FakeWindow(KeyedProcessFunction):
    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.views = runtime_context.get_map_state(MapStateDescriptor("window-pv", Types.LONG(), Types.LONG()))

    def process_element(self, value: Click, ctx: KeyedProcessFunction.Context) -> None:
        start = value.timestamp - value.timestamp % self.size  # Python's % is right below 0 too
        self.views.put(start, (self.views.get(start) or 0) + 1)
        ctx.timer_service().register_event_time_timer(start + self.size - 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        end = timestamp + 1
        start = end - self.size
        yield f"{ctx.get_current_key()}:{timestamp_text(start)}~{timestamp_text(end)}:{self.views.get(start)}"
        self.views.remove(start)


def build(env: StreamExecutionEnvironment, size: int = 5_000) -> DataStream:
    return clicks(env).key_by(lambda click: click.url).process(FakeWindow(size), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("fake window")


if __name__ == "__main__":
    main()
