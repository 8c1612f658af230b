"""Base classes of operators around one user function: the function's life, its state, timers and contexts.

The process operators run the user's generator and sort what it yields into elements of the main and the side outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, Generic, TypeVar

from millrace.common.functions import (
    CheckpointedFunction,
    Function,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    RuntimeContext,
)
from millrace.common.functions.process_functions import TimeDomain, TimerService
from millrace.common.output_tag import OutputTag
from millrace.metrics.metricbase import MetricGroup
from millrace.runtime.bases.operator import Operator, OperatorContext, Output, failing
from millrace.runtime.elements import Chunk
from millrace.runtime.state.address import NoKey, key_of
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.operator_state import OperatorStateBackend
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.timers import TimerQueue

# Contexts of user functions


class OfOperator:
    """Mixed into contexts: the clock, the watermark, the metrics, by the names that they have in Flink's contexts."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._operator.context.clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    get_current_processing_time = current_processing_time
    get_current_watermark = current_watermark

    def get_runtime_context(self) -> RuntimeContext:
        return self._operator.context.runtime

    def get_metric_group(self) -> MetricGroup:
        return self._operator.context.runtime.get_metrics_group()


class OfElement(OfOperator):
    """Mixed into contexts of sinks, in which the operator writes the timestamp before each element."""

    current_timestamp: int | None = None

    def timestamp(self) -> int | None:
        return self.current_timestamp


# Keyed state


def no_timestamp() -> None:
    """Timestamp of an operator whose function is not called for single elements: the watermark is the event time."""


def keyed_backend(operator: Operator, timestamp: Callable[[], int | None] = no_timestamp) -> KeyedStateBackend:
    """Keyed state for the operator and its function. To be called in ``setup``.

    :param timestamp: gives the event time (ms) of the current element or event-time timer, None if it has none.
    """
    time = StateTime(operator.context.clock, lambda: operator.watermark, timestamp)
    runtime = operator.context.runtime
    backend = runtime.keyed = runtime.new_keyed_state(time)
    return backend


# The life of a user function

F = TypeVar("F", bound=Function)
"""Type of the user function."""


NO_KEY = NoKey("There is no element at hand, so no key: keyed state can be read and written once there is one")


class FunctionOperator(Operator, Generic[F]):
    """Opens and closes ``function`` with the operator."""

    def __init__(self, function: F) -> None:
        self.function = function
        self._opened = False
        self._operator_state: OperatorStateBackend | None = None

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        if checkpointed(self.function) is not None:
            self._operator_state = OperatorStateBackend()

    def operator_state(self) -> OperatorStateBackend | None:
        return self._operator_state

    def open(self) -> None:
        self._initialize()
        if self.context.runtime.keyed is not None:
            self.context.runtime.keyed.at = NO_KEY
        try:
            self.call(self.function.open, self.context.runtime)
        except Exception as error:
            raise self.context.error(error, during=" in open()") from error
        self._opened = True

    def _initialize(self) -> None:
        function, state, keyed = checkpointed(self.function), self._operator_state, self.context.runtime.keyed
        if function is None or state is None:
            return
        if keyed is not None:
            keyed.at = NO_KEY
        try:
            checkpoint = self.context.runtime.restored_checkpoint
            function.initialize_state(FunctionInitializationContext(state.restored, state, keyed, checkpoint))
        except Exception as error:
            raise self.context.error(error, during=" in initialize_state()") from error

    def before_snapshot(self, checkpoint_id: int) -> None:
        function, keyed = checkpointed(self.function), self.context.runtime.keyed
        if function is None or not self._opened:
            return
        if keyed is not None:
            keyed.at = NO_KEY
        try:
            function.snapshot_state(FunctionSnapshotContext(checkpoint_id, self.context.clock()))
        except Exception as error:
            raise self.context.error(error, during=" in snapshot_state()") from error

    def close(self) -> None:
        if not self._opened:
            return
        self._opened = False
        try:
            self.call(self.function.close)
        except Exception as error:
            raise self.context.error(error, during=" in close()") from error

    def call(self, method: Callable[..., Any], *args: Any) -> None:
        """Run ``open`` or ``close`` of the function."""
        method(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name(self.function)})"


