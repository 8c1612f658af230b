"""The task's half of a hybrid source."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from millrace.common.source import InputStatus, ReaderOutput, Source, SourceEvent, SourceReader, SourceReaderContext
from millrace.connectors.hybrid.messages import Finished, HybridPosition, HybridSplit, Inner, NoMoreSplits, SwitchTo

if TYPE_CHECKING:
    from millrace.common.functions import RuntimeContext
    from millrace.common.state import OperatorStateStore


class _Context(SourceReaderContext):
    """What one of the readers is told: the outer context, but events of its own."""

    def __init__(self, outer: SourceReaderContext, index: int) -> None:
        self._outer = outer
        self._index = index

    def get_index_of_subtask(self) -> int:
        return self._outer.get_index_of_subtask()

    def current_parallelism(self) -> int:
        return self._outer.current_parallelism()

    def current_processing_time(self) -> int:
        return self._outer.current_processing_time()

    def max_records(self) -> int | None:
        return self._outer.max_records()

    def get_runtime_context(self) -> RuntimeContext:
        return self._outer.get_runtime_context()

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._outer.get_operator_state_store()

    def send_split_request(self) -> None:
        self._outer.send_split_request()

    def send_source_event_to_coordinator(self, event: SourceEvent) -> None:
        self._outer.send_source_event_to_coordinator(Inner(self._index, event))


class _Output(ReaderOutput[Any]):
    """Gives splits the names that they have outside."""

    def __init__(self, outer: ReaderOutput[Any], index: int) -> None:
        self._outer = outer
        self._index = index
        self._open: set[str] = set()

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self._outer.collect(record, timestamp)

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self._outer.collect_batch(records, timestamps)

    def emit_watermark(self, timestamp: int) -> None:
        self._outer.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self._outer.mark_idle()

    def create_output_for_split(self, split_id: str) -> ReaderOutput[Any]:
        self._open.add(split_id)
        return self._outer.create_output_for_split(f"{self._index}:{split_id}")

    def release_output_for_split(self, split_id: str) -> None:
        self._open.discard(split_id)
        self._outer.release_output_for_split(f"{self._index}:{split_id}")

    def patience(self) -> float:
        return self._outer.patience()

    def release_all(self) -> None:
        """The source has ended."""
        for split_id in list(self._open):
            self.release_output_for_split(split_id)


class HybridReader(SourceReader[Any, Any]):
    """Has the reader of the source that is read. When that has ended it says so, and waits for the next one."""

    def __init__(self, sources: Sequence[Source[Any, Any] | None], context: SourceReaderContext) -> None:
        """:param sources: None in the place of one that a factory makes."""
        self._sources = sources
        self._context = context
        self._position = HybridPosition()
        self._reader: SourceReader[Any, Any] | None = None
        self._output: _Output | None = None
        self._waits = False
        """whether this source has ended and another one follows"""

    def add_splits(self, splits: Sequence[Any]) -> None:
        for split in splits:
            # Readers of a new job hear first what the enumerator says now, then where they were.
            if isinstance(split, HybridPosition) and split.index >= self._position.index:
                self._position = split
                if split.no_more_splits and self._reader is not None:
                    self._reader.notify_no_more_splits()
        inner = [split.split for split in splits if isinstance(split, HybridSplit)]
        if inner:
            self._open().add_splits(inner)

    def _open(self) -> SourceReader[Any, Any]:
        if self._reader is None:
            position = self._position
            source = self._sources[position.index] or pickle.loads(position.payload or b"")
            self._reader = source.create_reader(_Context(self._context, position.index))
            self._reader.start()
            if position.no_more_splits:
                self._reader.notify_no_more_splits()
        return self._reader

    def notify_no_more_splits(self) -> None:
        self._open().notify_no_more_splits()

    def handle_source_events(self, event: SourceEvent) -> None:
        at = self._position.index
        if isinstance(event, SwitchTo) and event.position.index > at:
            self._switch(event.position)
        elif isinstance(event, NoMoreSplits) and event.index == at:
            self._position = replace(self._position, no_more_splits=True)
            self._open().notify_no_more_splits()
        elif isinstance(event, Inner) and event.index == at:
            self._open().handle_source_events(event.event)

    def _switch(self, position: HybridPosition) -> None:
        self.close()
        self._reader, self._output = None, None
        self._position, self._waits = position, False

    def poll_next(self, output: ReaderOutput[Any]) -> InputStatus:
        if self._waits:
            return InputStatus.NOTHING_AVAILABLE
        index = self._position.index
        if self._output is None:
            self._output = _Output(output, index)
        status = self._open().poll_next(self._output)
        if status is not InputStatus.END_OF_INPUT or index == len(self._sources) - 1:
            return status
        self._output.release_all()
        self._waits = True
        self._context.send_source_event_to_coordinator(Finished(index))
        return InputStatus.NOTHING_AVAILABLE

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        self._open().pause_or_resume_splits(self._inner(to_pause), self._inner(to_resume))

    def _inner(self, names: Sequence[str]) -> list[str]:
        """The names that the source that is read knows."""
        prefix = f"{self._position.index}:"
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    def end_epoch(self, output: ReaderOutput[Any], checkpoint_id: int) -> None:
        if not self._waits:
            self._open().end_epoch(self._output or output, checkpoint_id)

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        left = [] if self._waits else self._open().snapshot_state(checkpoint_id)
        return [self._position, *(HybridSplit(self._position.index, split) for split in left)]

    def snapshot_taken(self) -> None:
        if self._reader is not None:
            self._reader.snapshot_taken()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._reader is not None:
            self._reader.notify_checkpoint_complete(checkpoint_id)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
