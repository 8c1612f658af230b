"""``'connector' = 'opensearch'``, ``'elasticsearch-7'`` and ``'elasticsearch-8'``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.search.search_actions import RowActions, Versions
from millrace.connectors.search.search_client import (
    ANSWER_SECONDS,
    CONNECT_SECONDS,
    ELASTICSEARCH_7,
    ELASTICSEARCH_8,
    OPENSEARCH,
    Dialect,
    Place,
    hosts_of,
)
from millrace.connectors.search.search_documents import (
    METADATA,
    HitColumn,
    HitRows,
    IndexName,
    KeyIds,
    LookupRows,
    check_key,
    index_name,
)
from millrace.connectors.search.search_sink import Backoff, BulkSettings, FailureHandler, SearchSink, handler_of
from millrace.connectors.search.search_source import Conditions, Search, SearchLookup, SearchSource
from millrace.connectors.tables import full_lookup
from millrace.connectors.tables.full_lookup import FullLookup, Reload
from millrace.connectors.tables.table_declaration import Format
from millrace.connectors.tables.table_options import TableOptions
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.relational.type_table import Family, family_of
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean

COMMON = (
    "username",
    "password",
    "format",
    "json.",
    "document-id.key-delimiter",
    "connection.path-prefix",
    "connection.request-timeout",
    "connection.timeout",
    "connection.api-key",
    "connection.bearer-token",
    "connection.max-retry-timeout",
    "socket.timeout",
    "allow-insecure",
    "ssl.certificate-fingerprint",
    "ssl.certificate-authorities",
    "document-type",
)
SINK = (
    "sink.flush-on-checkpoint",
    "sink.delivery-guarantee",
    "sink.bulk-flush.max-actions",
    "sink.bulk-flush.max-size",
    "sink.bulk-flush.interval",
    "sink.bulk-flush.max-buffered-actions",
    "sink.bulk-flush.max-in-flight-actions",
    "sink.bulk-flush.backoff.strategy",
    "sink.bulk-flush.backoff.max-retries",
    "sink.bulk-flush.backoff.delay",
    "sink.parallelism",
    "sink.upsert",
    "sink.version",
    "sink.version.column",
    "failure-handler",
)
SCAN = ("scan.slices", "scan.fetch-size", "scan.keep-alive", "filter.handling.policy")
LOOKUP = (
    "lookup.partial-cache.max-rows",
    "lookup.partial-cache.expire-after-write",
    "lookup.partial-cache.expire-after-access",
    "lookup.partial-cache.cache-missing-key",
    "lookup.partial-cache.caching-missing-key",
    *full_lookup.FULL_CACHE_OPTIONS,
    "lookup.max-retries",
)
_NO = ("DISABLED", "CONSTANT", "EXPONENTIAL")
_VERSIONED = (Family.INTEGER, Family.TIMESTAMP, Family.INSTANT)
MOST_PAGE = 10_000
"""what servers give at a time, unless an index says otherwise"""


class SearchOptions:
    """:raises TableException: for what cannot be."""

    def __init__(self, table: TableContext, dialect: Dialect) -> None:
        self._table = table
        self._options = options = TableOptions(table)
        try:
            hosts = hosts_of(options.given.get("hosts", ""))
        except ValueError as error:
            raise TableException(f"table {table.summary}: 'hosts': {error}") from None
        prefix = options.given.get("connection.path-prefix", "").strip("/")
        self.place = Place(
            dialect,
            hosts,
            f"/{prefix}" if prefix else "",
            options.text("username"),
            options.text("password"),
            options.text("connection.api-key"),
            options.text("connection.bearer-token"),
            options.flag("allow-insecure"),
            options.text("ssl.certificate-fingerprint"),
            options.text("ssl.certificate-authorities"),
            self._seconds("connection.timeout", CONNECT_SECONDS),
            self._seconds("socket.timeout", ANSWER_SECONDS),
            self._seconds("connection.request-timeout", CONNECT_SECONDS),
        )
        problem = self.place.problem()
        if problem is not None:
            raise TableException(f"table {table.summary}: {problem}")
        if options.given.get("document-type", "_doc") != "_doc":
            raise options.problem("document-type", "is gone from these servers: leave it out")
        options.one_of("format", "json", ("json",))
        if table.configuration.get("table.local-time-zone", "default") == "default":
            self.zone = "UTC"
        else:
            self.zone = table.configuration["table.local-time-zone"]

    @property
    def index(self) -> str:
        return self._options.given.get("index", "")

    @property
    def delimiter(self) -> str:
        return self._options.given.get("document-id.key-delimiter", "_")

    @property
    def parallelism(self) -> int | None:
        return self._options.number("sink.parallelism")

    @property
    def bulk(self) -> BulkSettings:
        default = BulkSettings()
        options = self._options
        guarantee = options.one_of("sink.delivery-guarantee", "at-least-once", ("at-least-once", "none"))
        flushes = options.flag("sink.flush-on-checkpoint") if "sink.flush-on-checkpoint" in options.given else True
        interval = options.millis("sink.bulk-flush.interval", int(default.interval * 1000)) / 1000
        return BulkSettings(
            self._count("sink.bulk-flush.max-actions", default.max_actions),
            options.size("sink.bulk-flush.max-size", default.max_bytes),
            interval,
            guarantee == "at-least-once" and flushes,
            self._backoff(),
            # Who says that nothing is sent again means it.
            Backoff() if "sink.bulk-flush.backoff.strategy" in options.given else default.reconnect,
            self._handler(),
            self.versions is not None and self.versions.column is not None,
        )

    def _backoff(self) -> Backoff:
        kind = self._options.given.get("sink.bulk-flush.backoff.strategy", "DISABLED").upper()
        if kind not in _NO:
            raise self._options.problem("sink.bulk-flush.backoff.strategy", f"is one of {', '.join(_NO)}")
        default = Backoff()
        retries = self._count("sink.bulk-flush.backoff.max-retries", 8)
        delay = self._seconds("sink.bulk-flush.backoff.delay", default.delay)
        return Backoff(0 if kind == "DISABLED" else retries, delay, kind == "EXPONENTIAL")

    def _handler(self) -> FailureHandler:
        try:
            return handler_of(self._options.given.get("failure-handler", "fail"))
        except ValueError as error:
            raise TableException(f"table {self._table.summary}: {error}") from None

    @property
    def replaces(self) -> bool:
        return self._options.one_of("sink.upsert", "merge", ("merge", "replace")) == "replace"

    @property
    def versions(self) -> Versions | None:
        """Where the versions of documents come from; None: nowhere."""
        name = self._options.text("sink.version.column")
        kind = self._options.one_of("sink.version", "external" if name else "none", ("none", "external"))
        if kind == "none":
            if name:
                raise self._options.problem("sink.version", "is 'external' for 'sink.version.column'")
            return None
        if not self._table.primary_key:
            raise TableException(f"table {self._table.summary}: 'sink.version' is for tables with a PRIMARY KEY")
        if name is None:
            return Versions()
        places = [place for place, column in enumerate(self._table.columns) if column.name == name]
        if not places or family_of(self._table.columns[places[0]].type) not in _VERSIONED:
            raise self._options.problem("sink.version.column", "is a column of whole numbers or times")
        return Versions(places[0])

    @property
    def slices(self) -> int:
        found = self._count("scan.slices", 1)
        if not 1 <= found <= 1024:
            raise self._options.problem("scan.slices", "is from 1 to 1024")
        return found

    @property
    def page(self) -> int:
        found = self._count("scan.fetch-size", 1000)
        if not 1 <= found <= MOST_PAGE:
            raise self._options.problem("scan.fetch-size", f"is from 1 to {MOST_PAGE}")
        return found

    @property
    def keep_alive(self) -> int:
        """Seconds."""
        found: int = self._options.millis("scan.keep-alive", 300_000) // 1000
        return max(1, found)

    @property
    def pushes(self) -> bool:
        return self._options.one_of("filter.handling.policy", "always", ("always", "never")) == "always"

    @property
    def keeps_all(self) -> bool:
        """Whether look-ups read the whole index."""
        return self._options.given.get("lookup.cache", "").upper() == "FULL"

    @property
    def lookup_retries(self) -> int:
        return self._count("lookup.max-retries", 3)

    def _count(self, name: str, default: int) -> int:
        found = self._options.number(name)
        if found is not None and found < 0:
            raise self._options.problem(name, "is not negative")
        return default if found is None else found

    def _seconds(self, name: str, default: float) -> float:
        found: float = self._options.millis(name, int(default * 1000)) / 1000
        if found <= 0:
            raise self._options.problem(name, "is longer than 0")
        return found


class SearchFactory(TableFactory):
    """The base: the dialects differ in their names.

    :cvar dialect: of the servers.
    """

    extra = "search"

    dialect: Dialect
    required = ("hosts", "index")
    optional = (*COMMON, *SINK, *SCAN, *LOOKUP)

    def source(self, table: TableContext) -> TableSource:
        return SearchTableSource(table, _Index(table, self.dialect).readable())

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        at = _Index(table, self.dialect).readable()
        if at.options.keeps_all:
            return FullLookup(self.source(table), table, key, Reload.of(TableOptions(table)))
        names = [column.name for column in table.columns]
        asked = [names[place] for place in key]
        by_id = bool(table.primary_key) and sorted(asked) == sorted(table.primary_key) and at.index.fixed is not None
        ids = at.ids(asked) if by_id else None
        decode = LookupRows(at.decoding(table.columns), table.columns)
        options = at.options
        return SearchLookup(
            options.place, at.index.pattern, names, key, ids, decode, table.options, options.lookup_retries
        )

    def sink(self, table: TableContext) -> TableSink:
        return SearchTableSink(table, _Index(table, self.dialect))


class OpenSearchFactory(SearchFactory):
    identifier = "opensearch"
    dialect = OPENSEARCH


class OpenSearch2Factory(OpenSearchFactory):
    identifier = "opensearch-2"


class Elasticsearch7Factory(SearchFactory):
    identifier = "elasticsearch-7"
    dialect = ELASTICSEARCH_7


class Elasticsearch8Factory(SearchFactory):
    identifier = "elasticsearch-8"
    dialect = ELASTICSEARCH_8


class ElasticsearchFactory(Elasticsearch8Factory):
    identifier = "elasticsearch"


class Elasticsearch6Factory(TableFactory):
    """Refused by name."""

    identifier = "elasticsearch-6"
    extra = "search"
    hands_on = True

    def source(self, table: TableContext) -> TableSource:
        raise self._problem(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        raise self._problem(table)

    def sink(self, table: TableContext) -> TableSink:
        raise self._problem(table)

    def _problem(self, table: TableContext) -> TableException:
        return TableException(
            f"table {table.summary}: Elasticsearch 6 has had no support since 2022, and its types of documents are "
            f"gone: use 'elasticsearch-7' or 'elasticsearch-8' on a newer server, or 'opensearch'"
        )


class _Index:
    """A table and its index, as everything that is made of them needs them."""

    def __init__(self, table: TableContext, dialect: Dialect) -> None:
        self.table = table
        self.options = SearchOptions(table, dialect)
        self.index: IndexName = index_name(self.options.index, table.columns, self.options.zone, table.summary)
        for name in table.primary_key:
            kind = next(column.type for column in table.columns if column.name == name)
            check_key(name, kind, table.summary, "the id of a document")
        options = {"format": "json", **table.options}
        self._context = TableContext(
            table.path, table.columns, (), table.primary_key, (), options, table.configuration, table.streaming
        )
        format = Format.named("format", self._context)
        assert format is not None
        self._format: Format = format

    def readable(self) -> _Index:
        """:raises TableException: its rows may be in any index whatever."""
        if not self.index.pattern.strip("*"):
            raise TableException(
                f"table {self.table.summary}: 'index' = '{self.options.index}' could be any: nothing says what to read"
            )
        return self

    def decoding(self, columns: Any) -> Any:
        return self._format.decoding(columns, (), self._context)

    def encoding(self) -> Any:
        return self._format.encoding(self.table.columns, self._context)

    def ids(self, asked: Sequence[str]) -> KeyIds:
        kinds = {column.name: column.type for column in self.table.columns}
        key = self.table.primary_key
        return KeyIds(tuple(kinds[name] for name in key), tuple(map(asked.index, key)), self.options.delimiter)


class SearchTableSource(TableSource):
    """Reads the fields that are wanted of the documents that pass those filters that the server understands."""

    def __init__(self, table: TableContext, index: _Index) -> None:
        self._table, self._index = table, index
        self._metadata = tuple(_metadata(table, index.options.zone, *each) for each in table.metadata)
        self.uses_filters = index.options.pushes
        self._slices, self._page, self._alive = index.options.slices, index.options.page, index.options.keep_alive

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        table, width = self._table, len(self._table.columns)
        physical = sorted({place for place in columns if place < width})
        wanted = tuple(table.columns[place] for place in physical) or table.columns[:1]
        places = tuple(physical.index(place) if place < width else self._metadata[place - width] for place in columns)
        condition = Conditions(tuple(filters), table.columns) if filters and self.uses_filters else None
        names = tuple(column.name for column in wanted)
        search = Search(self._index.index.pattern, names, condition, self._page, self._alive)
        decode = HitRows(self._index.decoding(wanted), places)
        return SearchSource(self._index.options.place, search, self._slices, decode)


class SearchTableSink(TableSink):
    """Adds documents with ids of their own for a table without PRIMARY KEY, and keeps one document per key of one that
    has it."""

    def __init__(self, table: TableContext, index: _Index) -> None:
        if table.metadata:
            raise TableException(f"table {table.summary}: metadata '{table.metadata[0][1]}' cannot be written")
        options = index.options
        self._place, self._bulk, self._versions = options.place, options.bulk, options.versions
        self.keys = table.primary_key
        # The same key would go to another index a little later, and stay in the old one.
        self.kinds = UPSERT if table.primary_key and not index.index.of_clock else INSERT_ONLY
        self.parallelism = options.parallelism
        names = tuple(column.name for column in table.columns)
        self._actions = RowActions(
            table.summary,
            index.index,
            index.encoding(),
            tuple(column.type for column in table.columns),
            names,
            tuple(names.index(name) for name in table.primary_key),
            options.delimiter,
            None,
            options.replaces,
        )

    def stream(self) -> Sink[Rows]:
        # Made for each start of a program: versions tell which one it was.
        versions = None if self._versions is None else self._versions.now()
        return SearchSink(self._place, self._bulk, replace(self._actions, versions=versions))


def _metadata(table: TableContext, zone: str, name: str, key: str, kind: Any) -> HitColumn:
    if key not in METADATA:
        raise TableException(
            f"table {table.summary}, column '{name}': documents have no metadata '{key}'"
            f"{did_you_mean(key, list(METADATA))}; there are {', '.join(METADATA)}"
        )
    column = HitColumn(key, kind, zone)
    problem = column.problem()
    if problem is not None:
        raise TableException(f"table {table.summary}, column '{name}': {problem}")
    return column
