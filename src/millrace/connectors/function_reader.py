"""Runs a user's ``SourceFunction`` in a thread, for as long as the task lives."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from millrace.common.source import InputStatus, ReaderOutput, SourceReader, SourceReaderContext
from millrace.connectors.handover import ELEMENT, IDLE, WATERMARK, Event, Handover, emit
from millrace.util.by_value import pickled_by_value
from millrace.util.threads import Cancelled, end_thread

if TYPE_CHECKING:
    from millrace.common.functions import SourceFunction

__all__ = ["FunctionReader", "FunctionSplit"]

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
    """when that was"""


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

        handover = Handover(0 if split.saved else split.emitted, self._capacity())
        handover.on_available = self._call
        if self._checkpointed:
            store = self._context.get_operator_state_store()
            context = FunctionInitializationContext(split.saved, store, checkpoint_id=split.checkpoint_id)
            self._function.initialize_state(context)  # type: ignore[attr-defined]
        self._function.open(self._context.get_runtime_context())
        arguments = (self._function, _source_context(handover), handover)
        self._thread = threading.Thread(target=_run, args=arguments, name="millrace-source-function", daemon=True)
        self._thread.start()
        return handover

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
        """Emit what is there; whether there was anything."""
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
