"""``'connector' = 'http'``, and its older names ``rest-lookup`` and ``http-sink``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from millrace.common.sink import Sink
from millrace.connectors.http.http_lookup import ARRAY, METADATA, SINGLE, HttpLookup, KeyAnswers, KeyRequests, marks_of
from millrace.connectors.http.http_settings import LOOKUP, SINK, CallSettings, Properties
from millrace.connectors.http.http_sink import HttpSink, Sending
from millrace.connectors.messages import MessageEncoder, Outgoing
from millrace.connectors.tables.message_table import RowsEncoder
from millrace.connectors.tables.table_declaration import Format
from millrace.formats.tables.format_options import format_factory, format_names
from millrace.relational.functions.casts import column_texts
from millrace.relational.rows import Rows
from millrace.relational.sources import INSERT_ONLY, LookupTableSource, TableContext, TableFactory, TableSink
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException

T = TypeVar("T")

SECURITY = (
    "http.security.cert.server",
    "http.security.cert.server.allowSelfSigned",
    "http.security.cert.client",
    "http.security.key.client",
    "http.security.keystore.",
    "http.security.oidc.token.endpoint.url",
    "http.security.oidc.token.request",
    "http.security.oidc.token.expiry.reduction",
    "http.logging.level",
    "http.error.log.severity",
)
_CALLS = (
    "header.",
    "request.timeout",
    "connection.timeout",
    "success-codes",
    "retry-codes",
    "ignored-response-codes",
    "retry-strategy.",
    "request-callback",
    "http-version",
    "use-raw-authorization-header",
    "proxy.",
)
CACHE = (
    "lookup.cache",
    "lookup.partial-cache.max-rows",
    "lookup.partial-cache.expire-after-write",
    "lookup.partial-cache.expire-after-access",
    "lookup.partial-cache.cache-missing-key",
    "lookup.partial-cache.caching-missing-key",
    "lookup.cache.max-rows",
    "lookup.cache.ttl",
    "lookup.cache.caching-missing-key",
)
LOOKUPS = (
    "asyncPolling",
    "lookup-method",
    "lookup-request.format",
    "lookup-request.format.",
    "lookup.max-retries",
    *CACHE,
    *(f"{LOOKUP}{name}" for name in _CALLS),
    f"{LOOKUP}continue-on-error",
    f"{LOOKUP}query-creator",
    f"{LOOKUP}request.thread-pool.size",
    f"{LOOKUP}response.thread-pool.size",
    f"{LOOKUP}result-type",
    f"{LOOKUP}batch.size",
    "http.request.query-param-fields",
    "http.request.body-fields",
    "http.request.url-map",
    "http.request.body-template",
)
SINKS = (
    "insert-method",
    "sink.batch.max-size",
    "sink.requests.max-inflight",
    "sink.requests.max-buffered",
    "sink.flush-buffer.size",
    "sink.flush-buffer.timeout",
    "sink.parallelism",
    "sink.delivery-guarantee",
    *(f"{SINK}{name}" for name in _CALLS),
    f"{SINK}error.code",
    f"{SINK}error.code.exclude",
    f"{SINK}request.batch.size",
    f"{SINK}retry.times",
    f"{SINK}writer.request.mode",
    f"{SINK}writer.thread-pool.size",
    f"{SINK}idempotency-key.header",
    f"{SINK}idempotency-key.fields",
)
_CREATORS = (
    "generic-json-url", "http-generic-json-url", "generic-get-query", "http-generic-get-query", "generic-json-query",
)  # fmt: skip
_BODILESS = "GET"


def names_of(*groups: Sequence[str]) -> tuple[str, ...]:
    """The names of these options, their former names, and the prefixes of the formats' options."""
    known = tuple(name for group in groups for name in group)
    old = tuple(f"gid.connector.{name}" for name in known if name.startswith("http."))
    return (*known, *old, *(f"{name}." for name in format_names()))


def with_table_name(table: TableContext, make: Callable[[], T]) -> T:
    """What ``make`` makes; what is wrong is told with the table's name."""
    try:
        return make()
    except ValueError as error:
        if isinstance(error, TableException):
            raise
        raise TableException(f"table {table.summary}: {error}") from None


def lookup_settings(properties: Properties) -> CallSettings:
    found = CallSettings.of(properties, LOOKUP, properties.count("lookup.max-retries", 3))
    creator = properties.text(f"{LOOKUP}query-creator")
    if creator is not None and creator not in _CREATORS:
        raise ValueError(f"'{LOOKUP}query-creator' is one of {', '.join(_CREATORS)}, not '{creator}'")
    return found


