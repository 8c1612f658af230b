"""A source that records the elements of another one, and a source that plays a recording, one element at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
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
from millrace.connectors.generated_sources import CollectionReader, CollectionSource
from millrace.connectors.source_base import DelegatingSource, QueueEnumerator
from millrace.relational.rows import Rows
from millrace.testing.recording.events import (
    IDLE,
    OPENED,
    RELEASED,
    Element,
    Event,
    EventWriter,
    Mark,
    Place,
    Sign,
    read_events,
)


class RecordingSource(Source[Any, Any]):
    """Emits the elements of ``source``, up to a number of records for each subtask, and appends them to a file."""

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
        """number of records that are still to be emitted; None: no limit"""

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
    """Number of records in an element: a batch of rows has several."""
    return len(value) if isinstance(value, Rows) else 1


class _Noting(ReaderOutput[Any]):
    """Passes on the output of a reader, and records it."""

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


@dataclass(frozen=True)
class Track:
    """The recorded events of one subtask, and the position of the player in them."""

    subtask: int
    position: int = 0


class PlayedSource(Source[Any, Track]):
    """Plays a file. Each element is a chunk of its own, however large epochs are, so that watermarks lie between the
    same elements and the same ones are late."""

    def __init__(self, path: Path, produced_type: Any) -> None:
        self._path = path
        self._type = produced_type

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[Track], checkpoint: Sequence[Track] | None = None
    ) -> QueueEnumerator[Track]:
        if checkpoint is None:
            subtasks = {event.place.subtask for event in read_events(self._path)}
            checkpoint = [Track(subtask) for subtask in sorted(subtasks)]
        return QueueEnumerator(context, checkpoint)

    def create_reader(self, context: SourceReaderContext) -> _Player:
        return _Player(self._path)

    def get_produced_type(self) -> Any:
        return self._type


class OneByOne(DelegatingSource):
    """Emits a list, each element as a chunk of its own."""

    def __init__(self, source: CollectionSource[Any]) -> None:
        self._list = source

    @property
    def _source(self) -> CollectionSource[Any]:
        return self._list

    def create_reader(self, context: SourceReaderContext) -> CollectionReader[Any]:
        return CollectionReader(lambda: 1)


class _Player(SourceReader[Any, Track]):
    """Plays its tracks in turn, one event at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tracks: deque[Track] = deque()
        self._complete = False
        self._events: dict[int, list[Event]] = {}

    def start(self) -> None:
        for event in read_events(self._path):
            self._events.setdefault(event.place.subtask, []).append(event)

    def add_splits(self, splits: Sequence[Track]) -> None:
        self._tracks.extend(splits)

    def notify_no_more_splits(self) -> None:
        self._complete = True

    def poll_next(self, output: ReaderOutput[Any]) -> InputStatus:
        if not self._tracks:
            return InputStatus.END_OF_INPUT if self._complete else InputStatus.NOTHING_AVAILABLE
        track = self._tracks.popleft()
        events = self._events[track.subtask]
        _play(events[track.position], output)
        if track.position + 1 < len(events):
            self._tracks.append(replace(track, position=track.position + 1))
        else:
            for split in {event.place.split for event in events} - {None}:
                output.release_output_for_split(_name(Place(track.subtask, split)))
        return InputStatus.MORE_AVAILABLE

    def snapshot_state(self, checkpoint_id: int) -> list[Track]:
        return list(self._tracks)


def _name(place: Place) -> str:
    """A unique name for a split: splits of different subtasks may have the same name."""
    return f"{place.subtask}/{place.split}"


def _play(event: Event, output: ReaderOutput[Any]) -> None:
    if event.place.split is not None:
        if isinstance(event, Sign) and event.what == RELEASED:
            output.release_output_for_split(_name(event.place))
            return
        output = output.create_output_for_split(_name(event.place))
    if isinstance(event, Element):
        output.collect_batch([event.value], None if event.timestamp is None else [event.timestamp])
    elif isinstance(event, Mark):
        output.emit_watermark(event.watermark)
    elif event.what == IDLE:
        output.mark_idle()
