"""A source that gives what was recorded of another one, one element at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceReader,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.connectors.collection import CollectionReader, CollectionSource
from millrace.connectors.delegating import DelegatingSource
from millrace.connectors.queue_enumerator import QueueEnumerator
from millrace.testing.recording.events import IDLE, RELEASED, Element, Event, Mark, Place, Sign, read_events


@dataclass(frozen=True)
class Track:
    """What one subtask gave, and how much of it has been played."""

    subtask: int
    position: int = 0


class PlayedSource(Source[Any, Track]):
    """Plays a file. Each element is a chunk of its own, however large epochs are: so watermarks lie between the same
    elements, and the same ones are late."""

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
    """A list, with every element as a chunk of its own."""

    def __init__(self, source: CollectionSource[Any]) -> None:
        self._list = source

    @property
    def _source(self) -> CollectionSource[Any]:
        return self._list

    def create_reader(self, context: SourceReaderContext) -> CollectionReader[Any]:
        return CollectionReader(lambda: 1)


class _Player(SourceReader[Any, Track]):
    """Plays its tracks in turn, an event at a time."""

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
    """Splits of different subtasks may have one name."""
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
