"""``SourceFunctionSource``: a user's ``SourceFunction`` as a FLIP-27 source."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import cloudpickle

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.connectors.checkpoint_lock import Cancelled, CheckpointLock
from millrace.connectors.queue_enumerator import QueueEnumerator

if TYPE_CHECKING:
    from millrace.datastream.functions import CheckpointedFunction, SourceFunction

__all__ = ["FunctionSplit", "SourceFunctionSource"]

T = TypeVar("T")

CAPACITY = 10_000
"""Elements that ``run`` may be ahead of the reader."""
WAIT_SECONDS = 0.02
JOIN_SECONDS = 5.0


@dataclass(frozen=True)
class FunctionSplit:
    """The whole function; ``emitted`` elements of it are already read."""

    emitted: int = 0
    saved: bool = False
    """whether it saved its position itself, in operator state"""


class SourceFunctionSource(Source[T, FunctionSplit], Generic[T]):
    """Runs ``source_function.run(ctx)`` in a thread of one subtask, to its end: the source counts as bounded.

    What ``run`` did can't be saved. After a failure, and in every epoch after the first if the source is cut into
    several, ``run`` starts again and as many elements as were read before are dropped: exactly once for a function
    that emits the same elements each time, anything else for others. A ``run`` without end keeps its epoch from
    ending; write a ``millrace.common.source.Source`` for that.

    A ``CheckpointedFunction`` saves how far it is: every epoch begins with a new instance, restored from its operator
    state, and nothing is dropped. ``run`` has to hold ``ctx.get_checkpoint_lock()`` while it emits and changes what
    ``snapshot_state`` will save, as in Flink.
    """

    def __init__(self, source_function: SourceFunction[T], type_info: Any = None) -> None:
        self._function = source_function
        self._type_info = type_info

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[FunctionSplit], checkpoint: Sequence[FunctionSplit] | None = None
    ) -> QueueEnumerator[FunctionSplit]:
        return QueueEnumerator(context, [FunctionSplit()] if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[T, FunctionSplit]:
        return _FunctionReader(self._function, context)

    def get_produced_type(self) -> Any:
        return self._type_info

    def __repr__(self) -> str:
        return f"SourceFunctionSource({type(self._function).__name__})"


class _Handover:
    """What ``run`` emitted and the reader has not taken yet."""

    def __init__(self, skip: int) -> None:
        self._changed = threading.Condition()
        self._events: list[tuple[str, Any, int | None]] = []
        self._skip = skip
        self._cancelled = False
        self.lock = CheckpointLock()
        self.done = False
        self.error: BaseException | None = None

    def put(self, kind: str, value: Any, timestamp: int | None = None) -> None:
        with self.lock, self._changed:
            while len(self._events) >= CAPACITY and not self._cancelled:
                self._changed.wait()
            if self._cancelled:
                raise Cancelled
            if self._skip:
                self._skip -= kind == "element"
                return
            self._events.append((kind, value, timestamp))
            if len(self._events) == 1:
                self._changed.notify_all()

    def take(self) -> list[tuple[str, Any, int | None]]:
        with self._changed:
            if not (self._events or self.done or self._cancelled):
                self._changed.wait(WAIT_SECONDS)
            events, self._events = self._events, []
            self._changed.notify_all()
            return events

    def finish(self, error: BaseException | None) -> None:
        """``run`` is over: by itself, unless it was told to."""
        with self._changed:
            if not (self._cancelled or self.lock.closed):
                self.error, self.done = error, True
                self._changed.notify_all()

    def cancel(self) -> None:
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    @property
    def exhausted(self) -> bool:
        with self._changed:
            return self.done and not self._events


def _source_context(handover: _Handover) -> Any:
    """A ``SourceFunction.SourceContext``. Its class is made late: ``millrace.datastream`` imports the connectors."""
    from millrace.datastream.functions import SourceFunction

    class Context(SourceFunction.SourceContext[Any]):
        def collect(self, element: Any) -> None:
            handover.put("element", element)

        def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
            handover.put("element", element, timestamp)

        def emit_watermark(self, timestamp: int) -> None:
            handover.put("watermark", timestamp)

        def mark_as_temporarily_idle(self) -> None:
            handover.put("idle", None)

        def get_checkpoint_lock(self) -> Any:
            return handover.lock

    return Context()


class _FunctionReader(SourceReader[T, FunctionSplit]):
    def __init__(self, function: SourceFunction[T], context: SourceReaderContext) -> None:
        from millrace.datastream.functions import CheckpointedFunction

        self._function = function
        self._checkpointed: CheckpointedFunction | None = None
        if isinstance(function, CheckpointedFunction):
            # A copy: the next epoch begins with the function as it came.
            self._function = self._checkpointed = pickle.loads(cloudpickle.dumps(function))
        self._context = context
        self._split: FunctionSplit | None = None
        self._handover: _Handover | None = None
        self._thread: threading.Thread | None = None
        self._no_more_splits = False

    def add_splits(self, splits: Sequence[FunctionSplit]) -> None:
        for split in splits:
            self._split = split

    def notify_no_more_splits(self) -> None:
        self._no_more_splits = True

    def _start_running(self, split: FunctionSplit) -> _Handover:
        from millrace.datastream.functions import FunctionInitializationContext

        handover = _Handover(0 if split.saved else split.emitted)
        if self._checkpointed is not None:
            store = self._context.get_operator_state_store()
            self._checkpointed.initialize_state(FunctionInitializationContext(split.saved, store))
        open_ = getattr(self._function, "open", None)
        if open_ is not None:
            open_(self._context.get_runtime_context())
        arguments = (self._function, _source_context(handover), handover)
        self._thread = threading.Thread(target=_run, args=arguments, name="millrace-source-function", daemon=True)
        self._thread.start()
        return handover

    def poll_next(self, output: ReaderOutput[T]) -> InputStatus:
        if self._split is None:
            return InputStatus.END_OF_INPUT if self._no_more_splits else InputStatus.NOTHING_AVAILABLE
        if self._handover is None:
            self._handover = self._start_running(self._split)
        # A short wait: "nothing available" would end the epoch, but run() has to be read to its end in it.
        self._take(self._handover, output)
        return InputStatus.MORE_AVAILABLE

    def _take(self, handover: _Handover, output: ReaderOutput[T]) -> None:
        if self._split is None:
            return
        events = handover.take()
        _emit(events, output)
        elements = sum(kind == "element" for kind, _, _ in events)
        self._split = replace(self._split, emitted=self._split.emitted + elements)
        if handover.exhausted:
            if handover.error is not None:
                raise handover.error
            self._split = None

    def end_epoch(self, output: ReaderOutput[T], checkpoint_id: int) -> None:
        from millrace.datastream.functions import FunctionSnapshotContext

        function, handover = self._checkpointed, self._handover
        if function is None or handover is None:
            return
        handover.lock.close(lambda: self._take(handover, output))  # run() may be inside and wait for room
        handover.cancel()
        self._take(handover, output)
        if self._split is not None:
            function.snapshot_state(FunctionSnapshotContext(checkpoint_id, self._context.current_processing_time()))
            self._split = replace(self._split, saved=True)

    def snapshot_state(self, checkpoint_id: int) -> list[FunctionSplit]:
        return [] if self._split is None else [self._split]

    def close(self) -> None:
        if self._thread is None or self._handover is None:
            return
        self._handover.cancel()
        if self._thread.is_alive():
            self._function.cancel()
        self._thread.join(JOIN_SECONDS)
        close = getattr(self._function, "close", None)
        if close is not None:
            close()


def _run(function: SourceFunction[Any], context: Any, handover: _Handover) -> None:
    try:
        function.run(context)
    except Cancelled:
        return
    except BaseException as error:
        handover.finish(error)
    else:
        handover.finish(None)


def _emit(events: list[tuple[str, Any, int | None]], output: ReaderOutput[Any]) -> None:
    """Pass events on in order, neighbouring elements of a kind together."""
    values: list[Any] = []
    timestamps: list[int] = []

    def flush() -> None:
        nonlocal values, timestamps
        if values:
            output.collect_batch(values, timestamps or None)
            values, timestamps = [], []

    for kind, value, timestamp in events:
        if kind == "element":
            if values and (timestamp is None) == bool(timestamps):
                flush()
            values.append(value)
            if timestamp is not None:
                timestamps.append(timestamp)
        else:
            flush()
            if kind == "watermark":
                output.emit_watermark(value)
            else:
                output.mark_idle()
    flush()
