"""P1: a timer on the clock of the machine, two seconds after each element.

``a`` comes after three seconds, ``b`` three seconds later. When the input ends, the timer of ``b`` is pending and is
dropped: a streaming job does not wait for the clock. (A batch job fires it, as Flink does.)
"""

from __future__ import annotations

from collections.abc import Iterator

from fixture import timestamp_text

from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

DELAY = 2_000


class Remind(KeyedProcessFunction):
    def __init__(self, delay: int) -> None:
        self.delay = delay

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        now = ctx.timer_service().current_processing_time()
        yield f"数据到达,到达时间是:{timestamp_text(now)}"
        ctx.timer_service().register_processing_time_timer(now + self.delay)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"定时器触发,触发时间是:{timestamp_text(timestamp)}"


def build(env: StreamExecutionEnvironment, delay: int = DELAY) -> DataStream:
    rate = RateLimiterStrategy.per_second(1000 / (1.5 * delay))
    source = DataGeneratorSource(lambda index: "ab"[index], 2, rate)
    elements = env.from_source(source, WatermarkStrategy.no_watermarks(), "a and b").set_parallelism(1)
    # One key for all: that is how elements without a key get timers.
    return elements.key_by(lambda value: True).process(Remind(delay))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("processing time timer")


if __name__ == "__main__":
    main()
