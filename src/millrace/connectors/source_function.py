"""A user's ``SourceFunction`` as a FLIP-27 source.

``run`` is called in a thread for as long as the task lives. What it emits waits in a ``Handover``, limited in elements
and bytes, until the reader takes it; the checkpoint lock keeps ``run`` from emitting while an epoch ends.
"""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumerator,
    SplitEnumeratorContext,
)
from millrace.common.typeinfo import TypeInformation
from millrace.connectors.source_base import QueueEnumerator
from millrace.util.by_value import pickled_by_value
from millrace.util.system import Cancelled, end_thread
from millrace.util.threads import JobThread

if TYPE_CHECKING:
    from millrace.common.functions import SourceFunction


LOG = logging.getLogger(__name__)
WAIT_SECONDS = 0.02


class CheckpointLock:
    """For ``with``, by the threads of ``run``, also nested. Once it is closed, entering it raises ``Cancelled``.

    The task takes it at the end of an epoch and gives it back when the state is written.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._owner: int | None = None
        """the thread that is inside"""
        self._depth = 0
        self._wanted = False
        """the task has it, or is to get it next: else a loop around the lock would get it again and again"""
        self.closed = False

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            if self._owner != me:
                while (self._wanted or self._owner is not None) and not self.closed:
                    self._changed.wait()
            if self.closed:
                raise Cancelled
            self._owner = me
            self._depth += 1

    def __exit__(self, *exc: object) -> None:
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._owner = None
                self._changed.notify_all()

    def take(self, meanwhile: Callable[[], object]) -> None:
        """Wait until no thread is inside, calling ``meanwhile`` from time to time; none will be until ``give_back``."""
        with self._changed:
            self._wanted = True
        while not self._is_free(WAIT_SECONDS):
            meanwhile()

    def _is_free(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._owner is None, seconds)

    def give_back(self) -> None:
        """Nothing happens if it was not taken."""
        with self._changed:
            self._wanted = False
            self._changed.notify_all()

    def close(self) -> None:
        """No thread gets in any more; one that is inside may come again before it leaves, or not."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()


ELEMENT, WATERMARK, IDLE = "element", "watermark", "idle"


MOST_BYTES = 32 * 2**20
"""How far a function may be ahead in any case, about: one element more than that."""
SAMPLED = 16
"""Of so many elements one is weighed; texts and bytes always are."""


class Event(NamedTuple):
    """One call of the function's context."""

    kind: str
    value: Any = None
    timestamp: int | None = None


