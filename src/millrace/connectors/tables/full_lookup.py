"""``FullLookup``: a look-up join against a table that each task reads as a whole and holds in memory.

``read_all`` reads the bounded source in one go, ``Index`` finds rows by their key, and ``Reload`` says when the table
is read again: Flink's options ``lookup.full-cache.*``. While the table is read again, look-ups use the rows of the last
reading.
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from millrace.common.source import (
    Boundedness,
    InputStatus,
    ReaderOutput,
    Source,
    SourceEvent,
    SourceReaderContext,
    SplitEnumeratorContext,
)
from millrace.relational.rex import Field
from millrace.relational.rows import concat
from millrace.relational.sources import LookupTableSource, TableContext, TableSource
from millrace.relational.types import DataType
from millrace.relational.values import to_python
from millrace.util.threads import JobThread

if TYPE_CHECKING:
    from millrace.connectors.tables.table_options import TableOptions


FULL_CACHE_OPTIONS = (
    "lookup.cache",
    "lookup.full-cache.reload-strategy",
    "lookup.full-cache.periodic-reload.interval",
    "lookup.full-cache.periodic-reload.schedule-mode",
    "lookup.full-cache.timed-reload.iso-time",
    "lookup.full-cache.timed-reload.interval-in-days",
)
_INTERVAL, _MODE = FULL_CACHE_OPTIONS[2:4]
_TIME, _DAYS = FULL_CACHE_OPTIONS[4:]
_DAY = 24 * 3600.0


@dataclass(frozen=True)
class Reload:
    """
    :ivar interval: seconds; None: it is read once.
    :ivar fixed_rate: whether the interval counts from the begin of a reading, not from its end.
    :ivar at: the time of day of the first reading, for those by the clock.
    """

    interval: float | None = None
    fixed_rate: bool = False
    at: dt.time | None = None

    @staticmethod
    def of(options: TableOptions) -> Reload:
        """:raises TableException: for what cannot be."""
        given = options.given
        strategy = options.one_of("lookup.full-cache.reload-strategy", "periodic", ("periodic", "timed"))
        if strategy == "timed":
            if _TIME not in given:
                raise options.problem(_TIME, "is needed for the reload strategy TIMED")
            days = options.number(_DAYS)
            if days is not None and days < 1:
                raise options.problem(_DAYS, "is 1 or more")
            return Reload(_DAY * (days or 1), True, _time_of_day(given[_TIME], options))
        rate = options.one_of(_MODE, "fixed_delay", ("fixed_delay", "fixed_rate"))
        millis = options.millis(_INTERVAL, None)
        if millis is not None and millis <= 0:
            raise options.problem(_INTERVAL, "is more than 0")
        return Reload(None if millis is None else millis / 1000, rate == "fixed_rate")

    def wait(self, began: dt.datetime, ended: dt.datetime) -> float | None:
        """Seconds from the end of a reading to the next one, None for never.

        :param began: when the reading began, with a zone.
        """
        if self.interval is None:
            return None
        if self.at is None:
            passed = (ended - began).total_seconds() if self.fixed_rate else 0.0
            return max(0.0, self.interval - passed)
        zone = self.at.tzinfo
        first = dt.datetime.combine(began.astimezone(zone).date(), self.at, zone or began.astimezone().tzinfo)
        while first <= ended:
            first += dt.timedelta(seconds=self.interval if first > began else _DAY)
        return (first - ended).total_seconds()


def _time_of_day(text: str, options: TableOptions) -> dt.time:
    """``10:15`` in the zone of the machine, ``10:15Z``, ``10:15+07:00``."""
    try:
        return dt.time.fromisoformat(text.removesuffix("Z") + ("+00:00" if text.endswith("Z") else ""))
    except ValueError:
        raise options.problem(_TIME, "is a time of day, as in 10:15 or 10:15:30+01:00") from None


class Index:
    """Rows stay in columns; only those that are found become tuples. Rows with NULL in the key are never found.

    :param columns: all of the table; empty: it has no rows.
    """

    def __init__(self, columns: Sequence[pa.Array], types: Sequence[DataType], key: Sequence[int]) -> None:
        self._columns, self._types = list(columns), list(types)
        self._places: dict[tuple[Any, ...], list[int]] = {}
        if self._columns:
            values = zip(*(to_python(self._columns[place], self._types[place]) for place in key))
            for number, each in enumerate(values):
                if None not in each:
                    self._places.setdefault(each, []).append(number)

    def find(self, keys: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        """The rows of each key, in their order in the table."""
        found = [self._places.get(tuple(key), ()) for key in keys]
        wanted = pa.array([number for each in found for number in each], pa.int64())
        if not len(wanted):
            return [[] for _ in keys]
        taken = (to_python(column.take(wanted), kind) for column, kind in zip(self._columns, self._types))
        rows = zip(*taken)
        return [[next(rows) for _ in each] for each in found]


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


logger = logging.getLogger(__name__)

QUIET_SECONDS = 300.0
"""Seconds without a row after which reading the table has failed."""
CLOSING_SECONDS = 10.0


class FullLookup(LookupTableSource):
    """Reads the table in ``open``, in each task, and again as ``reload`` says, beside the look-ups: these find the rows
    of the last reading. A reading that fails fails the next look-up.

    :param key: which of the columns are the key.
    """

    def __init__(self, source: TableSource, table: TableContext, key: Sequence[int], reload: Reload) -> None:
        self._source = source
        self._summary = table.summary
        self._columns = (*table.columns, *(_field(each) for each in table.metadata))
        self._key = tuple(key)
        self._reload = reload
        self._index = Index([], [], self._key)
        self._failure: Exception | None = None
        self._closed: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def __getstate__(self) -> dict[str, Any]:
        kept = {"_closed": None, "_thread": None, "_index": Index([], [], self._key), "_failure": None}
        return {**self.__dict__, **kept}

    def open(self) -> None:
        began = _aware_now()
        self._load()
        self._closed = threading.Event()
        wait = self._reload.wait(began, _aware_now())
        if wait is not None:
            name = f"reloads of {self._summary}"
            self._thread = JobThread(target=self._again, args=(wait, self._closed), name=name, daemon=True)
            self._thread.start()

    def _load(self) -> None:
        source = self._source.stream(range(len(self._columns)))
        parts = [rows for rows in read_all(source, f"table {self._summary}", QUIET_SECONDS) if len(rows)]
        columns = concat(parts).columns if parts else []
        self._index = Index(columns, [column.type for column in self._columns], self._key)

    def _again(self, wait: float | None, closed: threading.Event) -> None:
        while wait is not None and not closed.wait(wait):
            began = _aware_now()
            try:
                self._load()
            except Exception as error:
                logger.exception("table %s cannot be read again", self._summary)
                self._failure = error
                return
            wait = self._reload.wait(began, _aware_now())

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        if self._failure is not None:
            raise RuntimeError(f"table {self._summary} cannot be read again: {self._failure}") from self._failure
        return self._index.find(keys)

    def close(self) -> None:
        if self._closed is not None:
            self._closed.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(CLOSING_SECONDS)


def _aware_now() -> dt.datetime:
    return dt.datetime.now().astimezone()


def _field(metadata: tuple[str, str, Any]) -> Field:
    name, _, kind = metadata
    return Field(name, kind)
