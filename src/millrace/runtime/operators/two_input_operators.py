"""Operators with two inputs: connected streams, broadcast state, and interval joins.

``ConnectedStreams.process`` gives two inputs to one function. With ``connect(stream.broadcast(...)).process`` one side
is broadcast and writes the state that the other side reads. ``KeyedStream.interval_join`` finds pairs of elements of
one key whose timestamps are near each other.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any, Generic, TypeVar

from millrace.common.functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
)
from millrace.common.output_tag import OutputTag
from millrace.common.state import MapStateDescriptor, StateDescriptor
from millrace.runtime.bases.batch_operators import ByKey, OneKeyAtATime
from millrace.runtime.bases.operator import Operator, OperatorContext, Output
from millrace.runtime.bases.process_operators import (
    ElementFunction,
    FunctionOperator,
    KeyedContext,
    KeyedProcessBase,
    KeyedTimerService,
    ProcessContext,
    ReadOnlyTimerService,
    Results,
    UnkeyedProcessBase,
    keyed_backend,
    run_without_key,
)
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.failure import OperatorError
from millrace.runtime.rows.time_buffer_rows import TimeBufferRows
from millrace.runtime.state.address import NoKey
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.operator_state import OperatorStateBackend

# Connected streams


class CoProcessOperator(UnkeyedProcessBase[CoProcessFunction]):
    """A CoProcessFunction on two streams without keys."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.run(chunk, self.function.process_element2 if input else self.function.process_element1)


class KeyedCoProcessOperator(KeyedProcessBase[KeyedCoProcessFunction]):
    """A KeyedCoProcessFunction: both inputs share the state of a key."""

    def process(self, chunk: Chunk, input: int) -> None:
        self.run(chunk, self.function.process_element2 if input else self.function.process_element1)


class BatchKeyedCoProcessOperator(OneKeyAtATime, KeyedCoProcessOperator):
    """``KeyedCoProcessOperator`` in batch mode: one key after the other."""

    def method_of(self, input: int) -> ElementFunction:
        return self.function.process_element2 if input else self.function.process_element1


# Broadcast state

F = TypeVar("F", bound=BaseBroadcastProcessFunction)
"""Type of the user function."""

BROADCAST_INPUT = 1
"""the input whose elements every subtask gets"""

NO_KEY = NoKey(
    "A broadcast element belongs to no key: keyed state can be read and written in process_element and on_timer, and "
    "for all keys with ctx.apply_to_keyed_state(descriptor, function)"
)


class _States:
    """Mixed into contexts: time, and the broadcast states that the program declared."""

    _timer_service: Any
    states: dict[str, Any]
    """name -> state, or a read-only view of it"""

    def current_processing_time(self) -> int:
        time: int = self._timer_service.current_processing_time()
        return time

    def current_watermark(self) -> int:
        watermark: int = self._timer_service.current_watermark()
        return watermark

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> Any:
        name = state_descriptor.get_name()
        if name not in self.states:
            raise ValueError(
                f"broadcast state {name!r} is not declared; declared are {', '.join(map(repr, self.states))}. Give "
                f"the descriptors of all states to broadcast()"
            )
        return self.states[name]


class UnkeyedBroadcastContext(_States, ProcessContext):
    """The context of both sides without keys; subclasses differ in what they may do with the states."""

    def __init__(self, timer_service: ReadOnlyTimerService, states: dict[str, Any]) -> None:
        super().__init__(timer_service)
        self.states = states


class KeyedReadOnlyContext(_States, KeyedContext):
    """The context of elements with a key, and of timers."""

    def __init__(self, timer_service: ReadOnlyTimerService, states: dict[str, Any], backend: KeyedStateBackend) -> None:
        super().__init__(timer_service, backend)
        self.states = states


class _NoTimers(ReadOnlyTimerService):
    refusal = "Timers belong to keys, and a broadcast element to none: set them in process_element or on_timer"


class KeyedBroadcastContext(UnkeyedBroadcastContext):
    """The context of broadcast elements beside a keyed stream."""

    def __init__(self, timer_service: ReadOnlyTimerService, states: dict[str, Any], backend: KeyedStateBackend) -> None:
        super().__init__(timer_service, states)
        self._backend = backend

    def get_current_key(self) -> Any:
        raise RuntimeError("A broadcast element belongs to no key: there is a current one in process_element only")

    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
        backend = self._backend
        state, table = backend.get_any(state_descriptor), backend.table(state_descriptor.get_name())
        try:
            for key in table.keys() if table is not None else ():
                backend.at = key
                function(key, state)
        finally:
            backend.at = NO_KEY


