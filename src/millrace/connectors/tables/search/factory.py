"""``'connector' = 'opensearch'``, ``'elasticsearch-7'`` and ``'elasticsearch-8'``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.lookup.full import FullLookup
from millrace.connectors.lookup.reload import Reload
from millrace.connectors.search.dialect import ELASTICSEARCH_7, ELASTICSEARCH_8, OPENSEARCH, Dialect
from millrace.connectors.search.lookup import SearchLookup
from millrace.connectors.search.pushed import Conditions
from millrace.connectors.search.scan import Search, SearchSource
from millrace.connectors.search.sink import SearchSink
from millrace.connectors.tables.filesystem.layout.options import TableOptions
from millrace.connectors.tables.formats import Format
from millrace.connectors.tables.search.decoding import METADATA, HitColumn, HitRows, KeyIds, LookupRows
from millrace.connectors.tables.search.index_name import IndexName, index_name
from millrace.connectors.tables.search.options import COMMON, LOOKUP, SCAN, SINK, SearchOptions
from millrace.connectors.tables.search.rows import RowActions
from millrace.connectors.tables.search.texts import check_key
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
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean


class SearchFactory(TableFactory):
    """The base: the dialects differ in their names.

    :cvar dialect: of the servers.
    """

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
