"""Reads a bounded source to its end, in one go: an enumerator and a reader that share a thread."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, TypeVar

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceEvent,
    SourceReaderContext,
    SplitEnumeratorContext,
)

T = TypeVar("T")

PAUSE_SECONDS = 0.01
"""between two looks at a reader that has nothing yet"""


class _Output(ReaderOutput[Any]):
    def __init__(self) -> None:
        self.records: list[Any] = []

    def collect(self, record: Any, timestamp: int | None = None) -> None:
        self.records.append(record)

    def collect_batch(self, records: list[Any], timestamps: list[int] | None = None) -> None:
        self.records += records

    def emit_watermark(self, timestamp: int) -> None: ...

    def mark_idle(self) -> None: ...


class _ReaderContext(SourceReaderContext):
    def __init__(self) -> None:
        self.events: list[SourceEvent] = []

    def get_index_of_subtask(self) -> int:
        return 0

    def current_parallelism(self) -> int:
        return 1

    def current_processing_time(self) -> int:
        return int(time.time() * 1000)

    def send_source_event_to_coordinator(self, event: SourceEvent) -> None:
        self.events.append(event)


class _EnumeratorContext(SplitEnumeratorContext[Any]):
    def __init__(self) -> None:
        self.splits: list[Any] = []
        self.events: list[SourceEvent] = []
        self.no_more = False

    def current_parallelism(self) -> int:
        return 1

    def current_processing_time(self) -> int:
        return int(time.time() * 1000)

    def assign_split(self, split: Any, subtask_id: int) -> None:
        self.splits.append(split)

    def signal_no_more_splits(self, subtask_id: int) -> None:
        self.no_more = True

    def send_event_to_source_reader(self, subtask_id: int, event: SourceEvent) -> None:
        self.events.append(event)


def read_all(source: Source[T, Any], what: str, seconds: float) -> Iterator[T]:
    """All elements of a source.

    :param what: it is, for errors.
    :param seconds: in which something has to come, time after time.
    :raises ValueError: the source has no end.
    :raises TimeoutError: nothing comes.
    """
    if source.get_boundedness() is not Boundedness.BOUNDED:
        raise ValueError(f"{what} has no end: it cannot be kept as a whole")
    planning, asking, output = _EnumeratorContext(), _ReaderContext(), _Output()
    enumerator = source.create_enumerator(planning)
    with closing(enumerator), closing(source.for_readers().create_reader(asking)) as reader:
        enumerator.start()
        reader.start()
        told, until = False, time.monotonic() + seconds
        while True:
            for event in _taken(asking.events):
                enumerator.handle_source_event(0, event)
            if not planning.no_more:
                enumerator.handle_split_request(0)
            for event in _taken(planning.events):
                reader.handle_source_events(event)
            news = _taken(planning.splits)
            if news:
                reader.add_splits(news)
            if planning.no_more and not told:
                told = True
                reader.notify_no_more_splits()
            status = reader.poll_next(output)
            if output.records or news:
                until = time.monotonic() + seconds
            yield from _taken(output.records)
            if status is InputStatus.END_OF_INPUT:
                return
            if status is InputStatus.NOTHING_AVAILABLE:
                if time.monotonic() > until:
                    raise TimeoutError(f"{what}: nothing came for {seconds:g} s, and it is not at its end")
                time.sleep(PAUSE_SECONDS)


def _taken(waiting: list[Any]) -> Sequence[Any]:
    taken = list(waiting)
    waiting.clear()
    return taken
