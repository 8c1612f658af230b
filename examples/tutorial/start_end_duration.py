"""Notes, P1: how long something took, from its START to its END, if that comes within four hours.

END and a new START delete the timer of the START before. The notes leave it there: it would clear a later START.
"""

from __future__ import annotations

from collections.abc import Iterator

from fixture import stamped

from millrace.common import Types
from millrace.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor

HOUR = 3_600_000
EVENTS = [
    ("a", "START", 0),
    ("c", "START", 0),  # never ends
    ("a", "END", 1 * HOUR),
    ("b", "END", 2 * HOUR),  # never started
    ("a", "START", 3 * HOUR),
    ("a", "END", 5 * HOUR),  # behind the time of the first timer of a
    ("c", "START", 6 * HOUR),
    ("c", "END", 9 * HOUR),
]


class StartEndDuration(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.start = runtime_context.get_state(ValueStateDescriptor("startTime", Types.LONG()))

    def process_element(
        self, value: tuple[str, str, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[str, int]]:
        start, now = self.start.value(), value[2]
        if start is not None:
            ctx.timer_service().delete_event_time_timer(start + 4 * HOUR)
        if value[1] == "START":
            self.start.update(now)
            ctx.timer_service().register_event_time_timer(now + 4 * HOUR)
        elif start is not None:
            yield ctx.get_current_key(), now - start
            self.start.clear()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        self.start.clear()


def build(env: StreamExecutionEnvironment) -> DataStream:
    return stamped(env, EVENTS).key_by(lambda event: event[0]).process(StartEndDuration())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("durations")


if __name__ == "__main__":
    main()