def key_requests(table: TableContext, properties: Properties, key: Sequence[int]) -> KeyRequests:
    """How keys become requests: as the options say; else columns that are not in the URL are parameters or body."""
    columns = tuple(table.columns[place] for place in key)
    method = properties.one_of("lookup-method", _BODILESS, (_BODILESS, "POST", "PUT"))
    url = table.options["url"]
    pairs = [each.partition(":") for each in (properties.text("http.request.url-map") or "").split(",") if each.strip()]
    url_map = {mark.strip(): column.strip() for column, _, mark in pairs}
    params = properties.names("http.request.query-param-fields")
    body, template = properties.names("http.request.body-fields"), properties.text("http.request.body-template")
    if method == _BODILESS and (body or template):
        raise ValueError("a GET has no body: 'http.request.body-*' need 'lookup-method' = 'POST' or 'PUT'")
    if params is None and body is None and template is None:
        in_url = {url_map.get(mark, mark) for mark in marks_of(url)}
        rest = tuple(column.name for column in columns if column.name not in in_url)
        params, body = (rest, ()) if method == _BODILESS else ((), rest)
    name = table.options.get("lookup-request.format", "json")
    format = Format(format_factory(name, table.summary), f"lookup-request.format.{name}")
    encoding = format.encoding(columns, table)
    chunk = properties.count(f"{LOOKUP}batch.size", 1, 1)
    found = KeyRequests(method, url, columns, encoding, url_map, params or (), body or (), template, chunk)
    problem = found.problem()
    if problem is not None:
        raise ValueError(problem)
    return found


def result_type(properties: Properties) -> str:
    """One object, or an array of them; the answer to several keys is an array unless it is said."""
    several = properties.count(f"{LOOKUP}batch.size", 1, 1) > 1
    return properties.one_of(f"{LOOKUP}result-type", ARRAY if several else SINGLE, (SINGLE, ARRAY))


def sink_settings(properties: Properties) -> CallSettings:
    found = CallSettings.of(properties, SINK, properties.count(f"{SINK}retry.times", 3))
    if properties.text("sink.delivery-guarantee") not in (None, "at-least-once"):
        raise ValueError(
            "'sink.delivery-guarantee' is at-least-once: HTTP has nothing that takes a request back. A service that "
            f"knows requests by an id gets each once: '{SINK}idempotency-key.header'"
        )
    return found


def sending_settings(properties: Properties, in_order: bool) -> Sending:
    """:param in_order: whether what is written has to arrive in its order."""
    single = properties.one_of(f"{SINK}writer.request.mode", "batch", ("single", "batch")) == "single"
    most = properties.count("sink.batch.max-size", 500, 1)
    return Sending(
        properties.one_of("insert-method", "POST", ("POST", "PUT", "PATCH")),
        single,
        1 if single else properties.count(f"{SINK}request.batch.size", most, 1),
        properties.size("sink.flush-buffer.size", 5 * 1024 * 1024),
        properties.count("sink.requests.max-inflight", 1 if in_order else 50, 1),
        properties.count("sink.requests.max-buffered", 10_000, 1),
        properties.seconds("sink.flush-buffer.timeout", 5.0),
        properties.text(f"{SINK}idempotency-key.header"),
    )


ID = "id"
"""Metadata key of the id of an element that is sent."""


class RestLookupFactory(TableFactory):
    """``'url'``, ``'format'``; rows are looked up by the columns that a join compares."""

    identifier = "rest-lookup"
    extra = "http"
    required = ("url", "format")
    optional = names_of(LOOKUPS, SECURITY)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        return with_table_name(table, lambda: _lookup(table, Properties(table.options), key))


class HttpSinkFactory(TableFactory):
    """``'url'``, ``'format'``; rows are sent by POST, many in one request as an array."""

    identifier = "http-sink"
    extra = "http"
    required = ("url", "format")
    optional = names_of(SINKS, SECURITY)

    def sink(self, table: TableContext) -> TableSink:
        return with_table_name(table, lambda: HttpTableSink(table))


class HttpFactory(RestLookupFactory):
    identifier = "http"
    optional = names_of(LOOKUPS, SINKS, SECURITY)

    def sink(self, table: TableContext) -> TableSink:
        return with_table_name(table, lambda: HttpTableSink(table))


def _lookup(table: TableContext, properties: Properties, key: Sequence[int]) -> HttpLookup:
    for name, wanted, _ in table.metadata:
        if wanted not in METADATA:
            raise ValueError(f"column '{name}': there is no metadata '{wanted}'; there are {', '.join(METADATA)}")
    if properties.given.get("lookup.cache", "").upper() == "FULL":
        raise ValueError("'lookup.cache' = 'FULL' needs a table that can be read as a whole: a service only answers")
    requests = key_requests(table, properties, key)
    metadata = tuple(each for _, each, _ in table.metadata)
    matched, result = requests.chunk > 1, result_type(properties)
    decoding = _format(table).decoding(table.columns, (), table)
    if decoding.kinds != INSERT_ONLY:
        raise ValueError(f"format '{table.options['format']}' has changes, and a look-up needs rows")
    return HttpLookup(
        lookup_settings(properties),
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
        sending = sending_settings(properties, in_order=encoding.kinds != INSERT_ONLY)
        encoder: MessageEncoder[Rows] = RowsEncoder(encoding, len(table.columns))
        fields = properties.names(f"{SINK}idempotency-key.fields")
        if fields:
            encoder = _with_ids(table, encoder, fields, sending.single and sending.id_header is not None)
        settings = sink_settings(properties)
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
