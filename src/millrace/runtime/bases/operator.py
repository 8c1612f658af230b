"""The contract of an operator, and the surroundings that a task gives it.

``KeyGroupTimes`` says how far event time was for keys whose subtask was further than the one they are in now. Subtasks
of one operator stand at different watermarks while something waits at the gates of some. After a change of the
parallelism a subtask has keys of several of them: it begins at the lowest of their watermarks, so what waits is in
time, and goes by these times for the keys that were further. Their windows have fired, and what comes for these is
late.

``named_frame`` gives a stack frame the name of the operator that runs in it: what writes the stacks of a process whose
interpreter is held knows names of functions and nothing else.
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
"""key group -> how far event time was for its keys (ms)"""
EventTimeOf = Callable[[Any], int]
"""key -> how far event time was for it (ms)"""


class KeyGroupTimes:
    """Of one subtask, as long as its watermark is behind that of some keys.

    :param watermark: how far it is for all keys (ms).
    """

    def __init__(self, times: Times, watermark: int) -> None:
        self.times = times
        self._furthest = max(times, default=MIN_TIMESTAMP)
        self.watermark = watermark

    @property
    def is_over(self) -> bool:
        """Whether no key is further than the others any more."""
        return self._furthest <= self.watermark

    def of_key(self, key: Any) -> int:
        """How far event time was for a key (ms)."""
        return self.times[key_group(key, len(self.times))]

    def parts(self, chunk: Chunk, partitioner: Partitioner | None) -> Iterator[tuple[int, Chunk]]:
        """(watermark, the elements that come at it), those of one key in order.

        :param partitioner: how the elements were spread.
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
    """How far event time was for a key (ms).

    :param times: None: it was as far as the watermark for all.
    """
    if times is None:
        return lambda key: watermark
    return KeyGroupTimes(times, watermark).of_key


