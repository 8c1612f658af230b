"""Cash machines that keep a forgotten card: event time, timers, keyed state, late events.

    python examples/atm_timeout.py

Steps arrive in another order than they happened in. Each waits in state until the watermark says that nothing from
before it is still on its way; then it is handled, in the order of time. A card that nobody touches for 30 seconds is
kept. A step that comes after its time has passed goes to a side output.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace.common import Types
from millrace.common.watermark_strategy import TimestampAssigner, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from millrace.datastream import DataStream, KeyedProcessFunction, OutputTag, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import MapStateDescriptor, ValueStateDescriptor

PATIENCE = 30_000
"""How long a card may lie there untouched (ms)."""
OUT_OF_ORDER = 10_000
"""How much later than others a step may arrive (ms)."""

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


class Step(NamedTuple):
    machine: str
    what: str
    second: int

    def __str__(self) -> str:
        return f"{clock(self.second * 1000)} {self.machine} {self.what}"


STEPS = [
    Step("North", "card in", 0),
    Step("South", "card in", 2),
    Step("North", "cash out", 9),  # before its PIN
    Step("North", "PIN", 4),
    Step("South", "PIN", 7),
    Step("North", "card out", 12),
    Step("East", "card in", 20),
    Step("South", "cash out", 15),  # the last that this customer does
    Step("East", "PIN", 26),
    Step("North", "card in", 40),
    Step("East", "cash out", 33),
    Step("North", "PIN", 45),
    Step("East", "card out", 38),
    Step("North", "card out", 52),
    Step("South", "card in", 70),
    Step("South", "card out", 74),
    Step("East", "card out", 41),  # far too late
]


class Time(TimestampAssigner):
    def extract_timestamp(self, value: Step, record_timestamp: int) -> int:
        return value.second * 1000


class AfterEveryStep(WatermarkGenerator):
    """A watermark after each element, ``OUT_OF_ORDER`` behind the latest."""

    def __init__(self) -> None:
        self.latest = 0

    def on_event(self, event: Step, event_timestamp: int, output: WatermarkOutput) -> None:
        self.latest = max(self.latest, event_timestamp)
        output.emit_watermark(self.latest - OUT_OF_ORDER - 1)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """All is said in on_event."""


STRATEGY = WatermarkStrategy.for_generator(AfterEveryStep).with_timestamp_assigner(Time())


class Machine(KeyedProcessFunction):
    """One cash machine."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting", Types.LONG(), Types.STRING()))
        self.begun = runtime_context.get_state(ValueStateDescriptor("begun", Types.LONG()))
        self.deadline = runtime_context.get_state(ValueStateDescriptor("deadline", Types.LONG()))

    def process_element(self, value: Step, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers, time = ctx.timer_service(), ctx.timestamp()
        if time <= timers.current_watermark():
            yield LATE, value
            return
        self.waiting.put(time, value.what)
        timers.register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        machine = ctx.get_current_key()
        step = self.waiting.get(timestamp)
        if step is None:
            if timestamp == self.deadline.value():
                self.begun.clear()
                yield f"{clock(timestamp)} {machine}: card kept, nobody touched it for {PATIENCE // 1000} s"
            return
        self.waiting.remove(timestamp)
        if step == "card in":
            self.begun.update(timestamp)
        if step == "card out":
            seconds = (timestamp - self.begun.value()) // 1000
            self.deadline.clear()
            yield f"{clock(timestamp)} {machine}: card back after {seconds} s"
        else:
            self.deadline.update(timestamp + PATIENCE)
            ctx.timer_service().register_event_time_timer(timestamp + PATIENCE)


def clock(millis: int) -> str:
    """The time of day of a machine that opens at ten."""
    return str(datetime.timedelta(hours=10, milliseconds=millis))


def build(env: StreamExecutionEnvironment) -> DataStream:
    """What the machines report, and what came too late."""
    machines = (
        env.from_collection(STEPS)
        .assign_timestamps_and_watermarks(STRATEGY)
        .set_parallelism(1)  # in two halves the list would have two watermarks, and the lower one would count
        .key_by(lambda step: step.machine)
        .process(Machine())
        .name("cash machine")
    )
    return machines.union(machines.get_side_output(LATE).map(lambda step: f"too late: {step}"))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build(env).print()
    env.execute("ATM timeout")


if __name__ == "__main__":
    main()
