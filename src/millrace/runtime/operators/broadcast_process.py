"""``connect(stream.broadcast(...)).process``: one side is broadcast and writes the state that the other side reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from millrace.common.functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from millrace.common.state import MapStateDescriptor, StateDescriptor
from millrace.runtime.bases.by_key import OneKeyAtATime
from millrace.runtime.bases.function import FunctionOperator
from millrace.runtime.bases.process_base import (
    ElementFunction,
    KeyedContext,
    KeyedProcessBase,
    KeyedTimerService,
    ProcessContext,
    ReadOnlyTimerService,
    run_without_key,
)
from millrace.runtime.elements import MAX_WATERMARK, Chunk
from millrace.runtime.state.address import NoKey
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.operator_state import OperatorStateBackend

F = TypeVar("F", bound=BaseBroadcastProcessFunction)
"""Type of the user function."""

BROADCAST_INPUT = 1
"""the input whose elements every subtask gets"""

NO_KEY = NoKey(
    "A broadcast element belongs to no key: keyed state can be read and written in process_element and on_timer, and "
    "for all keys with ctx.apply_to_keyed_state(descriptor, function)"
)


class _States:
    """Mixed into contexts: times, and those broadcast states that the program declared."""

    _timer_service: Any
    states: dict[str, Any]
    """name -> state, or view of it for reading"""

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
    """The context of both sides without a key; they differ in what they may do with the states."""

    def __init__(self, timer_service: ReadOnlyTimerService, states: dict[str, Any]) -> None:
        super().__init__(timer_service)
        self.states = states


class KeyedReadOnlyContext(_States, KeyedContext):
    """The context of elements with a key, and of timers."""

    def __init__(
        self, timer_service: ReadOnlyTimerService, states: dict[str, Any], backend: KeyedStateBackend
    ) -> None:
        super().__init__(timer_service, backend)
        self.states = states


class _NoTimers(ReadOnlyTimerService):
    refusal = "Timers belong to keys, and a broadcast element to none: set them in process_element or on_timer"


class KeyedBroadcastContext(UnkeyedBroadcastContext):
    """The context of broadcast elements beside a keyed stream."""

    def __init__(
        self, timer_service: ReadOnlyTimerService, states: dict[str, Any], backend: KeyedStateBackend
    ) -> None:
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
    """What the operators of both kinds of function share: the declared states, and which input is which."""

    def __init__(self, function: F, descriptors: tuple[MapStateDescriptor, ...]) -> None:
        super().__init__(function)
        self._descriptors = descriptors

    def setup(self, context: Any, output: Any) -> None:
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


class BroadcastFirst:
    """Mixed into the operators of batch mode: as in Flink the other side waits until the broadcast side has ended.

    As a rule it has by then: its edge comes first, so nothing has to wait as long as an epoch's packets are in order.
    """

    def setup(self: Any, context: Any, output: Any) -> None:
        super().setup(context, output)  # type: ignore[misc]
        self._waiting: list[Chunk] | None = []

    def process(self: Any, chunk: Chunk, input: int) -> None:
        if input != BROADCAST_INPUT and self._waiting is not None:
            self._waiting.append(chunk)
        else:
            super().process(chunk, input)  # type: ignore[misc]

    def input_finished(self: Any, input: int) -> None:
        super().input_finished(input)  # type: ignore[misc]
        if input == BROADCAST_INPUT:
            self._release()

    def process_watermark(self: Any, watermark: int) -> None:
        if watermark == MAX_WATERMARK:
            self._release()
        super().process_watermark(watermark)  # type: ignore[misc]

    def _release(self: Any) -> None:
        waiting, self._waiting = self._waiting, None
        for chunk in waiting or ():
            super().process(chunk, 1 - BROADCAST_INPUT)  # type: ignore[misc]

    def snapshot(self: Any) -> Any:
        return (self._waiting,)

    def restore(self: Any, snapshot: Any) -> None:
        (self._waiting,) = snapshot


class BatchBroadcastProcessOperator(BroadcastFirst, BroadcastProcessOperator):
    """The same in batch mode."""


class BatchKeyedBroadcastProcessOperator(BroadcastFirst, OneKeyAtATime, KeyedBroadcastProcessOperator):
    """The same in batch mode."""

    def method_of(self, input: int) -> ElementFunction:
        return self.function.process_element