class Handover:
    """A queue between two threads."""

    def __init__(self, skip: int, capacity: int) -> None:
        """:param skip: so many elements were read in an earlier life.
        :param capacity: how many elements the function may be ahead.
        """
        self.lock = CheckpointLock()
        self.error: BaseException | None = None
        self._changed = threading.Condition()
        self._events: list[Event] = []
        self._bytes = 0
        self._element_bytes = self._unweighed = 0
        self._skip = skip
        self._capacity = capacity
        self._cancelled = False
        self._done = False
        self.on_available: Callable[[], None] | None = None
        """is called, in the function's thread, when there is something to take again"""

    def put(self, event: Event) -> None:
        """Waits for room. Raises ``Cancelled`` when it is not wanted any more."""
        with self.lock, self._changed:
            while not self.has_room and not self._cancelled:
                self._changed.wait()
            if self._cancelled:
                raise Cancelled
            if self._skip:
                self._skip -= event.kind == ELEMENT
                return
            self._events.append(event)
            self._bytes += self._weight(event.value)
            first = len(self._events) == 1
            if first:
                self._changed.notify_all()
        if first:
            self._tell()

    def _tell(self) -> None:
        if self.on_available is not None:
            self.on_available()

    @property
    def has_room(self) -> bool:
        """Whether the function may be ahead by one element more."""
        return len(self._events) < self._capacity and self._bytes < MOST_BYTES

    def _weight(self, value: Any) -> int:
        if value.__class__ is str or value.__class__ is bytes:
            return len(value)
        if not self._unweighed:
            self._element_bytes, self._unweighed = _weighed(value), SAMPLED
        self._unweighed -= 1
        return self._element_bytes

    def limit(self, capacity: int) -> None:
        """Let the function be so many elements ahead from now on."""
        if capacity != self._capacity:
            with self._changed:
                self._capacity = capacity
                self._changed.notify_all()

    def take(self, seconds: float = 0.0) -> list[Event]:
        """Take all elements that wait; if there are none, wait up to the given time for one."""
        with self._changed:
            if seconds and not (self._events or self._done):
                self._changed.wait(seconds)
            events, self._events, self._bytes = self._events, [], 0
            self._changed.notify_all()
            return events

    def finish(self, error: BaseException | None) -> None:
        """The function is over: by itself, unless it was told to."""
        with self._changed:
            if not self._cancelled:
                self.error, self._done = error, True
                self._changed.notify_all()
        self._tell()

    def cancel(self) -> None:
        """Let the function end as soon as it emits something, or takes the lock."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()
        self.lock.close()

    @property
    def exhausted(self) -> bool:
        """Whether the function has ended and all that it emitted was taken."""
        with self._changed:
            return self._done and not self._events


def _weighed(value: Any) -> int:
    try:
        return len(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    except Exception:  # what sends it or stores it says so
        return sys.getsizeof(value)


def emit(events: list[Event], output: ReaderOutput[Any]) -> int:
    """Pass events on in order, neighbouring elements of a kind together; how many elements they were."""
    values: list[Any] = []
    timestamps: list[int] = []
    elements = 0

    def flush() -> None:
        nonlocal values, timestamps
        if values:
            output.collect_batch(values, timestamps or None)
            values, timestamps = [], []

    for kind, value, timestamp in events:
        if kind == ELEMENT:
            elements += 1
            if values and (timestamp is None) == bool(timestamps):
                flush()
            values.append(value)
            if timestamp is not None:
                timestamps.append(timestamp)
        else:
            flush()
            if kind == WATERMARK:
                output.emit_watermark(value)
            else:
                output.mark_idle()
    flush()
    return elements


T = TypeVar("T")

CAPACITY = 10_000
"""Elements that ``run`` may be ahead of the reader at most."""
POLLS_AHEAD = 10
"""Polls of the size that the job wants which it may be ahead."""


@dataclass(frozen=True)
class FunctionSplit:
    """The whole function; ``emitted`` elements of it are already read."""

    emitted: int = 0
    saved: bool = False
    """whether it saved its position itself, in operator state"""
    checkpoint_id: int | None = None
    """the checkpoint in which the position was saved"""


class FunctionReader(SourceReader[T, FunctionSplit], Generic[T]):
    """Emits what the function has emitted. The thread begins with the first poll and goes on between epochs."""

    def __init__(self, function: SourceFunction[T], context: SourceReaderContext) -> None:
        from millrace.common.functions import CheckpointedFunction

        # A copy: a reader that takes over from this one begins with the function as it came.
        self._function: SourceFunction[T] = pickle.loads(pickled_by_value(function))
        self._checkpointed = isinstance(function, CheckpointedFunction)
        self._context = context
        self._split: FunctionSplit | None = None
        self._handover: Handover | None = None
        self._thread: threading.Thread | None = None
        self._no_more_splits = False
        self._polled = False
        """whether it was asked for elements in this epoch"""
        self._call: Callable[[], None] | None = None
        """wakes the task when there is something to read"""

    def add_splits(self, splits: Sequence[FunctionSplit]) -> None:
        for split in splits:
            self._split = split

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def on_available(self, call: Callable[[], None], pause_ms: float) -> bool:
        self._call = call
        if self._handover is not None:
            self._handover.on_available = call
        return True

    def _start_running(self, split: FunctionSplit) -> Handover:
        from millrace.common.functions import FunctionInitializationContext

        skipped = self._skipped(split)
        self._split = split if split.saved else replace(split, emitted=skipped)
        handover = Handover(skipped, self._capacity())
        handover.on_available = self._call
        if self._checkpointed:
            store = self._context.get_operator_state_store()
            context = FunctionInitializationContext(split.saved, store, checkpoint_id=split.checkpoint_id)
            self._function.initialize_state(context)  # type: ignore[attr-defined]
        self._function.open(self._context.get_runtime_context())
        arguments = (self._function, _source_context(handover), handover)
        self._thread = JobThread(target=_run, args=arguments, name="millrace-source-function", daemon=True)
        self._thread.start()
        return handover

    def _skipped(self, split: FunctionSplit) -> int:
        """The number of elements that are not emitted again."""
        if split.saved or not split.emitted:
            return 0
        name, again = type(self._function).__name__, self._function.emits_same_elements
        then = "are skipped" if again else "may come twice: set emits_same_elements, or be a CheckpointedFunction"
        LOG.warning("source function %s starts again: %d elements that were read %s", name, split.emitted, then)
        return split.emitted if again else 0

    def _capacity(self) -> int:
        """What the job takes in about 100 ms: what waits longer is only late, and is saved with the state."""
        most = self._context.max_records()
        return CAPACITY if most is None else min(CAPACITY, most if most == 1 else POLLS_AHEAD * most)

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        if self._split is None:
            return InputStatus.END_OF_INPUT if self._no_more_splits else InputStatus.NOTHING_AVAILABLE
        if self._handover is None:
            self._handover = self._start_running(self._split)
        self._polled = True
        self._handover.limit(self._capacity())
        taken = self._take(self._handover, output, output.patience())
        return InputStatus.MORE_AVAILABLE if taken or self._split is None else InputStatus.NOTHING_AVAILABLE

    def _take(self, handover: Handover, output: ReaderOutput[T], seconds: float = 0.0) -> bool:
        """Emit the elements that wait; returns whether there were any."""
        if self._split is None:
            return False
        events = handover.take(seconds)
        self._split = replace(self._split, emitted=self._split.emitted + emit(events, output))
        if handover.exhausted:
            if handover.error is not None:
                raise handover.error
            self._split = None
        return bool(events)

    def end_epoch(self, output: ReaderOutput[T], checkpoint_id: int) -> None:
        from millrace.common.functions import FunctionSnapshotContext

        handover = self._handover
        if handover is None:
            return
        if self._checkpointed:
            handover.limit(self._capacity())  # run() may be inside and wait for room
            handover.lock.take(lambda: self._take(handover, output))
        self._take(handover, output)
        if not self._polled:
            handover.limit(0)  # what it has made waits, so it shall make no more
        self._polled = False
        if self._checkpointed and self._split is not None:
            context = FunctionSnapshotContext(checkpoint_id, self._context.current_processing_time())
            self._function.snapshot_state(context)  # type: ignore[attr-defined]
            self._split = replace(self._split, saved=True, checkpoint_id=checkpoint_id)

    def snapshot_state(self, checkpoint_id: int) -> list[FunctionSplit]:
        return [] if self._split is None else [self._split]

    def snapshot_taken(self) -> None:
        if self._handover is not None:
            self._handover.lock.give_back()

    def close(self) -> None:
        if self._thread is None or self._handover is None:
            return
        try:
            # First the function, which may know how to end well; what it emits from then on is refused.
            if self._thread.is_alive():
                self._function.cancel()
        finally:
            self._handover.cancel()
            end_thread(self._thread)
        self._function.close()


def _run(function: SourceFunction[Any], context: Any, handover: Handover) -> None:
    try:
        function.run(context)
    except Cancelled:
        return
    except BaseException as error:
        handover.finish(error)
    else:
        handover.finish(None)


def _source_context(handover: Handover) -> Any:
    """A ``SourceFunction.SourceContext``. Its class is made late: ``millrace.datastream`` imports the connectors."""
    from millrace.common.functions import SourceFunction

    class Context(SourceFunction.SourceContext[Any]):
        def collect(self, element: Any) -> None:
            handover.put(Event(ELEMENT, element))

        def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
            handover.put(Event(ELEMENT, element, timestamp))

        def emit_watermark(self, timestamp: int) -> None:
            handover.put(Event(WATERMARK, timestamp))

        def mark_as_temporarily_idle(self) -> None:
            handover.put(Event(IDLE))

        def get_checkpoint_lock(self) -> Any:
            return handover.lock

    return Context()


class SourceFunctionSource(Source[T, FunctionSplit], Generic[T]):
    """Runs ``source_function.run(ctx)`` in one thread of a subtask (of every subtask, for a ``ParallelSourceFunction``)
    for the life of the job, and gives its elements as they come.

    The source counts as bounded, since nobody knows whether ``run`` returns: batch mode waits for that. In streaming
    mode it may take for ever.

    What ``run`` did can't be saved. After a failure or from a savepoint ``run`` starts again, and all that it emits is
    read. Where ``emits_same_elements`` says that these are the same ones, as many are skipped as were read before. A
    ``CheckpointedFunction`` saves how far it is at the end of every epoch, and nothing is skipped. ``run`` has to hold
    ``ctx.get_checkpoint_lock()`` while it emits and changes what ``snapshot_state`` will save.
    """

    def __init__(self, source_function: SourceFunction[T], type_info: TypeInformation | None = None) -> None:
        self._function = source_function
        self._type_info = type_info

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def arrives_over_time(self) -> bool:
        return True

    def create_enumerator(
        self, context: SplitEnumeratorContext[FunctionSplit], checkpoint: Any = None
    ) -> SplitEnumerator[FunctionSplit]:
        from millrace.common.functions import ParallelSourceFunction

        if isinstance(self._function, ParallelSourceFunction):
            return ParallelEnumerator(context, checkpoint)
        return QueueEnumerator(context, [FunctionSplit()] if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[T, FunctionSplit]:
        return FunctionReader(self._function, context)

    def get_produced_type(self) -> TypeInformation | None:
        return self._type_info

    def __repr__(self) -> str:
        return f"SourceFunctionSource({type(self._function).__name__})"


class ParallelEnumerator(SplitEnumerator[FunctionSplit]):
    """One instance of the function a subtask.

    With another number of subtasks all begin anew: those that save their state with their share of it, others with
    their first element, as in Flink.
    """

    def __init__(
        self, context: SplitEnumeratorContext[FunctionSplit], waiting: Mapping[int, FunctionSplit] | None
    ) -> None:
        self._context = context
        self._waiting = self._one_each(FunctionSplit()) if waiting is None else dict(waiting)

    def _one_each(self, split: FunctionSplit) -> dict[int, FunctionSplit]:
        return dict.fromkeys(range(self._context.current_parallelism()), split)

    def handle_split_request(self, subtask_id: int) -> None:
        if subtask_id in self._waiting:
            self._context.assign_split(self._waiting.pop(subtask_id), subtask_id)
        self._context.signal_no_more_splits(subtask_id)

    def add_splits_back(self, splits: Sequence[FunctionSplit], subtask_id: int) -> None:
        saved = [split for split in (*splits, *self._waiting.values()) if split.saved]
        checkpoints = (split.checkpoint_id for split in saved if split.checkpoint_id is not None)
        again = FunctionSplit(saved=bool(saved), checkpoint_id=max(checkpoints, default=None))
        self._waiting = self._one_each(again)

    def snapshot_state(self, checkpoint_id: int) -> dict[int, FunctionSplit]:
        return dict(self._waiting)
