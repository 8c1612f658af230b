"""The contracts between the planner and table connectors or message formats: sources, lookups and sinks, each in the
forms that streaming and batch plans need, and formats, which convert between bytes and rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import pyarrow as pa

from millrace.common.configuration import to_int, to_long
from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.common.types import RowKind
from millrace.common.watermark_strategy import WatermarkAlignment
from millrace.relational.rex import Rex, Schema
from millrace.relational.rows import Rows
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean
from millrace.util.record import Record

# Whole numbers among the options

LONGS = frozenset(
    (
        "scan.startup.timestamp-millis",
        "scan.bounded.timestamp-millis",
        "scan.startup.specific-offset.pos",
        "scan.startup.specific-offset.skip-events",
        "scan.startup.specific-offset.skip-rows",
        "scan.partition.lower-bound",
        "scan.partition.upper-bound",
        "scan.range.start",
        "scan.range.stop",
        "lookup.partial-cache.max-rows",
        "lookup.cache.max-rows",
        "sink.flush-buffer.size",
        "sink.flush-buffer.timeout",
        "sink.maxlen",
        "number-of-rows",
        "rows-per-second",
        "seed",
    )
)
"""the options of 64 bits; every other whole number has 32"""


def whole_number(name: str, text: str) -> int:
    """The value of an option, within the range of its type.

    :raises ValueError: it is no whole number, or out of range.
    """
    return to_long(text) if name in LONGS else to_int(text)


# Sources, lookups, sinks

INSERT_ONLY = frozenset({RowKind.INSERT})
ALL_KINDS = frozenset(RowKind)
NULL_TIMES = "scan.watermark.null-times"
"""Option of every table with a watermark: what to do with rows whose time is NULL, ``fail`` or ``drop``."""
MAX_JUMP = "scan.watermark.max-jump"
"""Option of every table with a watermark: how far one row may move event time forward."""
UPSERT = frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE})


class TableContext(Record):
    """A table as its DDL describes it, for the connector's factory."""

    path: tuple[str, str, str]
    """catalog, database, name"""
    columns: Schema
    """physical columns in their order"""
    metadata: tuple[tuple[str, str, Any], ...] = ()
    """metadata columns: (name, key, type); virtual ones are not written"""
    primary_key: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """the options in WITH, 'connector' included"""
    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    """the session's configuration"""
    streaming: bool = True
    comment: str = ""

    @property
    def summary(self) -> str:
        return ".".join(self.path)

    def check_readable(self, readable: Collection[str] = ()) -> None:
        """:raises TableException: a metadata column that messages of the connector don't have."""
        self._check(readable, "has no metadata", "")

    def check_writable(self, writable: Collection[str] = ()) -> None:
        """:raises TableException: a metadata column that the sink does not write; the table says which are not
        VIRTUAL."""
        self._check(writable, "does not write metadata", ". Declare the column as VIRTUAL")

    def _check(self, known: Collection[str], what: str, advice: str) -> None:
        for name, key, _ in self.metadata:
            if key not in known:
                there = f"; there are {', '.join(known)}" if known else ""
                raise TableException(
                    f"table {self.summary}, column '{name}': connector '{self.options.get('connector')}' {what} "
                    f"'{key}'{did_you_mean(key, list(known))}{there}{advice}"
                )


class SourceWatermarks(Record):
    """How the watermark of a table is made inside its source, of every split for itself."""

    idle_timeout: int | None = None
    """ms without rows until a split counts as idle; None: as the session says"""
    alignment: WatermarkAlignment | None = None


class Aggregation(Record):
    """Aggregates of a table that its source might compute itself. Columns are counted in the whole table."""

    keys: tuple[int, ...]
    calls: tuple[tuple[str, int | None], ...]
    """(COUNT, SUM, MIN, MAX or AVG, its column); None: of rows"""
    columns: Schema
    """the result's columns: keys, then aggregates"""
    filters: tuple[Rex, ...] = ()
    """what rows must pass to be counted"""


