"""A source that notes what another one gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceEvent,
    SourceReader,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.relational.rows import Rows
from millrace.testing.recording.events import IDLE, OPENED, RELEASED, Element, Event, EventWriter, Mark, Place, Sign


class RecordingSource(Source[Any, Any]):
    """Gives what ``source`` gives, at most so many records a subtask, and appends it to a file."""

    def __init__(self, source: Source[Any, Any], path: str, records: int | None) -> None:
        self._source = source
        self._path = path
        self._records = records

    def get_boundedness(self) -> Boundedness:
        return self._source.get_boundedness()

    def create_enumerator(self, context: SplitEnumeratorContext[Any], checkpoint: Any = None) -> Any:
        return self._source.create_enumerator(context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Any, Any]:
        reader = self._source.create_reader(context)
        return _RecordingReader(reader, self._path, Place(context.get_index_of_subtask()), self._records)

    def arrives_over_time(self) -> bool:
        return self._source.arrives_over_time()

    def for_readers(self) -> RecordingSource:
        return RecordingSource(self._source.for_readers(), self._path, self._records)

    def get_produced_type(self) -> Any:
        return self._source.get_produced_type()


class _RecordingReader(SourceReader[Any, Any]):
    def __init__(self, reader: SourceReader[Any, Any], path: str, place: Place, records: int | None) -> None:
        self._reader = reader
        self._writer = EventWriter(path)
        self._place = place
        self._open: set[str] = set()
        """splits that have an output"""
        self._left = records
        """records that are still wanted; None: all"""

    def poll_next(self, output: ReaderOutput[Any]) -> InputStatus:
        if self._left is not None and self._left <= 0:
            return InputStatus.END_OF_INPUT
        events: list[Event] = []
        status = self._reader.poll_next(_Noting(output, events, self._place, self._open))
        self._write(events)
        return status

    def end_epoch(self, output: ReaderOutput[Any], checkpoint_id: int) -> None:
        events: list[Event] = []
        self._reader.end_epoch(_Noting(output, events, self._place, self._open), checkpoint_id)
        self._write(events)

    def _write(self, events: list[Event]) -> None:
        wanted: list[Event] = []
        for event in events:
            if self._left is not None and isinstance(event, Element):
                if self._left <= 0:
                    break
                size = _size(event.value)
                if size > self._left:
                    event = Element(event.place, event.value.take(range(self._left)), event.timestamp)
                self._left -= size
            wanted.append(event)
        self._writer.write(wanted)

    def start(self) -> None:
        self._reader.start()

    def add_splits(self, splits: Sequence[Any]) -> None:
        self._reader.add_splits(splits)

    def notify_no_more_splits(self) -> None:
        self._reader.notify_no_more_splits()

    def handle_source_events(self, event: SourceEvent) -> None:
        self._reader.handle_source_events(event)

    def has_splits(self) -> bool:
        return self._reader.has_splits()

    def on_available(self, call: Callable[[], None], pause_ms: float) -> bool:
        return self._reader.on_available(call, pause_ms)

    def pause_or_resume_splits(self, to_pause: Sequence[str], to_resume: Sequence[str]) -> None:
        self._reader.pause_or_resume_splits(to_pause, to_resume)

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        return self._reader.snapshot_state(checkpoint_id)

    def snapshot_taken(self) -> None:
        self._reader.snapshot_taken()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._reader.notify_checkpoint_complete(checkpoint_id)

    def close(self) -> None:
        self._reader.close()


def _size(value: Any) -> int:
    """Records in an element: batches of rows have several."""
    return len(value) if isinstance(value, Rows) else 1


class _Noting(ReaderOutput[Any]):
    """Hands on what a reader emits, and notes it."""

    def __init__(self, output: ReaderOutput[Any], events: list[Event], place: Place, open: set[str]) -> None:
        self._output = output
        self._events = events
        self._place = place
        self._open = open

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self._events.append(Element(self._place, record, timestamp))
        self._output.collect(record, timestamp)

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        known: Sequence[int | None] = [None] * len(records) if timestamps is None else timestamps
        self._events += [Element(self._place, record, at) for record, at in zip(records, known)]
        self._output.collect_batch(records, timestamps)

    def emit_watermark(self, timestamp: int) -> None:
        self._events.append(Mark(self._place, timestamp))
        self._output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self._events.append(Sign(self._place, IDLE))
        self._output.mark_idle()

    def create_output_for_split(self, split_id: str) -> ReaderOutput[Any]:
        place = Place(self._place.subtask, split_id)
        if split_id not in self._open:
            self._open.add(split_id)
            self._events.append(Sign(place, OPENED))
        return _Noting(self._output.create_output_for_split(split_id), self._events, place, self._open)

    def release_output_for_split(self, split_id: str) -> None:
        self._open.discard(split_id)
        self._events.append(Sign(Place(self._place.subtask, split_id), RELEASED))
        self._output.release_output_for_split(split_id)
