"""The contract of an operator, and the context that a task gives it.

``KeyGroupTimes`` holds the event time of keys whose old subtask was further than the subtask that has them now.
Subtasks of one operator stand at different watermarks while packets wait at the gates of some. After a change of the
parallelism, a subtask gets keys of several old subtasks and starts at the lowest of their watermarks, so that waiting
elements are not late. For keys that were further it uses these times: their windows have fired, and elements of those
windows are late.

``named_frame`` gives a stack frame the name of the operator that runs in it. A stack dump of a process whose
interpreter is blocked shows function names and nothing else, so the operator's name has to be one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import length_hint
from types import FunctionType
from typing import Any, NamedTuple, Protocol

from millrace.common.coercion import TypeMismatchError, coercer
from millrace.common.typeinfo import TypeInformation
from millrace.runtime.bases.epoch_protocol import SourceOrder, SourceReport
from millrace.runtime.bases.runtime_context import OperatorRuntimeContext
from millrace.runtime.clocks import steady_of
from millrace.runtime.elements import MAX_WATERMARK, MIN_TIMESTAMP, Chunk, Midst, Status
from millrace.runtime.exchange.keys import group_range, key_group
from millrace.runtime.exchange.partitioners import Partitioner, places_of_keys
from millrace.runtime.failure import Failure, OperatorError, describe, full_traceback, is_final, shorten, user_location
from millrace.runtime.state.restoring.saved import EarlierState, KeyedPieces

# Event time by key group after a change of the parallelism

Times = tuple[int, ...]
"""key group -> event time of its keys (ms)"""
EventTimeOf = Callable[[Any], int]
"""key -> its event time (ms)"""


class KeyGroupTimes:
    """Event times by key group of one subtask, needed as long as its watermark is behind the event time of some keys.

    :param watermark: the watermark that holds for all keys (ms).
    """

    def __init__(self, times: Times, watermark: int) -> None:
        self.times = times
        self._furthest = max(times, default=MIN_TIMESTAMP)
        self.watermark = watermark

    @property
    def is_over(self) -> bool:
        """Whether no key is ahead of the watermark any more."""
        return self._furthest <= self.watermark

    def of_key(self, key: Any) -> int:
        """The event time of a key (ms)."""
        return self.times[key_group(key, len(self.times))]

    def parts(self, chunk: Chunk, partitioner: Partitioner | None) -> Iterator[tuple[int, Chunk]]:
        """(watermark in ms, the elements that see this watermark); the elements of one key stay in order.

        :param partitioner: the partitioner that distributed the elements.
        """
        groups = None if partitioner is None else partitioner.groups(chunk)
        if groups is None and chunk.keys is not None:  # from an operator of the same task
            groups = places_of_keys(chunk, len(self.times), len(self.times))
        if groups is None:
            yield self.watermark, chunk
            return
        for group, part in groups:
            yield max(self.watermark, self.times[group]), part


def event_time_of(times: Times | None, watermark: int) -> EventTimeOf:
    """A function that gives the event time of a key (ms).

    :param times: None: the event time of all keys is the watermark.
    """
    if times is None:
        return lambda key: watermark
    return KeyGroupTimes(times, watermark).of_key


def times_of_groups(watermarks: Sequence[int], ahead: Sequence[Times | None], max_parallelism: int) -> Times:
    """The event time of each key group (ms).

    :param watermarks: watermarks (ms) of all earlier subtasks.
    :param ahead: the event times by key group that each earlier subtask had itself, if any.
    """
    times: list[int] = []
    for subtask, (watermark, known) in enumerate(zip(watermarks, ahead)):
        for group in group_range(subtask, max_parallelism, len(watermarks)):
            if watermark == MAX_WATERMARK:
                times.append(MIN_TIMESTAMP)  # what had ended begins again
            else:
                times.append(watermark if known is None else max(watermark, known[group]))
    return tuple(times)


# Frames of the stack that are named like their operator


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def named_frame(name: str) -> Callable[..., Any]:
    """Calls a function with its arguments, in a frame of this name.

    >>> named_frame("operator 'Calc', made at job.py:3")(max, 1, 2)
    2
    """
    code = _called.__code__.replace(co_name=name)
    return FunctionType(code, _called.__globals__, name)


# The contract

NO_ELEMENT = object()


class Output(Protocol):
    """Where an operator's results go."""

    def emit(self, chunk: Chunk) -> None: ...

    def emit_side(self, tag: str, chunk: Chunk) -> None: ...

    def mark(self, mark: int | Status) -> None:
        """Send a watermark (ms) or a status change to all outputs."""


