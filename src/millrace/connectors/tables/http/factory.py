"""``'connector' = 'http'``, and its older names ``rest-lookup`` and ``http-sink``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millrace.common.sink import Sink
from millrace.connectors.http.key_answers import METADATA, KeyAnswers
from millrace.connectors.http.lookup import HttpLookup
from millrace.connectors.http.properties import Properties
from millrace.connectors.http.settings import LOOKUP, SINK
from millrace.connectors.http.sink import HttpSink
from millrace.connectors.messages.sending import MessageEncoder, Outgoing
from millrace.connectors.tables.formats import Format
from millrace.connectors.tables.http import options as names
from millrace.connectors.tables.http.options import told
from millrace.connectors.tables.messages.rows import RowsEncoder
from millrace.relational.functions.casts.texts import column_texts
from millrace.relational.rows import Rows
from millrace.relational.sources import INSERT_ONLY, LookupTableSource, TableContext, TableFactory, TableSink
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException

ID = "id"
"""of an element that is sent, among its metadata"""


class RestLookupFactory(TableFactory):
    """``'url'``, ``'format'``; rows are looked up by the columns that a join compares."""

    identifier = "rest-lookup"
    required = ("url", "format")
    optional = names.names_of(names.LOOKUPS, names.SECURITY)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        return told(table, lambda: _lookup(table, Properties(table.options), key))


class HttpSinkFactory(TableFactory):
    """``'url'``, ``'format'``; rows are sent by POST, many in one request as an array."""

    identifier = "http-sink"
    required = ("url", "format")
    optional = names.names_of(names.SINKS, names.SECURITY)

    def sink(self, table: TableContext) -> TableSink:
        return told(table, lambda: HttpTableSink(table))


class HttpFactory(RestLookupFactory):
    identifier = "http"
    optional = names.names_of(names.LOOKUPS, names.SINKS, names.SECURITY)

    def sink(self, table: TableContext) -> TableSink:
        return told(table, lambda: HttpTableSink(table))


def _lookup(table: TableContext, properties: Properties, key: Sequence[int]) -> HttpLookup:
    for name, wanted, _ in table.metadata:
        if wanted not in METADATA:
            raise ValueError(f"column '{name}': there is no metadata '{wanted}'; there are {', '.join(METADATA)}")
    if properties.given.get("lookup.cache", "").upper() == "FULL":
        raise ValueError("'lookup.cache' = 'FULL' needs a table that can be read as a whole: a service only answers")
    requests = names.key_requests(table, properties, key)
    metadata = tuple(each for _, each, _ in table.metadata)
    matched, result = requests.chunk > 1, names.result_type(properties)
    decoding = _format(table).decoding(table.columns, (), table)
    if decoding.kinds != INSERT_ONLY:
        raise ValueError(f"format '{table.options['format']}' has changes, and a look-up needs rows")
    return HttpLookup(
        names.lookup_settings(properties),
        requests,
        KeyAnswers(table.columns, tuple(key), decoding, result, metadata, matched),
        properties.count(f"{LOOKUP}request.thread-pool.size", 8, 1),
        properties.flag(f"{LOOKUP}continue-on-error"),
        properties.given,
    )


class HttpTableSink(TableSink):
    def __init__(self, table: TableContext) -> None:
        if table.metadata and any(key not in METADATA for _, key, _ in table.metadata):
            raise TableException(f"table {table.summary}: connector 'http' writes no metadata")
        properties = Properties(table.options)
        encoding = _format(table).encoding(table.columns, table)
        self.kinds = encoding.kinds
        self.parallelism = None
        if "sink.parallelism" in properties.given:
            self.parallelism = properties.count("sink.parallelism", 1, 1)
        sending = names.sending(properties, in_order=encoding.kinds != INSERT_ONLY)
        encoder: MessageEncoder[Rows] = RowsEncoder(encoding, len(table.columns))
        fields = properties.names(f"{SINK}idempotency-key.fields")
        if fields:
            encoder = _with_ids(table, encoder, fields, sending.single and sending.id_header is not None)
        settings = names.sink_settings(properties)
        self._sink = HttpSink(table.options["url"], settings, sending, encoder, _id_of if fields else None)

    def stream(self) -> Sink[Rows]:
        return self._sink


@dataclass(frozen=True)
class _WithIds(MessageEncoder[Rows]):
    """Elements that know by which values the service knows them."""

    below: MessageEncoder[Rows]
    columns: tuple[tuple[int, DataType], ...]

    def encode(self, element: Rows, timestamp: int | None) -> Iterable[Outgoing]:
        texts = [column_texts(element.columns[place], kind) for place, kind in self.columns]
        for message, values in zip(self.below.encode(element, timestamp), zip(*texts)):
            if None in values:
                raise ValueError(f"'{SINK}idempotency-key.fields': a value is NULL")
            yield Outgoing(message.value, message.to, message.timestamp, {ID: "-".join(map(str, values))})


def _with_ids(table: TableContext, below: MessageEncoder[Rows], fields: Sequence[str], possible: bool) -> _WithIds:
    if not possible:
        raise ValueError(
            f"'{SINK}idempotency-key.fields' needs '{SINK}writer.request.mode' = 'single' and "
            f"'{SINK}idempotency-key.header'"
        )
    known = {column.name: (place, column.type) for place, column in enumerate(table.columns)}
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise ValueError(f"'{SINK}idempotency-key.fields': there is no column '{unknown[0]}'")
    return _WithIds(below, tuple(known[name] for name in fields))


def _id_of(message: Outgoing) -> str:
    return str(message.metadata[ID])


def _format(table: TableContext) -> Format:
    found = Format.named("format", table)
    assert found is not None, "it is required"
    return found
