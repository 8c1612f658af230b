"""``'connector' = 'clickhouse'``: a table is read in one part or several, looked up by one query for many keys, and
written.

Conditions in ClickHouse's SQL leave out no row that is wanted; all are checked again afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.clickhouse.clickhouse_client import (
    RANGES,
    ClickHouseTable,
    ColumnThere,
    Connected,
    address,
    can_be_key,
    literal,
    one_of,
    problem,
)
from millrace.connectors.clickhouse.clickhouse_rows import ClickHouseChanges, Updates, read_columns, selected
from millrace.connectors.dbapi import quoted
from millrace.connectors.jdbc.jdbc_scan import conditions
from millrace.connectors.stores import BufferedSink, Buffering, Found, Partitions, PartsSource, StoreLookup, by_key
from millrace.connectors.tables.store_table import LOOKUP, PARTITION, StoreOptions, lookup_source, no_metadata
from millrace.relational.rex import Rex, Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import (
    ALL_KINDS,
    INSERT_ONLY,
    UPSERT,
    LookupTableSource,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.util.exceptions import TableException


def pushed(filters: Sequence[Rex], columns: Schema, there: Sequence[ColumnThere]) -> tuple[str, ...]:
    """As much of the filters as ClickHouse can check."""
    return conditions(filters, columns, _Sql(there))


class _Sql:
    """How ClickHouse writes names and constants. A column that has not the usual type there is left alone: comparing
    it might be an error, or mean something else."""

    text_is_exact = True

    def __init__(self, there: Sequence[ColumnThere]) -> None:
        self._there = {column.name: column for column in there}

    def name(self, name: str) -> str | None:
        column = self._there.get(name)
        return None if column is None or column.base not in _USUAL else quoted(name, "`")

    def literal(self, value: Any, kind: DataType) -> str | None:
        family = family_of(kind)
        if value is None:
            return None
        if family is Family.INTEGER:
            return str(value)
        if family is Family.TEXT:
            return literal(value)
        return f"toDate('{value.isoformat()}')" if family is Family.DATE and 1970 <= value.year < 2100 else None


_USUAL = (*(name for name in RANGES if "128" not in name and "256" not in name), "String", "Date")


@dataclass(frozen=True)
class ClickHousePart:
    """A part of a table that is still to be read."""

    split_id: str
    condition: str | None = None


class ClickHouseRowsSource(PartsSource[Rows, ClickHousePart]):
    """Reads columns of the rows that pass those filters that ClickHouse understands.

    :param places: which of the columns are wanted.
    """

    def __init__(
        self,
        table: ClickHouseTable,
        columns: Schema,
        places: Sequence[int],
        filters: Sequence[Rex],
        partitions: Partitions | None,
    ) -> None:
        self._table = table
        self._columns = columns
        self._places = tuple(places)
        self._filters = tuple(filters)
        self._partitions = partitions

    def parts(self) -> list[ClickHousePart]:
        if self._partitions is None:
            return [ClickHousePart("0")]
        conditions = self._partitions.conditions(quoted(self._partitions.column, "`"))
        return [ClickHousePart(str(number), condition) for number, condition in enumerate(conditions)]

    def elements(self, part: ClickHousePart) -> Iterator[Rows]:
        wanted = tuple(self._columns[place] for place in self._places)
        with self._table.explained(), closing(self._table()) as connection:
            everything = connection.wanted([column.name for column in self._columns])
            there = [everything[place] for place in self._places]
            names = ", ".join(selected(each, column.type) for each, column in zip(there, wanted)) or "1"
            conditions = [*pushed(self._filters, self._columns, everything), *filter(None, [part.condition])]
            where = f" WHERE {' AND '.join(f'({each})' for each in conditions)}" if conditions else ""
            query = f"SELECT {names} FROM {self._table.quoted}{where} FORMAT TabSeparated"
            for answer in connection.stream(query):
                if not wanted:
                    yield Rows(record_batch([], answer.count(b"\n")))
                    continue
                values = read_columns(answer, wanted, there)
                columns = [to_arrow(each, column.type) for each, column in zip(values, wanted)]
                yield Rows(record_batch(columns, len(values[0])))


_MOST = 500
"""keys of one query, whose text the server limits"""


class ClickHouseLookup(StoreLookup):
    """Asks a table for the rows of keys.

    :param key: which of the columns are the key.
    """

    def __init__(
        self,
        table: ClickHouseTable,
        columns: Schema,
        key: Sequence[int],
        options: Mapping[str, str],
        asking: Buffering,
    ) -> None:
        super().__init__(table, options, asking, _MOST)
        self._table = table
        self._columns = columns
        self._key = tuple(key)

    def ask(self, connection: Connected, keys: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
        with self._table.explained():
            there = connection.wanted([column.name for column in self._columns])
            names = ", ".join(selected(each, column.type) for each, column in zip(there, self._columns))
            asked = [self._columns[place] for place in self._key]
            where = one_of([column.name for column in asked], [column.type for column in asked], keys)
            answer = connection.ask(f"SELECT {names} FROM {self._table.quoted} WHERE {where} FORMAT TabSeparated")
            rows = zip(*read_columns(answer, self._columns, there))
        return by_key(rows, self._key, keys)


SINK = (
    "sink.batch-size",
    "sink.flush-interval",
    "sink.max-retries",
    "sink.update-strategy",
    "sink.ignore-delete",
    "sink.parallelism",
)
_ONE_SERVER = ("use-local", "sink.sharding.use-table-definition", "sink.partition-strategy", "sink.partition-key")
BUFFERING = Buffering(max_rows=1_000)
_PREFIX = "properties."


class ClickHouseFactory(TableFactory):
    identifier = "clickhouse"
    extra = "clickhouse"
    required = ("url", "table-name")
    optional = (
        "database-name",
        "username",
        "password",
        "connection.timeout",
        _PREFIX,
        *PARTITION,
        *LOOKUP,
        *SINK,
        *_ONE_SERVER,
    )

    def source(self, table: TableContext) -> TableSource:
        return ClickHouseTableSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        there, options = _opened(table)
        _check_keys(table, [table.columns[place].name for place in key], "look-up by")
        return lookup_source(
            self,
            table,
            key,
            lambda: ClickHouseLookup(there, table.columns, key, table.options, options.asking),
        )

    def sink(self, table: TableContext) -> TableSink:
        return ClickHouseTableSink(table)


class ClickHouseTableSource(TableSource):
    """Reads the columns that are wanted."""

    uses_filters = True

    def __init__(self, table: TableContext) -> None:
        self._columns = table.columns
        self._table, options = _opened(table)
        self._partitions = options.partitions

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return ClickHouseRowsSource(self._table, self._columns, columns, filters, self._partitions)


class ClickHouseTableSink(TableSink):
    """Inserts rows; with a PRIMARY KEY it replaces and deletes them as well."""

    def __init__(self, table: TableContext) -> None:
        self._table, options = _opened(table)
        self.keys = table.primary_key
        self.parallelism = options.parallelism
        updates = Updates(
            options.one_of("sink.update-strategy", Updates.UPDATE.value, tuple(each.value for each in Updates))
        )
        # The sink needs to know which rows replace others, to drop them.
        keyed = ALL_KINDS if updates is Updates.DISCARD else UPSERT
        self.kinds = keyed if table.primary_key else INSERT_ONLY
        _check_keys(table, table.primary_key, "PRIMARY KEY")
        self._changes = ClickHouseChanges(
            self._table, table.columns, table.primary_key, updates, options.flag("sink.ignore-delete")
        )
        self._buffering = Buffering(
            options.not_negative("sink.batch-size", BUFFERING.max_rows),
            options.seconds("sink.flush-interval", BUFFERING.interval),
            options.not_negative("sink.max-retries", BUFFERING.retries),
        )

    def stream(self) -> Sink[Rows]:
        return BufferedSink(self._table, self._changes, self._buffering, len)


def _opened(table: TableContext) -> tuple[ClickHouseTable, StoreOptions]:
    no_metadata(table)
    options = StoreOptions(table)
    given = options.given
    for name in _ONE_SERVER:
        if given.get(name, "false").lower() not in ("false", "balanced"):
            raise TableException(
                f"table {table.summary}: '{name}' is not possible: Millrace writes to the one server of 'url', where a "
                f"Distributed table sends rows to their shards itself"
            )
    if "password" in given and "username" not in given:
        raise TableException(f"table {table.summary}: 'password' needs 'username'")
    for column in table.columns:
        wrong = problem(column)
        if wrong is not None:
            raise TableException(f"table {table.summary}, {wrong}")
    try:
        where = address(given["url"])
    except ValueError as error:
        raise TableException(f"table {table.summary}: {error}") from None
    there = ClickHouseTable(
        where,
        given.get("database-name", "default"),
        given["table-name"],
        given.get("username", "default"),
        given.get("password", ""),
        {name[len(_PREFIX) :]: value for name, value in given.items() if name.startswith(_PREFIX)},
        options.seconds("connection.timeout", 60.0),
    )
    return there, options


def _check_keys(table: TableContext, names: Sequence[str], what: str) -> None:
    kinds = {column.name: column.type for column in table.columns}
    wrong = next((name for name in names if not can_be_key(kinds[name])), None)
    if wrong is not None:
        raise TableException(
            f"table {table.summary}: {what} '{wrong}': keys of ClickHouse are whole numbers, texts, dates or BOOLEAN "
            f"here, not {kinds[wrong]}"
        )
