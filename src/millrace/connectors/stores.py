"""What connectors to databases and other stores share: writing in buffers, the last row of each key, reading in parts
side by side, look-ups of many keys at once, errors of the connection.

A buffer is written when it is full, after a while, and at the end of each epoch.
"""

from __future__ import annotations

import logging
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.source import Boundedness, ReaderOutput, Source, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.dbapi import Change
from millrace.connectors.sink_base import Patience
from millrace.connectors.source_base import QueueEnumerator, QueueReader, split_range
from millrace.relational.rows import Rows
from millrace.relational.sources import LookupTableSource


class ConnectionFailed(Exception):
    """A store cannot be reached, or refuses. :ivar passing: whether that may be over a moment later."""

    def __init__(self, message: str, passing: bool) -> None:
        super().__init__(message)
        self.passing = passing

    def __reduce__(self) -> tuple[type[ConnectionFailed], tuple[str, bool]]:
        return ConnectionFailed, (str(self), self.passing)


def trusted(url: str) -> ssl.SSLContext | bool:
    """For httpx: the machine's certificates, or those that SSL_CERT_FILE names. None are loaded where there is no TLS,
    since that takes longer than many a query."""
    return ssl.create_default_context() if url.lower().startswith("https:") else False


T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Buffering:
    """When buffered rows are written before the epoch ends, and how often a failed write is retried."""

    max_rows: int = 50_000
    """the most rows of a buffer; 0: as many as an epoch has"""
    interval: float = 1.0
    """the most seconds that a row waits; 0: without limit"""
    retries: int = 3
    pause: float = 1.0
    """seconds before the first retry; each later one waits that much longer"""
    max_bytes: int = 0
    """the most bytes of a buffer, as the sink weighs its elements; 0: without limit"""

    def patience(self, context: WriterInitContext) -> Patience:
        """The timer of a writer: how long its rows wait."""
        return Patience(context.current_processing_time, self.interval * 1000 or None)


class Reachable(ABC):
    """A way to a store, which travels into tasks."""

    @abstractmethod
    def __call__(self) -> Any:
        """A new connection, which has ``close()``."""

    @abstractmethod
    def is_passing(self, error: BaseException) -> bool:
        """Whether the same may work a moment later."""

    def commit(self, connection: Any) -> None:
        """What was done with the connection is to stay. Stores without transactions have nothing to do."""


class BufferedSink(Sink[T], Generic[T]):
    """**At least once**: what was written in an epoch that failed is written again. Where each element replaces the row
    of its key that changes nothing in the end.

    :param size: how many rows an element is.
    :param weight: how many bytes an element is, for ``Buffering.max_bytes``.
    """

    def __init__(
        self,
        store: Reachable,
        change: Change[T],
        buffering: Buffering,
        size: Callable[[T], int],
        weight: Callable[[T], int] | None = None,
    ) -> None:
        self._store = store
        self._change = change
        self._buffering = buffering
        self._size = size
        self._weight = weight

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T]:
        buffering = self._buffering
        retrying, patience = Retrying(self._store, buffering), buffering.patience(context)
        return _Writer(retrying, self._change, buffering, patience, self._size, self._weight)


class _Writer(SinkWriter[T]):
    def __init__(
        self,
        retrying: Retrying,
        change: Change[T],
        buffering: Buffering,
        patience: Patience,
        size: Callable[[T], int],
        weight: Callable[[T], int] | None,
    ) -> None:
        self._retrying = retrying
        self._change = change
        self._buffering = buffering
        self._patience = patience
        self._size = size
        self._weight = weight
        self._waiting: list[T] = []
        self._count = 0
        self._bytes = 0

    def write(self, element: T, context: SinkWriterContext) -> None:
        self._patience.begin()
        self._waiting.append(element)
        self._count += self._size(element)
        if self._weight is not None:
            self._bytes += self._weight(element)
        settings = self._buffering
        if (
            (settings.max_rows and self._count >= settings.max_rows)
            or (settings.max_bytes and self._bytes >= settings.max_bytes)
            or self._patience.is_over()
        ):
            self._apply()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._apply()

    def flush(self, end_of_input: bool) -> None:
        if self._waiting:
            self._apply()

    def _apply(self) -> None:
        waiting, self._waiting, self._count, self._bytes = self._waiting, [], 0, 0
        self._patience.end()
        self._retrying.run(lambda connection: self._change.apply(connection, waiting))

    def close(self) -> None:
        self._retrying.close()