class TableSource(ABC):
    """Reads a table. A source of streaming plans gives ``Rows`` with the columns that were asked for."""

    kinds: frozenset[RowKind] = INSERT_ONLY
    """kinds of change that its rows can have"""
    bounded = True
    primary_key: tuple[int, ...] = ()
    """the columns of the PRIMARY KEY; set by the code that makes the source of a table"""
    table: TableContext | None = None
    """the table that is read, set by the code that makes the source: equal tables of one job are read once"""
    uses_filters = False
    """whether it reads less for the filters of ``stream``"""
    repeats_deletions = False
    """whether it may delete rows that it has not given since the last checkpoint: those of an attempt that failed,
    which a sink may have"""
    repeats_changes = False
    """whether its changes may come twice, or without old rows, and are put right by the primary key; whoever makes the
    source of a table fills it in (``table.exec.source.cdc-events-duplicate``)"""
    watermarks: SourceWatermarks | None = None
    """watermarks that the source makes for each split; None: they follow from the rows of a subtask in order of
    arrival"""

    @abstractmethod
    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        """A source (FLIP-27) whose elements are ``Rows`` of these columns of the table (physical, then metadata ones).

        :param filters: conditions over all columns of the table; whoever can read less may use them.
        """

    def limited(self, count: int, filters: Sequence[Rex]) -> TableSource | None:
        """A source for a LIMIT: it reads about so many rows that pass all filters, perhaps more.

        :returns: None where it cannot read less.
        """
        return None

    def aggregated(self, asked: Aggregation) -> TableSource | None:
        """A source of the aggregates in place of the rows. None: it cannot compute them, or not the same ones."""
        return None

    def counted_rows(self) -> int | None:
        """About how many rows it has, where that costs little to find out: the heads of files. None: it does not."""
        return None

    @property
    def pushed(self) -> tuple[str, ...]:
        """What it does beyond reading columns and filters, for EXPLAIN."""
        return ()

    def frame(self, session: Any, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Any:
        """Read the table as a Spark DataFrame with columns named c0, c1, ...; None: batch mode reads the source of
        ``stream``."""
        return None


def goes_by_key(source: Any) -> bool:
    """Whether the rows of a source are changes by primary key without their old content, so that operators have to
    store it."""
    return getattr(source, "kinds", None) == UPSERT or getattr(source, "repeats_changes", False)


class LookupTableSource(ABC):
    """Finds rows of an external table by key. Lives in the tasks: opened there, closed there."""

    table: TableContext | None = None
    """the table that is looked up; set by the code that makes the source of a table"""
    capacity: int | None = None
    """the most concurrent requests of a source that sends several; set by the planner of the look-up"""

    def open(self) -> None: ...

    @abstractmethod
    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        """For every key (values of the key columns, in the order that ``lookup_source`` was given) the rows of the
        table that have it, as tuples of all its physical columns."""

    def close(self) -> None: ...


class TableSink(ABC):
    """Writes a table."""

    kinds: frozenset[RowKind] = INSERT_ONLY
    """kinds of change that it can take; the planner turns updates into what it takes, or refuses"""
    keys: tuple[str, ...] = ()
    """the primary key of an upsert sink; empty for other sinks"""
    table: TableContext | None = None
    """the table that is written; set by the code that makes the sink of a table"""
    together: tuple[str, ...] = ()
    """columns: rows that have the same values there go to one subtask"""
    parallelism: int | None = None
    """subtasks that write; None: as many as the plan has"""
    writes_frames = False
    """whether batch mode calls ``write_frame``; else the sink of ``stream`` writes there, too"""

    @abstractmethod
    def stream(self) -> Sink[Rows]:
        """A sink (FLIP-143) for ``Rows`` with the columns of the table."""

    def overwriting(self, partition: Mapping[str, Any]) -> TableSink | None:
        """This sink for INSERT OVERWRITE in batch mode: what its rows replace goes when they are visible. None: it can
        only append.

        :param partition: static PARTITION (name = value, ...).
        """
        return None

    def write_frame(self, frame: Any, overwrite: bool, partition: Mapping[str, Any]) -> None:
        """Write a Spark DataFrame with columns named c0, c1, ... in batch mode, if ``writes_frames``."""
        raise NotImplementedError


class Changed(Record):
    """What a statement has done to a table."""

    rows: int | None = None
    """how many rows there were; None where the system does not say"""


class TableChanger(ABC):
    """Changes rows of an existing table: DELETE, UPDATE, TRUNCATE.

    A statement is passed on as a whole if the system can express it. Otherwise either the rows are read and written by
    their ``keys``, or the whole table is rewritten by the sink of ``rewriting``.
    """

    keys: tuple[int, ...] = ()
    """columns that ``write`` finds rows by"""

    @abstractmethod
    def truncate(self) -> None:
        """Take all rows away."""

    def delete(self, condition: Rex | None) -> Changed | None:
        """Take away the rows for which a condition over all columns is TRUE; None, and nothing done: it cannot be
        expressed."""
        return None

    def update(self, values: Mapping[int, Rex], condition: Rex | None) -> Changed | None:
        """Give columns new values in these rows; None as of ``delete``."""
        return None

    def write(self, rows: Rows) -> None:
        """Write or delete rows, with all columns of the table, by their keys: all of them or none."""
        raise NotImplementedError

    def rewriting(self) -> TableSink | None:
        """A sink whose rows take the place of all that the table has now; None: there is no such thing."""
        return None


class Inferred(Record):
    """What a table's data tell about a table that was declared without columns."""

    columns: Schema
    options: Mapping[str, str]
    """options that were inferred together with the columns, in addition to the given ones"""


class TableFactory(ABC):
    """A connector by its name in WITH ('connector' = ...)."""

    identifier: str
    extra: str | None = None
    """the extra of Millrace's distribution with the packages that it needs; ``jdbc``: the URL of a table says which"""
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    """names of optional options; one that ends with a dot stands for all that begin with it. Other names are
    refused."""
    hands_on = False
    """whether options with other names are allowed, and passed on to another system"""

    def inferred(self, options: Mapping[str, str], table: str) -> Inferred | None:
        """The columns of a table that names none; None: the connector can't know them.

        :raises TableException: they can't be known from these data.
        """
        return None

    def stands_in(self, options: Mapping[str, str]) -> str | None:
        """The connector that takes a table with these options in the place of this one; None: none, as usual."""
        return None

    def source(self, table: TableContext) -> TableSource:
        raise NotImplementedError(f"table {table.summary}: connector '{self.identifier}' cannot be read from")

    def looks_up(self, table: TableContext) -> bool:
        """Whether ``lookup_source`` finds the rows of keys of this table."""
        return type(self).lookup_source is not TableFactory.lookup_source

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        raise NotImplementedError(f"table {table.summary}: connector '{self.identifier}' cannot be looked up")

    def sink(self, table: TableContext) -> TableSink:
        raise NotImplementedError(f"table {table.summary}: connector '{self.identifier}' cannot be written to")

    def changer(self, table: TableContext) -> TableChanger | None:
        """What changes rows of this table in place; None: the connector only appends, or only reads."""
        return None


# Formats


class FormatContext(Record):
    """What a format has to know of a table. Options come without the prefix of the connector: ``'json.fail-on-...'``
    of the table is ``'fail-on-...'`` here."""

    table: str
    """the table's name, for errors"""
    columns: Schema
    """physical columns that the format reads or writes, in their order"""
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    metadata: tuple[str, ...] = ()
    """keys of ``DecodingFormat.readable_metadata`` that are wanted, as columns after the physical ones"""
    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)
    """the session's configuration"""
    subject: str = ""
    """the schema registry's subject for these messages; empty if the connector does not know it"""