def checkpointed(function: Any) -> CheckpointedFunction | None:
    """The user's CheckpointedFunction, also behind the adapters that Millrace wraps functions in; None if it is
    none.
    """
    while not isinstance(function, CheckpointedFunction):
        if not type(function).__module__.startswith("millrace."):
            return None
        function = getattr(function, "function", None) or getattr(function, "func", None)
    return function


def _name(function: Any) -> str:
    return type(function).__name__


# Process operators

_NOTHING: tuple[()] = ()


class ProcessContext:
    """The context of process functions; one object per operator, changed before each call."""

    def __init__(self, timer_service: TimerService) -> None:
        self.current_timestamp: int | None = None
        self._timer_service = timer_service

    def timer_service(self) -> TimerService:
        return self._timer_service

    def timestamp(self) -> int | None:
        return self.current_timestamp


class KeyedContext(ProcessContext):
    """The context of keyed process functions, also while a timer fires."""

    def __init__(self, timer_service: TimerService, backend: KeyedStateBackend) -> None:
        super().__init__(timer_service)
        self._backend = backend
        self.domain: TimeDomain | None = None

    def get_current_key(self) -> Any:
        return key_of(self._backend.at)

    def time_domain(self) -> TimeDomain:
        if self.domain is None:
            raise RuntimeError("time_domain() can only be asked in on_timer")
        return self.domain


class ReadOnlyTimerService(OfOperator, TimerService):
    """A timer service that can tell the time but not set timers, since there is no key."""

    refusal = "Setting timers is only supported on a keyed stream: call key_by() before process()"

    def _refuse(self, timestamp: int) -> None:
        raise RuntimeError(self.refusal)

    register_processing_time_timer = _refuse
    register_event_time_timer = _refuse
    delete_processing_time_timer = _refuse
    delete_event_time_timer = _refuse


class KeyedTimerService(ReadOnlyTimerService):
    """Timers of the current key."""

    def __init__(self, operator: Operator, backend: KeyedStateBackend) -> None:
        super().__init__(operator)
        self._backend = backend
        self._register = backend.event_timers.register

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._backend.processing_timers.register(int(timestamp), self._backend.at)

    def register_event_time_timer(self, timestamp: int) -> None:
        self._register(timestamp if timestamp.__class__ is int else int(timestamp), self._backend.at)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._backend.processing_timers.delete(int(timestamp), self._backend.at)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._backend.event_timers.delete(int(timestamp), self._backend.at)


