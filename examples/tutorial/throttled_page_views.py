"""P14: the page views of a user, told at most once in ten seconds.

When a timer fires depends on when watermarks come: ``build(env, PACED)`` has one after every click, the default one
when all clicks have been read.
"""

from __future__ import annotations

from collections.abc import Iterator

from fixture import IN_ORDER, Click, clicks

from millrace.common import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor

PAUSE = 10_000


class PageViews(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.views = runtime_context.get_state(ValueStateDescriptor("pv", Types.LONG()))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))

    def process_element(self, value: Click, ctx: KeyedProcessFunction.Context) -> None:
        self.views.update((self.views.value() or 0) + 1)
        if self.timer.value() is None:
            self.timer.update(value.timestamp + PAUSE)
            ctx.timer_service().register_event_time_timer(value.timestamp + PAUSE)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"用户 {ctx.get_current_key()} 的PV是:{self.views.value()}"
        self.timer.clear()


def build(env: StreamExecutionEnvironment, strategy: WatermarkStrategy = IN_ORDER) -> DataStream:
    return clicks(env, strategy).key_by(lambda click: click.user).process(PageViews(), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("throttled page views")


if __name__ == "__main__":
    main()
