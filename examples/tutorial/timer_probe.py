"""PT: what timers do. Set twice they fire once; deleted ones don't; one of the past fires with the next watermark."""

from __future__ import annotations

from collections.abc import Iterator

from fixture import PACED, stamped

from millrace.common import Types
from millrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment

ELEMENTS = [("dup", 1000), ("dup", 5000), ("dup", 5001), ("other", 9000)]


class TimerProbe(KeyedProcessFunction):
    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        timers = ctx.timer_service()
        yield f"{value[0]}@{value[1]} sees watermark {timers.current_watermark()}"
        if value == ("dup", 1000):
            for _ in range(3):
                timers.register_event_time_timer(4999)
            timers.register_event_time_timer(500)
            timers.register_event_time_timer(6000)
            timers.delete_event_time_timer(6000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"{ctx.get_current_key()}: timer {timestamp} fires at watermark {ctx.timer_service().current_watermark()}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    return stamped(env, ELEMENTS, PACED).key_by(lambda pair: pair[0]).process(TimerProbe(), Types.STRING())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("timer probe")


if __name__ == "__main__":
    main()