class Results:
    """The results of the user's function during one chunk or one round of timers."""

    __slots__ = ("sides", "timestamps", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.timestamps: list[int | None] = []
        self.sides: dict[str, tuple[list[Any], list[int | None]]] = {}

    def gather(self, results: Iterable[Any], timestamp: int | None) -> None:
        """Take the results of one call; ``(OutputTag, value)`` goes to the side output of that tag."""
        for result in results:
            if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                self.add_side(result[0].tag_id, result[1], timestamp)
            else:
                self.values.append(result)
                self.timestamps.append(timestamp)

    def add_side(self, tag: str, value: Any, timestamp: int | None) -> None:
        values, timestamps = self.sides.setdefault(tag, ([], []))
        values.append(value)
        timestamps.append(timestamp)

    def emit(self, operator: Operator, with_timestamps: bool) -> None:
        for tag, (values, timestamps) in self.sides.items():
            operator.emit_side(tag, values, timestamps if with_timestamps else None)
        operator.emit(self.values, self.timestamps if with_timestamps else None)


ElementFunction = Callable[[Any, Any], Iterable[Any] | None]


def run_without_key(operator: Operator, chunk: Chunk, function: ElementFunction, ctx: ProcessContext) -> None:
    """Call the user's method for every element of a chunk, and emit what it yields."""
    found = Results()
    gather = found.gather
    remaining = iter(chunk.values)
    try:
        for timestamp, value in zip(chunk.timestamps or repeat(None), remaining):
            ctx.current_timestamp = timestamp
            results = function(value, ctx)
            if results is not None:
                gather(results, timestamp)
    except Exception as error:
        raise operator.context.error(error, failing(chunk.values, remaining)) from error
    found.emit(operator, chunk.timestamps is not None)


class UnkeyedProcessBase(FunctionOperator[F], Generic[F]):
    """Runs a process function on a stream without keys."""

    def open(self) -> None:
        self._ctx = ProcessContext(ReadOnlyTimerService(self))
        super().open()

    def run(self, chunk: Chunk, function: ElementFunction) -> None:
        run_without_key(self, chunk, function, self._ctx)


class KeyedProcessBase(FunctionOperator[F], Generic[F]):
    """Runs a process function with keyed state and timers."""

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._backend = keyed_backend(self, self.event_timestamp)

    def keyed_state(self) -> KeyedStateBackend:
        return self._backend

    def event_timestamp(self) -> int | None:
        """The event time (ms) of the current element or timer, None if it has none; time to live may go by it."""
        ctx = self._ctx
        return None if ctx.domain is TimeDomain.PROCESSING_TIME else ctx.current_timestamp

    def open(self) -> None:
        self._ctx = KeyedContext(KeyedTimerService(self, self._backend), self._backend)
        super().open()

    def run(self, chunk: Chunk, function: ElementFunction) -> None:
        ctx, backend, found = self._ctx, self._backend, Results()
        add, stamp, gather = found.values.append, found.timestamps.append, found.gather
        remaining = iter(chunk.values)
        try:
            for key, timestamp, value in zip(chunk.keys or (), chunk.timestamps or repeat(None), remaining):
                backend.at = key
                ctx.current_timestamp = timestamp
                results = function(value, ctx)
                if results is not None:
                    for result in results:
                        if result.__class__ is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
                            gather((result,), timestamp)
                        else:
                            add(result)
                            stamp(timestamp)
        except Exception as error:
            raise self.context.error(error, failing(chunk.values, remaining)) from error
        found.emit(self, chunk.timestamps is not None)

    def process_watermark(self, watermark: int) -> None:
        time = self._backend.time
        time.firing_since, self.watermark = self.watermark, watermark
        self.fire_until(watermark)
        time.firing_since = None
        self.output.mark(watermark)

    def fire_until(self, watermark: int) -> None:
        """Fire the event-time timers that are due."""
        self.fire(self._backend.event_timers, watermark, TimeDomain.EVENT_TIME)

    def advance_processing_time(self, now: int) -> None:
        self.fire(self._backend.processing_timers, now, TimeDomain.PROCESSING_TIME)

    def next_due(self) -> int | None:
        return self._backend.processing_timers.next_time()

    def end_input(self) -> None:
        # As in Flink: nothing fires after the end, though other sources may keep the job running.
        self._backend.processing_timers.clear()

    def fire(self, timers: TimerQueue, time: int, domain: TimeDomain) -> None:
        """Call on_timer for every timer that is due at ``time`` (ms), including timers set by these calls."""
        found = Results()
        if self.call_due(timers, time, domain, found):
            found.emit(self, domain is TimeDomain.EVENT_TIME)

    def call_due(self, timers: TimerQueue, time: int, domain: TimeDomain, found: Results) -> bool:
        """As ``fire``, but leaves the results in ``found``; returns whether any timer was due."""
        timer = timers.pop_due(time)
        if timer is None:
            return False
        ctx, backend, pop, gather = self._ctx, self._backend, timers.pop_due, found.gather
        with_time = domain is TimeDomain.EVENT_TIME
        ctx.domain = domain
        on_timer = getattr(self.function, "on_timer")  # noqa: B009  F is any keyed process function
        while timer is not None:
            timestamp, backend.at = timer
            ctx.current_timestamp = timestamp
            try:
                results = on_timer(timestamp, ctx)
                if results is not None and results is not _NOTHING:
                    # Flink removes the timestamp from elements that a processing-time timer emits; here event times
                    # stay separate.
                    gather(results, timestamp if with_time else None)
            except Exception as error:
                during = f" in on_timer({timestamp}) of key {ctx.get_current_key()!r}"
                raise self.context.error(error, during=during) from error
            timer = pop(time)
        ctx.domain = None
        return True