class Decoded(Record):
    """The rows decoded from messages."""

    rows: Rows
    messages: Any
    """for every row the number of its message (a numpy array of integers), so that a connector can add its own
    metadata; None: row n came from message n"""
    skipped: int = 0
    """number of malformed messages that were skipped, as the user wants"""


class DecodingFormat(ABC):
    """Bytes to rows. Pickled into the tasks."""

    kinds: frozenset[RowKind] = INSERT_ONLY
    """kinds of change that its rows can have"""

    @abstractmethod
    def decode(self, messages: pa.Array) -> Decoded:
        """Rows of messages (an Arrow array of binary; NULL is a message without a value: no row, for ``raw`` a NULL).

        :raises ValueError: for a malformed message; says which of the messages, and what is wrong.
        """

    def narrowed(self, places: Sequence[int]) -> DecodingFormat | None:
        """One that gives only these columns; None if all have to be read to know one."""
        return None

    def decode_lines(self, block: bytes) -> Rows | None:
        """The rows of whole lines, each a message, decoded together; None: they have to be decoded one by one."""
        return None


class EncodingFormat(ABC):
    """Rows to bytes. Pickled into the tasks."""

    kinds: frozenset[RowKind] = INSERT_ONLY
    """kinds of change that it can write"""

    @abstractmethod
    def encode(self, rows: Rows) -> pa.Array:
        """A message (binary) for every row; NULL is a message without a value (``raw`` writes it for NULL).

        :raises ValueError: for a row that the format cannot hold.
        """


class FormatFactory(ABC):
    """A format by its name in WITH ('format' = ...)."""

    identifier: str
    extra: str | None = None
    """the extra of Millrace's distribution with the packages that it needs; ``jdbc``: the URL of a table says which"""
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    """names of optional options, without prefix; other names are refused"""
    readable_metadata: Mapping[str, DataType] = {}
    """what METADATA FROM 'value.<key>' can name"""

    def decoding(self, table: FormatContext) -> DecodingFormat:
        raise NotImplementedError(f"format '{self.identifier}' cannot be read")

    def encoding(self, table: FormatContext) -> EncodingFormat:
        raise NotImplementedError(f"format '{self.identifier}' cannot be written")
