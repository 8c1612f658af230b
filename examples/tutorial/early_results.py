"""A trigger of one's own: the clicks of ten seconds are told at their end, and before that with every second click."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from fixture import Click, clicks

from millrace.common import Time, Types
from millrace.datastream import DataStream, ProcessWindowFunction, StreamExecutionEnvironment
from millrace.datastream.state import ReducingState, ReducingStateDescriptor
from millrace.datastream.window import TimeWindow, Trigger, TriggerResult, TumblingEventTimeWindows


class EveryFew(Trigger[Click, TimeWindow]):
    """Fires with every ``number``-th element of a window, and at its end."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.descriptor = ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG())

    def on_element(
        self, element: Click, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE  # late, but allowed
        ctx.register_event_time_timer(window.max_timestamp())
        count = cast("ReducingState[int]", ctx.get_partitioned_state(self.descriptor))
        count.add(1)
        if count.get() != self.number:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        # It is also called when allowed lateness is over.
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.descriptor)
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self.descriptor).clear()


class Views(ProcessWindowFunction[Click, str, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Click]
    ) -> Iterator[str]:
        window = context.window()
        kind = "in all" if context.current_watermark() >= window.max_timestamp() else "so far"
        yield f"{key} [{window.start}, {window.end}): {len(list(elements))} {kind}"


def build(env: StreamExecutionEnvironment) -> DataStream:
    return (
        clicks(env)
        .key_by(lambda click: click.user)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .trigger(EveryFew(2))
        .process(Views(), Types.STRING())
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    env.execute("early results")


if __name__ == "__main__":
    main()