class OperatorContext:
    """What one operator's subtask has around it: its name, its types, its clock, its runtime context for user
    functions."""

    def __init__(
        self,
        runtime: OperatorRuntimeContext,
        name: str,
        origin: str,
        output_type: TypeInformation | None,
        side_types: dict[str, TypeInformation | None],
        clock: Callable[[], int],
        midst: Midst | None = None,
    ) -> None:
        self.runtime = runtime
        self.name = name
        self.origin = origin
        self.output_type = output_type
        self.side_types = side_types
        self.clock = clock
        """processing time in ms since the epoch"""
        self.steady = steady_of(clock)
        """monotonic clock (ms) for measuring durations; unlike ``clock`` it is never set"""
        self.midst = Midst() if midst is None else midst
        """true while the task works on a piece of a batch of which more pieces follow; one object per task"""

    def error(self, cause: BaseException, element: Any = NO_ELEMENT, during: str = "", step: str = "") -> OperatorError:
        """The error to raise when the user's code failed. An error that has the place in its message already passes
        unchanged."""
        if isinstance(cause, OperatorError):
            return cause
        return OperatorError(
            Failure(
                operator=self.name,
                subtask=self.runtime.get_index_of_this_subtask(),
                origin=self.origin,
                cause=describe(cause) + ("" if during else _advice(cause)),
                element=None if element is NO_ELEMENT else shorten(element),
                location=user_location(cause),
                detail=full_traceback(cause),
                during=during,
                step=step,
                final=is_final(cause),
            )
        )


