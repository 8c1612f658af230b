"""The functions of the job: each keeps another kind of state, and tells what the state makes of numbered records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.crash.numbered import Numbered

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

KEYS = 31
"""So many that each of up to three subtasks has some: what lies in the buffer of a subtask without keys stays there."""
BUCKET = 400
TUMBLING = 1_000
SESSION_GAP = 200
WAIT = 30
"""ms of processing time"""
BUFFERED = 5
END_OF_TIME = 2**62
"""A time (ms) that the watermark passes only when the input ends."""


def key_of(record: Numbered) -> int:
    """Records of all splits share the keys."""
    return (record.number * 7 + record.split * 3) % KEYS


def bucket_of(timestamp: int) -> int:
    """The end of the bucket that an event-time timer closes."""
    return (timestamp // BUCKET + 1) * BUCKET


class Counting(KeyedProcessFunction):
    """Value and map state, event-time timers: ("count", key, so many), and ("bucket", key, end, so many) at the end."""

    def open(self, context: RuntimeContext) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.buckets = context.get_map_state(MapStateDescriptor("buckets", Types.LONG(), Types.LONG()))

    def process_element(self, value: Numbered, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        end = bucket_of(ctx.timestamp())
        self.buckets.put(end, (self.buckets.get(end) or 0) + 1)
        ctx.timer_service().register_event_time_timer(end)
        yield ("count", ctx.get_current_key(), count)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield ("bucket", ctx.get_current_key(), timestamp, self.buckets.get(timestamp))
        self.buckets.remove(timestamp)


class Waiting(KeyedProcessFunction):
    """List state, processing-time timers: ("waited", split, number, time domain), when the record has waited.

    Processing-time timers are dropped at the end of the input, so an event-time timer takes what is left.
    """

    def open(self, context: RuntimeContext) -> None:
        self.waiting = context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Numbered, ctx: KeyedProcessFunction.Context) -> None:
        self.waiting.add(value)
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + WAIT)
        timers.register_event_time_timer(END_OF_TIME)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        domain = "processing" if ctx.time_domain() is TimeDomain.PROCESSING_TIME else "event"
        for record in self.waiting.get():
            yield ("waited", record.split, record.number, domain)
        self.waiting.clear()


class CountAndSum(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Numbered, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + 1, accumulator[1] + value.number)

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return (a[0] + b[0], a[1] + b[1])


class WithWindow(ProcessWindowFunction):
    """(name, key, start, end, count, sum)"""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(
        self, key: int, context: ProcessWindowFunction.Context, elements: Iterable[tuple[int, int]]
    ) -> Iterable[Any]:
        for result in elements:
            yield (self.name, key, context.window().start, context.window().end, *result)


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class Ruled(KeyedBroadcastProcessFunction):
    """Broadcast state: at the end of the input each key has seen ("rules", key, how many, their sum)."""

    def process_element(self, value: Numbered, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> None:
        ctx.timer_service().register_event_time_timer(END_OF_TIME)

    def process_broadcast_element(self, value: Numbered, ctx: KeyedBroadcastProcessFunction.Context) -> None:
        rules = ctx.get_broadcast_state(RULES)
        rules.put("count", (rules.get("count") or 0) + 1)
        rules.put("sum", (rules.get("sum") or 0) + value.number)

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[Any]:
        rules = ctx.get_broadcast_state(RULES)
        yield ("rules", ctx.get_current_key(), rules.get("count"), rules.get("sum"))


class Numbering(MapFunction, CheckpointedFunction):
    """Union list state: ("numbered", split, number, how many of the split so far).

    After a restore every subtask finds what all have counted, some of it long ago: counts only grow.
    """

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("counts", Types.PICKLED_BYTE_ARRAY())
        self.state = context.get_operator_state_store().get_union_list_state(descriptor)
        for split, count in self.state:
            self.counts[split] = max(count, self.counts.get(split, 0))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(list(self.counts.items()))

    def map(self, value: Numbered) -> Any:
        self.counts[value.split] = self.counts.get(value.split, 0) + 1
        return ("numbered", value.split, value.number, self.counts[value.split])


class Buffering(KeyedProcessFunction, CheckpointedFunction):
    """List state that is redistributed: ("buffered", split, number), always several at once; the rest at the end."""

    def __init__(self) -> None:
        self.buffer: list[Numbered] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        descriptor = ListStateDescriptor("buffer", Types.PICKLED_BYTE_ARRAY())
        self.state = context.get_operator_state_store().get_list_state(descriptor)
        self.buffer += self.state

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.buffer)

    def process_element(self, value: Numbered, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self.buffer.append(value)
        ctx.timer_service().register_event_time_timer(END_OF_TIME)
        if len(self.buffer) >= BUFFERED:
            yield from self._all()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        yield from self._all()

    def _all(self) -> Iterable[Any]:
        for record in self.buffer:
            yield ("buffered", *record)
        self.buffer.clear()
