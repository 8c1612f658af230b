"""The reader of a source's subtask while it lives, with all that surrounds it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from millrace.common.functions import RuntimeContext
from millrace.common.source import Source, SourceEvent, SourceReaderContext
from millrace.runtime.bases.base import OperatorContext
from millrace.runtime.operators.source_output import SourceOutput
from millrace.runtime.protocol import packed_splits
from millrace.runtime.protocol.epoch import SourceOrder
from millrace.runtime.state.operator_state import OperatorStateBackend


class ReaderContext(SourceReaderContext):
    """What a reader can know and say. Threads of the reader may speak, too."""

    def __init__(
        self, context: OperatorContext, state: OperatorStateBackend, max_records: Callable[[], int | None]
    ) -> None:
        self._context = context
        self._state = state
        self._max_records = max_records
        self._events: deque[SourceEvent] = deque()
        self._requests: deque[None] = deque()

    def get_index_of_subtask(self) -> int:
        return self._context.runtime.get_index_of_this_subtask()

    def current_parallelism(self) -> int:
        return self._context.runtime.get_number_of_parallel_subtasks()

    def current_processing_time(self) -> int:
        return self._context.clock()

    def max_records(self) -> int | None:
        return self._max_records()

    def get_runtime_context(self) -> RuntimeContext:
        return self._context.runtime

    def get_operator_state_store(self) -> OperatorStateBackend:
        return self._state

    def send_split_request(self) -> None:
        self._requests.append(None)

    def send_source_event_to_coordinator(self, event: SourceEvent) -> None:
        self._events.append(event)

    @property
    def has_said(self) -> bool:
        """Whether there are events, or splits were asked for, since the last call of ``said``."""
        return bool(self._events or self._requests)

    def said(self) -> tuple[tuple[SourceEvent, ...], int]:
        """The events since the last call, and how many splits were asked for."""
        return tuple(_taken(self._events)), sum(1 for _ in _taken(self._requests))


class LiveReader:
    """A reader that was started and has its splits."""

    def __init__(
        self, source: Source[Any, Any], context: ReaderContext, output: SourceOutput, splits: Iterable[Any]
    ) -> None:
        """:param splits: what the reader before it has left."""
        self.output = output
        self.reader = source.create_reader(context)
        self._context = context
        self._checkpoint: int | None = None
        self._ahead: frozenset[str] = frozenset()
        try:
            self.reader.start()
            if left := list(splits):
                self.reader.add_splits(left)
        except BaseException:
            self.reader.close()
            raise

    def begin_epoch(self, order: SourceOrder, ahead: frozenset[str]) -> None:
        """Pass on what is new.

        :param ahead: names of the splits that are to be left alone.
        """
        reader = self.reader
        if order.checkpoint is not None and order.checkpoint != self._checkpoint:
            self._checkpoint = order.checkpoint
            reader.notify_checkpoint_complete(order.checkpoint)
        for event in order.events:
            reader.handle_source_events(event)
        self.leave_alone(ahead)
        if new := [*order.splits, *packed_splits.unpack(order.packed)]:
            reader.add_splits(new)
        if order.no_more_splits:
            reader.notify_no_more_splits()

    def leave_alone(self, ahead: frozenset[str]) -> None:
        """Read the splits of these names no further, and the others again."""
        if ahead != self._ahead:
            self.reader.pause_or_resume_splits(sorted(ahead - self._ahead), sorted(self._ahead - ahead))
            self._ahead = ahead

    @property
    def has_said(self) -> bool:
        """Whether the enumerator has something to hear."""
        return self._context.has_said

    def said(self) -> tuple[tuple[SourceEvent, ...], int]:
        """What it has told the enumerator, and how many splits it has asked for."""
        return self._context.said()


def _taken(queue: deque[Any]) -> Iterable[Any]:
    """Other threads may add to it meanwhile."""
    for _ in range(len(queue)):
        yield queue.popleft()