class Operator:
    """One physical operator in one subtask.

    The life of an operator: ``setup``, restored state, ``open``, then in each epoch chunks, watermarks and
    ``end_epoch``, and finally ``close``. Subclasses override the methods that they need.
    """

    idle = False
    """whether all inputs are idle"""
    calls_for_each = True
    """whether it calls something for each element: a function of the user, another system"""
    first_at_once = 1
    """number of elements in the first piece, for operators with ``calls_for_each``"""
    most_at_once: int | None = None
    """the most elements in one piece; None: as many as the operator processes in some ms"""
    has_calls_in_flight = False
    """whether processing of an element may end after ``process`` has returned, but before the epoch ends"""
    ahead: KeyGroupTimes | None = None
    """set while event time was further for some keys than the watermark is, in the subtasks that had them before"""

    def setup(self, context: OperatorContext, output: Output) -> None:
        self.context = context
        self.output = output
        self.watermark = -(2**63)
        self._coerce = coercer(context.output_type) if context.output_type is not None else None
        self._coerce_side = {
            tag: coercer(side_type) for tag, side_type in context.side_types.items() if side_type is not None
        }

    def open(self) -> None:
        """Prepare the user's function; state can be read from here on."""

    def process(self, chunk: Chunk, input: int) -> None:
        """Elements of one channel of an input (0 or 1), in order."""
        raise NotImplementedError

    def calls_ahead(self, elements: int) -> tuple[int, int]:
        """Estimate for an operator with calls in flight: how long (ms) this many further elements would wait for a free
        call, and how long their calls take (ms)."""
        return 0, 0

    def in_flight(self) -> int:
        """Number of elements that were processed and whose results have not been emitted yet."""
        return 0

    def fitting(self, elements: int) -> int:
        """How many of this many elements the operator can take without waiting for a call to end."""
        return elements

    def process_watermark(self, watermark: int) -> None:
        """The combined watermark of all inputs advanced (ms)."""
        self.watermark = watermark
        self.output.mark(watermark)

    def process_status(self, status: Status) -> None:
        """All inputs became idle, or one became active again."""
        self.output.mark(status)

    def advance_processing_time(self, now: int) -> None:
        """The clock has advanced to ``now`` (ms): fire what is due."""

    def next_due(self) -> int | None:
        """When ``advance_processing_time`` will have something to fire (ms); None: never. Operators that only clean up
        by the clock return None: the next epoch is early enough for that."""
        return None

    least_slice = 0
    """how long slices are at least (ms), unless their epoch ends"""

    def end_slice(self) -> None:
        """A slice of the epoch has arrived: emit results that were held back to emit them together, and whatever else
        is ready. Must not wait."""

    def tick(self, now: int) -> None:
        """The clock says ``now`` (ms), and all elements that arrived by then were processed: report whether the stream
        is idle, and do periodic work. Must not wait."""

    def wake(self) -> None:
        """Another thread of the operator has results ready: emit them. Must not wait."""

    def end_epoch(self) -> None:
        """All elements of this epoch have arrived, and its last slice is over: wait until nothing is in flight."""

    def input_finished(self, input: int) -> None:
        """All elements of one input have arrived, after its MAX_WATERMARK."""

    def end_input(self) -> None:
        """All elements of the job have arrived, after MAX_WATERMARK."""

    def kept(self) -> int:
        """Number of elements that the operator holds and has not emitted. Called by another thread, so it may be
        inexact."""
        return 0

    def keyed_state(self) -> Any:
        """The ``KeyedStateBackend``, None for an operator without."""
        return None

    def operator_state(self) -> Any:
        """The ``OperatorStateBackend``, None for an operator without."""
        return None

    def before_snapshot(self, checkpoint_id: int) -> None:
        """Called when the epoch is over and before the state is taken: move into the state what belongs there."""

    def snapshot(self) -> Any:
        """The operator's own small state (picklable) besides keyed and operator state; None: it has none."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Restore a ``snapshot`` of this same subtask."""

    def take_over(self, earlier: EarlierState) -> None:
        """Start from the state of earlier subtasks, whose number may differ from today's. The keyed state follows when
        the operator is open.

        :raises ValueError: the state does not fit this operator.
        """
        self.watermark = earlier.watermark
        shared = self.operator_state()
        if earlier.shared:
            if shared is None:
                raise ValueError(
                    f"there is operator state for it ({', '.join(earlier.shared)}), but its function is no "
                    f"CheckpointedFunction now: make it one, or change its uid"
                )
            shared.take_over(earlier.shared, earlier.adapt, earlier.may_drop)
        elif shared is not None:
            shared.restored = True
        self.take_over_small(earlier.smalls)

    def take_over_keyed(self, pieces: KeyedPieces) -> None:
        """Start from this keyed state.

        :raises ValueError: the state does not fit this operator.
        """
        keyed = self.keyed_state()
        for piece in filter(None, pieces):
            if keyed is None:
                raise ValueError(
                    "there is keyed state for it, but it is not keyed now: key_by() its input, or change its uid"
                )
            keyed.apply(piece)

    def take_over_small(self, smalls: Sequence[Any]) -> None:
        """Start from the ``snapshot`` values of all earlier subtasks."""

    def close(self) -> None:
        """Release resources, after success and after failure."""

    def emit(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Results to the main output, checked against the declared type."""
        if not values:
            return
        if self._coerce is not None:
            try:
                values = self._coerce(values)
            except TypeMismatchError as error:
                raise self._mismatch(error, values, self.context.output_type) from error
        self.output.emit(Chunk(values, timestamps))

    def emit_side(self, tag: str, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Results to a side output, checked against the tag's type."""
        coerce = self._coerce_side.get(tag)
        if coerce is not None:
            try:
                values = coerce(values)
            except TypeMismatchError as error:
                raise self._mismatch(error, values, self.context.side_types[tag]) from error
        self.output.emit_side(tag, Chunk(values, timestamps))

    def _mismatch(self, error: TypeMismatchError, values: list[Any], declared: Any) -> OperatorError:
        wrong = values[error.index] if error.index is not None else error.value
        whole = "" if error.path == "" else f" of {declared}"
        return self.context.error(error, wrong, " to give a result its declared type" + whole)


class ReadingLimits(NamedTuple):
    """How much a source may read in an epoch."""

    records: int | None = None
    """the most elements, None for no limit"""
    millis: int | None = None
    """the longest time (ms), None for no limit"""
    at_first_piece: bool = False
    """whether ``millis`` counts from the first batch of records on: a new reader has to import and connect first"""
    over: Callable[[], bool] = bool
    """returns True when the source must begin nothing more, for a reason other than the limits"""
    paced: int | None = None
    """the most elements that the later stages can process; unlike ``records`` it also cuts batches of rows"""
    room: Callable[[int], int] | None = None
    """given a number of elements, returns how many of them there is room for now; None: room for all"""
    stays: bool = False
    """whether the epoch continues when there is nothing to read; the source is then asked again"""


def least(one: int | None, other: int | None) -> int | None:
    """The lower of two limits; None means no limit."""
    return other if one is None else one if other is None else min(one, other)


class ReadingOperator(Operator):
    """An operator that reads on the driver's orders: a source, or the head of a loop."""

    def read(self, order: SourceOrder, epoch: int, limits: ReadingLimits) -> Iterator[None]:
        """Read this epoch's share. Each ``yield`` lets the task pass on the results so far."""
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        """Whether this reader will never produce an element again."""
        raise NotImplementedError

    on_available: Callable[[], None] | None = None
    """called in any thread when there is something to read again; to be set before the first ``read``"""
    pause_ms = 0.0
    """how long new input may wait (ms) before ``on_available`` is called, so that more input comes together with it"""
    is_woken = False
    """whether ``on_available`` is called; if not, the reader has to be polled"""

    @property
    def is_dry(self) -> bool:
        """Whether the last ``read`` found nothing to read."""
        return False

    @property
    def holds_back(self) -> bool:
        """Whether other subtasks of the alignment group wait for this one: False if it is idle or has nothing to
        read.
        """
        return True

    def align(self, limit: int) -> bool:
        """Stop reading splits that are ahead of this watermark (ms), within an epoch; whether all splits are."""
        return False

    @property
    def needs_driver(self) -> bool:
        """Whether the reader can continue only after the driver has got its report."""
        return False

    def report(self) -> SourceReport:
        """The report that the driver needs for the next epoch."""
        raise NotImplementedError


def _advice(cause: BaseException) -> str:
    """Advice that Python's bare error message lacks."""
    text = str(cause)
    if not isinstance(cause, TypeError):
        return ""
    if text.startswith("int() argument") and "datetime" in text:
        return "; times are int, in milliseconds: int(t.timestamp() * 1000)"
    if user_location(cause) is not None:
        return ""
    if text.endswith("object is not iterable"):  # it was what the function returned that Millrace could not loop over
        return "; the function must return an iterable or None, or yield its results"
    called = text.partition("(")[0].rpartition("<locals>.")[2]
    if "positional argument" in text and "." not in called:  # a function, no method
        return "; map(), filter() and flat_map() call their function with the element, reduce() with two"
    return ""


def failing(values: list[Any], remaining: Iterator[Any]) -> Any:
    """The element that a loop over ``remaining = iter(values)`` failed on."""
    return values[len(values) - length_hint(remaining) - 1]