class BroadcastProcessBase(FunctionOperator[F], Generic[F]):
    """The base of both kinds of broadcast operators: the declared states, and which input is which."""

    def __init__(self, function: F, descriptors: tuple[MapStateDescriptor, ...]) -> None:
        super().__init__(function)
        self._descriptors = descriptors

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._operator_state = states = self._operator_state or OperatorStateBackend()
        self._writable = {d.get_name(): states.get_broadcast_state(d) for d in self._descriptors}
        self._readable = {name: states.read_only(name) for name in self._writable}


class BroadcastProcessOperator(BroadcastProcessBase[BroadcastProcessFunction[Any, Any, Any]]):
    """A BroadcastProcessFunction: the other side has no keys."""

    def open(self) -> None:
        super().open()
        timers = ReadOnlyTimerService(self)
        self._contexts = [UnkeyedBroadcastContext(timers, states) for states in (self._readable, self._writable)]

    def process(self, chunk: Chunk, input: int) -> None:
        broadcast = input == BROADCAST_INPUT
        function = self.function.process_broadcast_element if broadcast else self.function.process_element
        run_without_key(self, chunk, function, self._contexts[input])


class KeyedBroadcastProcessOperator(
    BroadcastProcessBase[KeyedBroadcastProcessFunction[Any, Any, Any, Any]],
    KeyedProcessBase[KeyedBroadcastProcessFunction[Any, Any, Any, Any]],
):
    """A KeyedBroadcastProcessFunction: the other side has keyed state and timers."""

    def open(self) -> None:
        super().open()
        self._ctx = KeyedReadOnlyContext(KeyedTimerService(self, self._backend), self._readable, self._backend)
        self._broadcast_context = KeyedBroadcastContext(_NoTimers(self), self._writable, self._backend)

    def process(self, chunk: Chunk, input: int) -> None:
        if input == BROADCAST_INPUT:
            self._backend.at = NO_KEY
            self._ctx.current_timestamp = None  # what expires by event time is seen as of the watermark
            run_without_key(self, chunk, self.function.process_broadcast_element, self._broadcast_context)
        else:
            self.run(chunk, self.function.process_element)


class BroadcastFirst(Operator):
    """Mixed into broadcast operators in batch mode: as in Flink, the other side waits until the broadcast side has
    ended.

    As a rule it has ended by then: its edge comes first, so nothing has to wait as long as an epoch's packets are in
    order.
    """

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._waiting: list[Chunk] | None = []

    def process(self, chunk: Chunk, input: int) -> None:
        if input != BROADCAST_INPUT and self._waiting is not None:
            self._waiting.append(chunk)
        else:
            super().process(chunk, input)

    def input_finished(self, input: int) -> None:
        super().input_finished(input)
        if input == BROADCAST_INPUT:
            self._release()

    def process_watermark(self, watermark: int) -> None:
        if watermark == MAX_WATERMARK:
            self._release()
        super().process_watermark(watermark)

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, None
        for chunk in waiting or ():
            super().process(chunk, 1 - BROADCAST_INPUT)

    def snapshot(self) -> Any:
        return (self._waiting,)

    def restore(self, snapshot: Any) -> None:
        (self._waiting,) = snapshot


class BatchBroadcastProcessOperator(BroadcastFirst, BroadcastProcessOperator):
    """``BroadcastProcessOperator`` in batch mode: the broadcast side comes first."""


class BatchKeyedBroadcastProcessOperator(BroadcastFirst, OneKeyAtATime, KeyedBroadcastProcessOperator):
    """``KeyedBroadcastProcessOperator`` in batch mode: the broadcast side comes first, then one key after the other."""

    def method_of(self, input: int) -> ElementFunction:
        return self.function.process_element


# Interval joins

LEFT_BUFFER, RIGHT_BUFFER = "LEFT_BUFFER", "RIGHT_BUFFER"
FLUSH_AT = 16_384
"""The number of results that are emitted before the whole chunk is joined: an element may join with any number of
others."""


class JoinContext(ProcessJoinFunction.Context):
    """The context of a join function; one object per operator, changed before each call."""

    __slots__ = ("left_timestamp", "right_timestamp")

    def __init__(self) -> None:
        self.left_timestamp = self.right_timestamp = 0

    def get_left_timestamp(self) -> int:
        return self.left_timestamp

    def get_right_timestamp(self) -> int:
        return self.right_timestamp

    def get_timestamp(self) -> int:
        return max(self.left_timestamp, self.right_timestamp)