class Retrying:
    """A connection that is replaced when it is lost. Each piece of work is one transaction, or may come again without
    harm."""

    def __init__(self, store: Reachable, buffering: Buffering) -> None:
        self._store = store
        self._buffering = buffering
        self._connection: Any = None

    def run(self, work: Callable[[Any], Any]) -> Any:
        """What ``work`` gives, committed."""
        settings = self._buffering
        for attempt in range(settings.retries + 1):
            try:
                if self._connection is None:
                    self._connection = self._store()
                result = work(self._connection)
                self._store.commit(self._connection)
                return result
            except Exception as error:
                self.close()  # which takes back what was not committed
                if attempt == settings.retries or not self._may_pass(error):
                    raise
                logger.warning("%s; trying again", error)
                time.sleep(settings.pause * (attempt + 1))
        raise AssertionError("not reached")

    def _may_pass(self, error: BaseException) -> bool:
        passing = getattr(error, "passing", None)
        return bool(passing) if passing is not None else self._store.is_passing(error)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def last_rows(rows: Rows, names: Sequence[str], places: Sequence[int], table: str) -> Rows:
    """The last row of each key, in the order of the keys: so two tasks never wait for each other. All rows, if there
    is no key.

    :param names: of the key columns.
    :param places: of the key columns.
    :raises ValueError: a key is NULL.
    """
    if not places or not len(rows):
        return rows
    keys = [rows.columns[place] for place in places]
    for name, key in zip(names, keys):
        if key.null_count:
            raise ValueError(f"table {table}: the key column '{name}' must not be NULL")
    if len(keys) == 1 and pa.types.is_integer(keys[0].type):
        return rows.take(_last_numbers(keys[0]))
    labels = [f"k{place}" for place in range(len(keys))]
    columns = pa.table([*keys, pa.array(np.arange(len(rows)))], [*labels, "at"])
    last = columns.group_by(labels, use_threads=False).aggregate([("at", "max")])
    ordered = last.sort_by([(name, "ascending") for name in labels])
    return rows.take(ordered["at_max"].combine_chunks())


def _last_numbers(key: pa.Array) -> pa.Array:
    """The places of the last of equal numbers, by number: half of the time that groups take."""
    numbers = key.to_numpy()
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    return pa.array(order[np.append(ordered[1:] != ordered[:-1], True)])


@dataclass(frozen=True)
class Partitions:
    """A column of whole numbers whose values cut the table into parts."""

    column: str
    count: int
    lower: int
    upper: int
    """the highest value that is read"""

    def conditions(self, name: str) -> list[str]:
        """:param name: of the column, quoted."""
        parts = split_range(self.lower, self.upper + 1, self.count)
        return [f"{name} BETWEEN {part.start} AND {part.stop - 1}" for part in parts]


PartT = TypeVar("PartT")


class PartsSource(Source[T, PartT], Generic[T, PartT]):
    """Reads the parts of a store. One is read in one epoch: elements without an order have no place to go on from."""

    @abstractmethod
    def parts(self) -> Sequence[PartT]:
        """All parts; asked once, on the driver. Each has a ``split_id``."""

    @abstractmethod
    def elements(self, part: PartT) -> Iterator[T]:
        """The elements of a part; called in tasks."""

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[PartT], checkpoint: Sequence[PartT] | None = None
    ) -> QueueEnumerator[PartT]:
        return QueueEnumerator(context, self.parts() if checkpoint is None else checkpoint)

    def create_reader(self, context: SourceReaderContext) -> PartsReader[T, PartT]:
        return PartsReader(self)


class PartsReader(QueueReader[T, PartT], Generic[T, PartT]):
    """Reads one part after the other."""

    def __init__(self, source: PartsSource[T, PartT]) -> None:
        super().__init__()
        self._source = source

    def read(self, split: PartT, output: ReaderOutput[T]) -> None:
        for element in self._source.elements(split):
            output.collect(element)


MOST = 2_000
"""keys that are asked for together"""

Found = Sequence[tuple[Any, ...]]
"""the rows of a key"""


def by_key(rows: Iterable[tuple[Any, ...]], places: Sequence[int], keys: Sequence[tuple[Any, ...]]) -> list[Found]:
    """The rows of each key; what has none of them is left out.

    :param places: of the key in the rows.
    """
    answers: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {key: [] for key in keys}
    for row in rows:
        key = tuple(row[place] for place in places)
        if key in answers:
            answers[key].append(row)
    return [answers[key] for key in keys]


class StoreLookup(LookupTableSource):
    """Looks up rows over a connection that stays open, and is replaced when it is lost.

    :ivar options: the table's options, from which the settings of the cache are read.
    """

    def __init__(self, store: Reachable, options: Mapping[str, str], buffering: Buffering, most: int = MOST) -> None:
        self.options = {name: value for name, value in options.items() if name.startswith("lookup.")}
        self._store = store
        self._buffering = buffering
        self._most = most
        self._retrying: Retrying | None = None

    @abstractmethod
    def ask(self, connection: Any, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        """The rows of each key, in the order of the keys."""

    def _asked(self, keys: Sequence[tuple[Any, ...]], connection: Any) -> Sequence[Found]:
        return self.ask(connection, keys)

    def described(self, error: Exception) -> Exception:
        """The error for the user when the store refuses a query."""
        return error

    def open(self) -> None:
        self._retrying = Retrying(self._store, self._buffering)

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Found]:
        assert self._retrying is not None, "open() comes first"
        found: list[Found] = []
        for begin in range(0, len(keys), self._most):
            some = keys[begin : begin + self._most]
            try:
                found += self._retrying.run(partial(self._asked, some))
            except (ImportError, ValueError, LookupError):
                raise
            except Exception as error:
                raise self.described(error) from error
        return found

    def close(self) -> None:
        if self._retrying is not None:
            self._retrying.close()
