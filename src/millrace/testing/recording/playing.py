"""Runs a job with other sources, and with sinks that collect their input, in one of the ways an engine may choose: a
source that records the elements of another one, and a source that plays a recording, one element at a time.

The collected results have a form in which runs can be compared.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
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
from millrace.common.types import Row, RowKind
from millrace.connectors.generated_sources import CollectionReader, CollectionSource
from millrace.connectors.source_base import DelegatingSource, QueueEnumerator
from millrace.relational.rows import Rows
from millrace.runtime.clocks import now_millis
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.tables.exchange import ByColumns
from millrace.testing.local import LocalEngine, LocalRun, run_job
from millrace.testing.recording.events import (
    IDLE,
    KINDS,
    OPENED,
    RELEASED,
    Element,
    Event,
    EventWriter,
    Mark,
    Place,
    Sign,
    cells,
    encode,
    read_events,
)

# Sources that record and that play


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


# Runs

_ADDS = frozenset({str(RowKind.INSERT), str(RowKind.UPDATE_AFTER)})


@dataclass(frozen=True)
class Change:
    """An element of a stream, or a change of a table."""

    text: str
    """the element as JSON, without its kind"""
    kind: str = KINDS[0]
    key: str | None = None
    """key of the changed row, if a later change of the same key replaces this one"""


def changes_of(element: Any, key: Sequence[int] | None = None) -> Iterator[Change]:
    """An element as changes: a batch of rows has several.

    :param key: the columns by which changes of a table know their rows; None: by all columns.
    :raises RecordingError: a value that can't be recorded.
    """
    if isinstance(element, Rows):
        for kind, values in cells(element):
            known = None if key is None else _json([values[column] for column in key])
            yield Change(_json(values), kind, known)
    elif isinstance(element, Row) and element.get_row_kind() is not RowKind.INSERT:
        plain = Row(*element._values)
        if element._fields is not None:
            plain.set_field_names(element._fields)
        yield Change(_json(encode(plain)), str(element.get_row_kind()))
    else:
        yield Change(_json(encode(element)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def left_over(changes: Iterable[Change]) -> list[str]:
    """The elements, or the table's rows after all changes: sorted, since the order across epochs and subtasks is
    arbitrary."""
    rows: Counter[str] = Counter()
    by_key: dict[str, str] = {}
    for change in changes:
        if change.key is None:
            rows[change.text] += 1 if change.kind in _ADDS else -1
        elif change.kind in _ADDS:
            by_key[change.key] = change.text
        elif change.kind != str(RowKind.UPDATE_BEFORE):
            by_key.pop(change.key, None)
    # A row that was taken back more often than given shows: it must not be lost.
    missing = [f"-{text}" for text, count in rows.items() for _ in range(-count)]
    return sorted([*(+rows).elements(), *by_key.values(), *missing])


class RecordedSink(Sink[Any]):
    """Collects its input in the process of the program.

    :param key: see ``changes_of``.
    """

    def __init__(self, key: Sequence[int] | None) -> None:
        self._key = key
        self.changes: list[Change] = []
        """collected changes, in the order in which their epochs were committed"""

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return _Writer(self._key)

    def create_committer(self) -> Committer[Any]:
        return _Committer(self.changes)


class _Writer(SinkWriter[Any]):
    def __init__(self, key: Sequence[int] | None) -> None:
        self._key = key
        self._changes: list[Change] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._changes += changes_of(element, self._key)

    def prepare_commit(self) -> list[Any]:
        changes, self._changes = self._changes, []
        return [changes] if changes else []


class _Committer(Committer[list[Change]]):
    def __init__(self, kept: list[Change]) -> None:
        self._kept = kept

    def commit(self, committables: Sequence[list[Change]]) -> None:
        for changes in committables:
            self._kept += changes


_PAUSE = 0.02
"""Pause between two polls of sources that had no records (s)."""
_EPOCH_MILLIS = 200


@dataclass(frozen=True)
class Variant:
    """A way to run a job. Its results must be the same in all variants."""

    name: str
    epoch_records: int | None = None
    """largest number of records of a subtask in an epoch; None: everything is one epoch"""
    workers: int = 1
    """number of workers between which tasks move after an epoch, restored from their state"""
    seed: int = 0


ALL_AT_ONCE = Variant("all at once")


def variants(seed: int) -> list[Variant]:
    """The variants besides ``ALL_AT_ONCE``. The name of each contains the seed that reproduces it."""
    return [
        Variant("one by one", 1),
        *(Variant(f"random epochs, seed {each}", random.Random(each).randint(2, 9)) for each in (seed, seed + 1)),
        Variant(f"moved and restored, seed {seed}", random.Random(seed).randint(1, 3), workers=3, seed=seed),
    ]


@dataclass(frozen=True)
class Played:
    """The result of playing a recording."""

    run: LocalRun
    results: dict[str, list[str]]
    """name of each sink -> its results, as ``left_over`` gives them"""


def sources_of(job: JobGraph) -> dict[str, OperatorInfo]:
    """The sources to be recorded, by unique names. Lists are not among them, since the program contains them."""
    found = [info for info in job.operators if isinstance(info.spec, specs.Source)]
    return _named([info for info in found if not isinstance(_source(info), CollectionSource)])


def _source(info: OperatorInfo) -> Source[Any, Any]:
    assert isinstance(info.spec, specs.Source)
    return info.spec.source


def _named(infos: list[OperatorInfo]) -> dict[str, OperatorInfo]:
    named: dict[str, OperatorInfo] = {}
    for info in infos:
        twins = sum(each.name == info.name for each in named.values())
        named[f"{info.name} ({twins + 1})" if twins else info.name] = info
    return named


def record(
    job: JobGraph, infos: Mapping[Path, OperatorInfo], records: int | None = None, seconds: float | None = None
) -> None:
    """Record the elements of a job's sources, each into its file; the rest of the job does not run.

    :param records: largest number for each subtask of a source; None: all until their end.
    :param seconds: time limit; None: until all sources have emitted enough.
    """
    recording = []
    for path, info in infos.items():
        path.touch()
        recording.append(_with_source(info, RecordingSource(_source(info), str(path), records)))
    alone = replace(
        job, operators=tuple(recording), edges=(), leading_edges=0, partitions=job.partitions[:1], batch=False,
        epoch_records=records, epoch_millis=_EPOCH_MILLIS,
    )  # fmt: skip
    ends = None if seconds is None else time.monotonic() + seconds
    epochs = LocalEngine(alone, now_millis).epochs()
    for epoch in epochs:
        if ends is not None and time.monotonic() >= ends:
            epochs.close()
        elif not epoch.records:
            time.sleep(_PAUSE)


def _with_source(info: OperatorInfo, source: Source[Any, Any]) -> OperatorInfo:
    assert isinstance(info.spec, specs.Source)
    return replace(info, spec=replace(info.spec, source=source))


def play(job: JobGraph, recorded: Mapping[int, Path], variant: Variant) -> Played:
    """Run a job on recorded sources to their end.

    :param recorded: id of each source -> its file.
    :raises JobFailedError: a function failed.
    """
    kept = {info.id: RecordedSink(_key(job, info)) for info in job.operators if _is_sink(info)}
    operators = tuple(_played(info, recorded, kept) for info in job.operators)
    draw = random.Random(variant.seed)
    records = None if job.batch else variant.epoch_records
    changed = replace(job, operators=operators, epoch_records=records, epoch_millis=None)
    run = run_job(changed, workers=variant.workers, pick=draw.randrange)
    names = {name: info.id for name, info in _named([info for info in job.operators if info.id in kept]).items()}
    results = {name: left_over(kept[id].changes) for name, id in names.items()}
    if any(isinstance(info.spec, specs.Collect) for info in job.operators):
        results["collected"] = left_over(change for element in run.collected for change in changes_of(element))
    return Played(run, results)


def _is_sink(info: OperatorInfo) -> bool:
    return isinstance(info.spec, (specs.Sink, specs.StatefulSink, specs.Print))


def _played(info: OperatorInfo, recorded: Mapping[int, Path], kept: Mapping[int, RecordedSink]) -> OperatorInfo:
    if isinstance(info.spec, specs.Source) and isinstance(info.spec.source, CollectionSource):
        return _with_source(info, OneByOne(info.spec.source))
    if info.id in recorded:
        return _with_source(info, PlayedSource(recorded[info.id], _source(info).get_produced_type()))
    if info.id in kept:
        return replace(info, spec=specs.Sink(kept[info.id]))
    return info


def _key(job: JobGraph, sink: OperatorInfo) -> tuple[int, ...] | None:
    """The columns by which a table sink identifies rows, and by which changes are distributed to it."""
    ways: Iterator[Any] = (edge.partitioner for edge in job.edges if edge.target == sink.id)
    return next((each.columns for each in ways if isinstance(each, ByColumns)), None)
