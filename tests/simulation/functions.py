"""What the simulated programs do with numbered records: each function keeps state of another kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.simulation.current import world
from tests.simulation.numbered import STEP, Record

from millrace.common.accumulators import IntCounter
from millrace.common.typeinfo import Types
from millrace.datastream import TimeDomain
from millrace.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

KEYS = 5
BUCKET = 6 * STEP
WAIT = 25
"""ms of processing time"""
PACE = 9
"""ms of processing time from one tick to the next"""
TICKS = 12
BUFFERED = 4
END_OF_TIME = 2**62
"""A time (ms) that the watermark passes only when the input ends."""
SEEN = "seen"


def key_of(record: Record) -> int:
    return record.number % KEYS


class Shaky(MapFunction):
    """Hands records on, counts them in an accumulator, and fails now and then."""

    def open(self, context: RuntimeContext) -> None:
        self.seen = IntCounter()
        context.add_accumulator(SEEN, self.seen)

    def map(self, value: Any) -> Any:
        world().user_code("map")
        self.seen.add(1)
        return value


class Keeping(KeyedProcessFunction):
    """Value, map and list state, timers of both kinds of time.

    Each record is told as ("nth", key, how many so far) at once and as ("waited", source, number) after a while; each
    bucket of time as ("bucket", key, end, sum) when the watermark passes, each key as ("total", key, count) at the end.
    """

    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.buckets = context.get_map_state(MapStateDescriptor("buckets", Types.LONG(), Types.LONG()))
        self.waiting = context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        world().user_code("process")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        end = bucket_of(ctx.timestamp())
        self.buckets.put(end, (self.buckets.get(end) or 0) + value.number)
        self.waiting.add(value)
        timers = ctx.timer_service()
        timers.register_event_time_timer(end)
        timers.register_event_time_timer(END_OF_TIME)
        timers.register_processing_time_timer(timers.current_processing_time() + WAIT)
        yield ("nth", ctx.get_current_key(), count)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        key = ctx.get_current_key()
        at_the_end = timestamp == END_OF_TIME
        if ctx.time_domain() is TimeDomain.PROCESSING_TIME or at_the_end:
            yield from (("waited", *record) for record in self.waiting.get())
            self.waiting.clear()
            if at_the_end:
                yield ("total", key, self.count.value())
        else:
            yield ("bucket", key, timestamp, self.buckets.get(timestamp))
            self.buckets.remove(timestamp)


def bucket_of(timestamp: int) -> int:
    """The end of the bucket that an event-time timer closes."""
    return (timestamp // BUCKET + 1) * BUCKET


class Ticking(KeyedProcessFunction):
    """Timers that set the next one: ("tick", key, number) from 1 to ``TICKS``, those that are left when the input ends.

    ("early", ...) would be one that has fired before its time.
    """

    def open(self, context: RuntimeContext) -> None:
        self.ticks = context.get_state(ValueStateDescriptor("ticks", Types.LONG()))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        if self.ticks.value() is None:
            self.ticks.update(0)
            timers.register_event_time_timer(END_OF_TIME)
            timers.register_processing_time_timer(timers.current_processing_time() + PACE)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        timers = ctx.timer_service()
        ticks = self.ticks.value()
        if ctx.time_domain() is TimeDomain.PROCESSING_TIME:
            world().user_code("timer")
            if timers.current_processing_time() < timestamp:
                yield ("early", ctx.get_current_key(), timestamp)
            last = ticks + 1
            timers.register_processing_time_timer(timestamp + PACE)
        else:
            last = TICKS
        yield from (("tick", ctx.get_current_key(), n) for n in range(ticks + 1, min(last, TICKS) + 1))
        self.ticks.update(last)


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Record, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + 1, accumulator[1] + value.number)

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


class Named(ProcessWindowFunction):
    """(name, key, start, end, count, sum)"""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(
        self, key: int, context: ProcessWindowFunction.Context, elements: Iterable[tuple[int, int]]
    ) -> Iterable[Any]:
        for result in elements:
            yield (self.name, key, context.window().start, context.window().end, *result)


RULES = MapStateDescriptor("rules", Types.LONG(), Types.LONG())


class Ruled(KeyedBroadcastProcessFunction):
    """Broadcast state: at the end each key tells ("rules", key, how many there are, their sum)."""

    def process_element(self, value: Record, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        ctx.timer_service().register_event_time_timer(END_OF_TIME)

    def process_broadcast_element(self, value: Record, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(0, (rules.get(0) or 0) + 1)
        rules.put(1, (rules.get(1) or 0) + value.number)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[Any]:
        rules = ctx.get_broadcast_state(RULES)
        yield ("rules", ctx.get_current_key(), rules.get(0), rules.get(1))


class Numbering(MapFunction, CheckpointedFunction):
    """Union list state: ("numbered", split, how many of the split so far).

    After a restore every subtask finds what all have counted, some of it long ago: counts only grow.
    """

    def __init__(self, splits: int) -> None:
        self.splits = splits
        self.counts: dict[int, int] = {}

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("counts", Types.PICKLED_BYTE_ARRAY())
        self.state = context.get_operator_state_store().get_union_list_state(descriptor)
        for split, count in self.state:
            self.counts[split] = max(count, self.counts.get(split, 0))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(sorted(self.counts.items()))

    def map(self, value: Record) -> Any:
        world().user_code("map")
        split = value.number % self.splits
        self.counts[split] = self.counts.get(split, 0) + 1
        return ("numbered", split, self.counts[split])


class Buffering(KeyedProcessFunction, CheckpointedFunction):
    """List state that is dealt out: ("buffered", source, number), always several at once; the rest at the end."""

    def __init__(self) -> None:
        self.buffer: list[Record] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("buffer", Types.PICKLED_BYTE_ARRAY())
        self.state = context.get_operator_state_store().get_list_state(descriptor)
        self.buffer += self.state

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.buffer)

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self.buffer.append(value)
        ctx.timer_service().register_event_time_timer(END_OF_TIME)
        if len(self.buffer) >= BUFFERED:
            yield from self._all()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield from self._all()

    def _all(self) -> Iterable[Any]:
        yield from (("buffered", *record) for record in self.buffer)
        self.buffer.clear()


class CountPasses(KeyedProcessFunction):
    """("passes", key, how many elements it had), when the watermark says that all are there."""

    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(END_OF_TIME)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield ("passes", ctx.get_current_key(), self.count.value())