def times_of_groups(watermarks: Sequence[int], ahead: Sequence[Times | None], max_parallelism: int) -> Times:
    """How far event time was for each key group.

    :param watermarks: of all earlier subtasks.
    :param ahead: what each of them knew of its keys itself.
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
        """Hand on a watermark (ms) or a status change, to all outputs."""


class OperatorContext:
    """One operator's subtask: who it is, its clock, its runtime context for user functions."""

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
        """as ``clock``, to measure with: it is never set"""
        self.midst = Midst() if midst is None else midst
        """of the task"""

    def error(self, cause: BaseException, element: Any = NO_ELEMENT, during: str = "", step: str = "") -> OperatorError:
        """What to raise when the user's code failed; an error that says it all already passes through."""
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

    The life of an operator: ``setup``, restored state, ``open``, then per epoch chunks, watermarks and
    ``end_epoch``, at last ``close``. Subclasses override what they need.
    """

    idle = False
    """whether all inputs are idle"""
    calls_for_each = True
    """whether it calls something for each element: a function of the user, another system"""
    first_at_once = 1
    """elements of its first piece, if it calls something for each"""
    most_at_once: int | None = None
    """elements that it takes at once; None: as many as take it some ms"""
    has_calls_in_flight = False
    """whether elements are done only some time after they were processed, at the latest when their epoch ends"""
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
        """About how long so many more elements would wait for a call, and how long that takes (ms): of one that has
        calls in flight."""
        return 0, 0

    def in_flight(self) -> int:
        """How many elements were processed and have not gone on: of one that has calls in flight."""
        return 0

    def fitting(self, elements: int) -> int:
        """How many of so many elements it takes without waiting for a call to end."""
        return elements

    def process_watermark(self, watermark: int) -> None:
        """The combined watermark of all inputs advanced (ms)."""
        self.watermark = watermark
        self.output.mark(watermark)

    def process_status(self, status: Status) -> None:
        """All inputs became idle, or one became active again."""
        self.output.mark(status)

    def advance_processing_time(self, now: int) -> None:
        """The clock (ms) moved on: fire what is due."""

    def next_due(self) -> int | None:
        """When ``advance_processing_time`` would find something to fire (ms), None for never. Operators that only tidy
        up by the clock need not say so: the next epoch is early enough."""
        return None

    least_slice = 0
    """how long slices are at least (ms), unless their epoch ends"""

    def end_slice(self) -> None:
        """A slice of the epoch has arrived: emit the answers that were held back to bring them together, and whatever
        else is ready. Wait for nothing."""

    def tick(self, now: int) -> None:
        """The clock says ``now`` (ms), and what has come by then has arrived: tell whether the stream is quiet, and do
        what is done every so often. Wait for nothing."""

    def wake(self) -> None:
        """Another thread of the operator has something ready: pass it on, and wait for nothing."""

    def end_epoch(self) -> None:
        """Everything of this epoch has arrived, and its last slice is over: let nothing stay in flight."""

    def input_finished(self, input: int) -> None:
        """Everything of one input has arrived, after its MAX_WATERMARK."""

    def end_input(self) -> None:
        """Everything of this job has arrived, after MAX_WATERMARK."""

    def kept(self) -> int:
        """How many elements it has and has not handed on, as far as a look from another thread can tell."""
        return 0

    def keyed_state(self) -> Any:
        """The ``KeyedStateBackend``, None for an operator without."""
        return None

    def operator_state(self) -> Any:
        """The ``OperatorStateBackend``, None for an operator without."""
        return None

    def before_snapshot(self, checkpoint_id: int) -> None:
        """The epoch is over and its state about to be taken: move into the state what belongs there."""

    def snapshot(self) -> Any:
        """The operator's own small state beyond keyed and operator state (picklable), None without."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Go on from a ``snapshot`` of this subtask."""

    def take_over(self, earlier: EarlierState) -> None:
        """Begin with the state of earlier subtasks, of which there may have been another number. The keyed state
        follows when the operator is open.

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
        """Begin with this keyed state.

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
        """Begin with what ``snapshot`` gave in each of the earlier subtasks."""

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
    """How much is read in an epoch."""

    records: int | None = None
    """the most elements, None for no limit"""
    millis: int | None = None
    """the longest time (ms), None for no limit"""
    at_first_piece: bool = False
    """whether the time begins when the first piece was handed on: whoever is new imports and connects"""
    over: Callable[[], bool] = bool
    """whether nothing more is to be begun, for another reason"""
    paced: int | None = None
    """the most elements that the stages behind can do; it divides batches of rows, too, which ``records`` does not"""
    room: Callable[[int], int] | None = None
    """for how many of so many elements there is room at this moment; None: for all"""
    stays: bool = False
    """whether the epoch goes on when there is nothing to read: then whoever wants to read on asks again"""


def least(one: int | None, other: int | None) -> int | None:
    """The lower of two limits, of which None is none."""
    return other if one is None else one if other is None else min(one, other)


class ReadingOperator(Operator):
    """An operator that the driver gives something to read: a source, or the head of a loop."""

    def read(self, order: SourceOrder, epoch: int, limits: ReadingLimits) -> Iterator[None]:
        """Read this epoch's share; control comes back now and then so that the task can pass results on."""
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        """Whether nothing will ever come from here again."""
        raise NotImplementedError

    on_available: Callable[[], None] | None = None
    """is called, in any thread, when there is something to read again; to be set before it reads"""
    pause_ms = 0.0
    """how long something that is new may wait before that, so that more comes together with it"""
    is_woken = False
    """whether that happens; else it has to be asked"""

    @property
    def is_dry(self) -> bool:
        """Whether there was nothing to read when it was asked the last time."""
        return False

    @property
    def holds_back(self) -> bool:
        """Whether others of its alignment group wait for it: not if it is idle or has nothing to read."""
        return True

    def align(self, limit: int) -> bool:
        """Leave alone what is further than this watermark (ms), within an epoch; whether that is all of it."""
        return False

    @property
    def needs_driver(self) -> bool:
        """Whether there is something that the driver has to hear before it can go on."""
        return False

    def report(self) -> SourceReport:
        """What the driver has to know for the next epoch."""
        raise NotImplementedError


def _advice(cause: BaseException) -> str:
    """What the bare message of Python leaves open."""
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