class IntervalJoinOperator(FunctionOperator[ProcessJoinFunction]):
    """Joins elements with ``lower <= right timestamp - left timestamp <= upper`` (ms), if neither is late.

    An element is late if its timestamp is smaller than the watermark. Each side remembers an element as long as a
    partner could come that is not late. A result has the later timestamp of the two; that is the new element's or a
    later one, so results are never late and the watermark need not be held back.
    """

    def __init__(
        self,
        lower: int,
        upper: int,
        function: ProcessJoinFunction,
        left_late_tag: str | None = None,
        right_late_tag: str | None = None,
    ) -> None:
        super().__init__(function)
        self._lower, self._upper = lower, upper
        self._late_tags = (left_late_tag, right_late_tag)

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._ctx = JoinContext()
        self._backend = keyed_backend(self, self._ctx.get_timestamp)
        self._left = self._backend.use(LEFT_BUFFER, TimeBufferRows())
        self._right = self._backend.use(RIGHT_BUFFER, TimeBufferRows())

    def keyed_state(self) -> KeyedStateBackend:
        return self._backend

    def open(self) -> None:
        self._late = self.context.runtime.get_metrics_group().counter("numLateRecordsDropped")
        super().open()

    def process(self, chunk: Chunk, input: int) -> None:
        new = self._on_time(chunk, input)
        (self._right if input else self._left).add_all(*new)
        self._join(*new, input)

    def process_watermark(self, watermark: int) -> None:
        self._left.forget_before(watermark - self._upper)
        self._right.forget_before(watermark + self._lower)
        super().process_watermark(watermark)

    def end_slice(self) -> None:
        self._left.settle()
        self._right.settle()

    def _join(self, keys: list[Any], times: list[int], values: list[Any], input: int) -> None:
        """Call the function for all pairs of new elements with elements of the other side."""
        bounds = (-self._upper, -self._lower) if input else (self._lower, self._upper)
        others = self._left if input else self._right
        ctx, backend, process, found = self._ctx, self._backend, self.function.process_element, Results()
        left = right = None
        try:
            for owners, other_times, other_values in others.near(keys, times, *bounds, FLUSH_AT):
                own_keys, own_times, own_values = (map(each.__getitem__, owners) for each in (keys, times, values))
                lefts, rights = (other_values, own_values) if input else (own_values, other_values)
                left_times, right_times = (other_times, own_times) if input else (own_times, other_times)
                for backend.at, left, right, left_time, right_time in zip(
                    own_keys, lefts, rights, left_times, right_times
                ):
                    ctx.left_timestamp, ctx.right_timestamp = left_time, right_time
                    results = process(left, right, ctx)
                    if results is not None:
                        later = left_time if left_time > right_time else right_time
                        for result in results:
                            if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                                found.gather((result,), later)
                            else:
                                found.values.append(result)
                                found.timestamps.append(later)
                    if len(found.values) >= FLUSH_AT:
                        found.emit(self, True)
                        found = Results()
        except Exception as error:
            raise self.context.error(error, (left, right)) from error
        found.emit(self, True)

    def _on_time(self, chunk: Chunk, input: int) -> tuple[list[Any], list[int], list[Any]]:
        """Keys, timestamps and values of the elements that are not late. Raises an error for an element without a
        timestamp."""
        if chunk.timestamps is None or None in chunk.timestamps:
            raise self._without_timestamp(chunk)
        times: list[int] = chunk.timestamps  # type: ignore[assignment]
        keys, values, watermark = chunk.keys or [], chunk.values, self.watermark
        if min(times, default=watermark) >= watermark:
            return keys, times, values
        late = [time < watermark for time in times]
        tag = self._late_tags[input]
        if tag is None:
            self._late.inc(sum(late))
        else:
            self.emit_side(tag, list(compress(values, late)), list(compress(times, late)))
        on_time = [not flag for flag in late]
        return list(compress(keys, on_time)), list(compress(times, on_time)), list(compress(values, on_time))

    def _without_timestamp(self, chunk: Chunk) -> OperatorError:
        times = chunk.timestamps or [None]
        cause = ValueError(
            "an interval join needs elements with timestamps; call assign_timestamps_and_watermarks() before key_by()"
        )
        return self.context.error(cause, chunk.values[times.index(None)])


class BatchIntervalJoinOperator(ByKey, IntervalJoinOperator):
    """``IntervalJoinOperator`` in batch mode: no element is late, and a key's state is deleted after its last
    element.
    """

    def end_keys(self) -> None:
        self._backend.wipe()
