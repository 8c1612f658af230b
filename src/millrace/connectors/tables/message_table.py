"""``MessageTableFactory``: the base of table connectors for message systems. Messages become rows and rows messages a
batch at a time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.connectors.messages import Message, MessageDecoder, MessageEncoder, MessageError, Outgoing
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.connectors.tables.table_declaration import (
    WATERMARK_OPTIONS,
    Format,
    MetadataColumn,
    source_watermarks,
)
from millrace.connectors.tables.table_options import TableOptions
from millrace.formats.tables.format_options import format_names
from millrace.formats.tables.message_reading import DEAD_LETTERS, with_dead_letters
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import (
    Decoded,
    DecodingFormat,
    EncodingFormat,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean
from millrace.util.skipped import record_skipped


@dataclass(frozen=True)
class MessageMetadata(MetadataColumn):
    """A metadata column of messages.

    :ivar given: the type in which messages have it.
    """

    given: DataType

    @property
    def natural(self) -> DataType:
        return self.given

    def values(self, messages: Sequence[Message]) -> list[Any]:
        return [message.metadata.get(self.key) for message in messages]


@dataclass(frozen=True)
class RowsDecoder(MessageDecoder[Rows]):
    """
    :ivar format: gives the physical columns that are wanted; or one more, if none is.
    :ivar places: of the result: the column of the format, or one of metadata.
    """

    format: DecodingFormat
    places: tuple[int | MessageMetadata, ...]

    def decode(self, messages: Sequence[Message]) -> tuple[list[Rows], list[int] | None]:
        found = self._decoded(messages)
        if not len(found.rows):
            return [], None
        taken = None if found.messages is None else pa.array(found.messages)
        columns = []
        for place in self.places:
            if isinstance(place, int):
                columns.append(found.rows.columns[place])
                continue
            column = place.read(messages)
            columns.append(column if taken is None else column.take(taken))
        return [Rows(record_batch(columns, len(found.rows)), found.rows.kinds)], None

    def _decoded(self, messages: Sequence[Message]) -> Decoded:
        contents = pa.array([each.value for each in messages], pa.binary())
        try:
            found = self.format.decode(contents)
            record_skipped(found.skipped)
            return found
        except ValueError as error:
            raise self._first_wrong(messages, contents, error) from error

    def _first_wrong(self, messages: Sequence[Message], contents: pa.Array, error: ValueError) -> Exception:
        """The error for the message that cannot be read; which one it is costs another look at each."""
        for place, message in enumerate(messages):
            try:
                self.format.decode(contents.slice(place, 1))
            except ValueError as cause:
                return MessageError(message, cause)
        return error


@dataclass(frozen=True)
class RowsEncoder(MessageEncoder[Rows]):
    """
    :ivar columns: how many physical columns there are; metadata that is written comes behind them.
    :ivar metadata: its keys; ``to`` is where a message goes.
    """

    format: EncodingFormat
    columns: int
    metadata: tuple[str, ...] = ()
    to: str = ""

    def encode(self, element: Rows, timestamp: int | None) -> Iterable[Outgoing]:
        columns = element.columns
        contents = self.format.encode(element.with_columns(columns[: self.columns])).to_pylist()
        own = {key: columns[self.columns + place].to_pylist() for place, key in enumerate(self.metadata)}
        for place, value in enumerate(contents):
            known = {key: values[place] for key, values in own.items() if values[place] is not None}
            to = known.pop(self.to, "")
            yield Outgoing(value or b"", str(to), timestamp, known)


GUARANTEES = ("at-least-once", "exactly-once")


def guarantee(options: TableOptions) -> DeliveryGuarantee:
    """What 'sink.delivery-guarantee' says; at least once unless it is set."""
    found = options.one_of("sink.delivery-guarantee", GUARANTEES[0], GUARANTEES)
    return DeliveryGuarantee.EXACTLY_ONCE if found == GUARANTEES[1] else DeliveryGuarantee.AT_LEAST_ONCE


MakeSource = Callable[[MessageDecoder[Rows]], Source[Any, Any]]


class MessageTableSource(TableSource):
    """Rows of messages.

    :param make: the source with a decoder.
    """

    def __init__(self, table: TableContext, format: Format, readable: Mapping[str, DataType], make: MakeSource) -> None:
        self._table, self._format, self._make = table, format, make
        self._metadata = tuple(_column(table, readable, *each) for each in table.metadata)
        self.watermarks = source_watermarks(table)
        whole = with_dead_letters(format.decoding(table.columns, (), table), table.options, table.summary)
        self.kinds = whole.kinds
        source = make(RowsDecoder(whole, ()))
        self.bounded = source.get_boundedness() is Boundedness.BOUNDED

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        table = self._table
        width = len(table.columns)
        physical = sorted({place for place in columns if place < width})
        # Which messages are rows is what the format says, also where nothing of them is wanted.
        fields = tuple(table.columns[place] for place in physical) or table.columns[:1]
        decoding = with_dead_letters(self._format.decoding(fields, (), table), table.options, table.summary)
        places = tuple(physical.index(place) if place < width else self._metadata[place - width] for place in columns)
        return self._make(RowsDecoder(decoding, places))


class MessageTableSink(TableSink):
    """Rows as messages."""

    def __init__(self, sink: Sink[Rows], encoder: RowsEncoder, parallelism: int | None) -> None:
        self._sink = sink
        self.kinds = encoder.format.kinds
        self.parallelism = parallelism

    def stream(self) -> Sink[Rows]:
        return self._sink


class MessageTableFactory(TableFactory):
    """The base for connectors of message systems: it takes care of format, metadata and watermarks.

    :cvar reading: options for reading only, ``writing`` for writing only, ``common`` for both.
    :cvar readable: metadata columns that can be read, and their types; ``writable`` those that can be written.
    :cvar to: the writable metadata that says where a message goes.
    """

    reading: tuple[str, ...] = ()
    writing: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    readable: Mapping[str, DataType] = {}
    writable: tuple[str, ...] = ()
    to = ""

    @property
    def optional(self) -> tuple[str, ...]:  # type: ignore[override]
        own = (*self.reading, *self.writing, *self.common, "format", "sink.parallelism", *WATERMARK_OPTIONS)
        return (*own, DEAD_LETTERS, *(f"{name}." for name in format_names()))

    @abstractmethod
    def make_source(self, options: TableOptions, decoder: MessageDecoder[Rows]) -> Source[Any, Any]:
        """The source that a table's options describe.

        :raises TableException: for what they say that cannot be.
        """

    @abstractmethod
    def make_sink(self, options: TableOptions, encoder: MessageEncoder[Rows]) -> Sink[Any]:
        """The sink, likewise."""

    def encoder(self, table: TableContext, encoder: RowsEncoder) -> RowsEncoder:
        """For connectors whose messages have more than content and metadata."""
        return encoder

    def source(self, table: TableContext) -> TableSource:
        options = TableOptions(table)
        return MessageTableSource(
            table,
            self._format(table),
            self.readable,
            lambda decoder: _with_table_name(table, self.make_source, options, decoder),
        )

    def sink(self, table: TableContext) -> TableSink:
        options = TableOptions(table)
        table.check_writable(self.writable)
        written = tuple(key for _, key, _ in table.metadata)
        encoding = self._format(table).encoding(table.columns, table)
        encoder = self.encoder(table, RowsEncoder(encoding, len(table.columns), written, self.to))
        sink = _with_table_name(table, self.make_sink, options, encoder)
        return MessageTableSink(sink, encoder, options.number("sink.parallelism"))

    def _format(self, table: TableContext) -> Format:
        found = Format.named("format", table)
        if found is None:
            raise TableException(f"table {table.summary}: connector '{self.identifier}' needs 'format'")
        return found


def _with_table_name(table: TableContext, make: Callable[..., Any], *what: Any) -> Any:
    """What ``make`` makes; what is wrong with its options is given with the table's name."""
    try:
        return make(*what)
    except ValueError as error:
        if isinstance(error, TableException):
            raise
        raise TableException(f"table {table.summary}: {error}") from None


def _column(
    table: TableContext, readable: Mapping[str, DataType], name: str, key: str, kind: DataType
) -> MessageMetadata:
    if key not in readable:
        raise TableException(
            f"table {table.summary}, column '{name}': these messages have no metadata '{key}'"
            f"{did_you_mean(key, list(readable))}; there are {', '.join(readable) or 'none'}"
        )
    zone = table.configuration.get("table.local-time-zone", "UTC")
    column = MessageMetadata(key, kind, "UTC" if zone == "default" else zone, readable[key])
    problem = column.problem()
    if problem is not None:
        raise TableException(f"table {table.summary}, column '{name}': {problem}")
    return column
