"""``MessageTableFactory``: the base of table connectors for message systems."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Boundedness, Source
from millrace.connectors.messages.message import MessageDecoder
from millrace.connectors.messages.sending import MessageEncoder
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.connectors.tables.formats import Format
from millrace.connectors.tables.messages.rows import MessageMetadata, RowsDecoder, RowsEncoder
from millrace.connectors.tables.metadata import check_writable
from millrace.connectors.tables.watermark_options import WATERMARK_OPTIONS, source_watermarks
from millrace.formats.tables.dead_letters import DEAD_LETTERS, with_dead_letters
from millrace.formats.tables.registry import format_names
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import TableContext, TableFactory, TableSink, TableSource
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean

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
        places = tuple(
            physical.index(place) if place < width else self._metadata[place - width] for place in columns
        )
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
            table, self._format(table), self.readable, lambda decoder: _told(table, self.make_source, options, decoder)
        )

    def sink(self, table: TableContext) -> TableSink:
        options = TableOptions(table)
        check_writable(table, self.writable)
        written = tuple(key for _, key, _ in table.metadata)
        encoding = self._format(table).encoding(table.columns, table)
        encoder = self.encoder(table, RowsEncoder(encoding, len(table.columns), written, self.to))
        sink = _told(table, self.make_sink, options, encoder)
        return MessageTableSink(sink, encoder, options.number("sink.parallelism"))

    def _format(self, table: TableContext) -> Format:
        found = Format.named("format", table)
        if found is None:
            raise TableException(f"table {table.summary}: connector '{self.identifier}' needs 'format'")
        return found


def _told(table: TableContext, make: Callable[..., Any], *what: Any) -> Any:
    """What ``make`` makes; what is wrong with its options is told with the table's name."""
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
