"""The table connector ``'jdbc'``: options, source, look-up, sink, and DELETE, UPDATE and TRUNCATE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from millrace.common.sink import Sink
from millrace.common.source import Source
from millrace.connectors.dbapi import Connection
from millrace.connectors.jdbc.dialect import TableShape
from millrace.connectors.jdbc.jdbc_aggregates import JdbcAggregatesSource, computed, exact, typed_alike, used
from millrace.connectors.jdbc.jdbc_database import (
    Database,
    JdbcExactlyOnceSink,
    RowChanges,
    is_known_url,
    metadata_of,
    parse_url,
)
from millrace.connectors.jdbc.jdbc_scan import JdbcLookup, JdbcRowsSource, Query, conditions, exact_condition
from millrace.connectors.jdbc.prepared_transactions import two_phase_sink
from millrace.connectors.stores import BufferedSink, Buffering, Partitions
from millrace.connectors.tables.store_table import LOOKUP, PARTITION, StoreOptions, lookup_source, no_metadata
from millrace.connectors.tables.store_table import SINK as BUFFERED
from millrace.relational.rex import Literal, Ref, Rex, refs
from millrace.relational.rows import Rows
from millrace.relational.sources import (
    INSERT_ONLY,
    UPSERT,
    Aggregation,
    Changed,
    LookupTableSource,
    TableChanger,
    TableContext,
    TableFactory,
    TableSink,
    TableSource,
)
from millrace.relational.type_table import Family, family_of
from millrace.util.exceptions import TableException
from millrace.util.secrets import mask_text

COMMON = ("driver", "username", "password", "connection.max-retry-timeout", "properties.")
SCAN = (
    *PARTITION,
    "scan.fetch-size",
    "scan.auto-commit",
    "scan.parallelism",
    "filter.handling.policy",
    "scan.push-down.enabled",
)
SINK = (*BUFFERED, "sink.exactly-once", "sink.log-directory", "sink.commit-table")
MOST_SECONDS = 60_000
_WAYS = ("off", "marks", "two-phase")
_PREFIX = "properties."


class JdbcOptions:
    """:raises TableException: for what cannot be."""

    def __init__(self, table: TableContext) -> None:
        self._options = options = StoreOptions(table)
        given = options.given
        if ("username" in given) != ("password" in given) and "password" in given:
            raise TableException(f"table {table.summary}: 'password' needs 'username'")
        timeout = options.millis("connection.max-retry-timeout", MOST_SECONDS) / 1000
        properties = {name[len(_PREFIX) :]: value for name, value in given.items() if name.startswith(_PREFIX)}
        try:
            dialect, target = parse_url(
                given.get("url", ""), given.get("username"), given.get("password"), properties, timeout
            )
        except ValueError as error:
            raise TableException(f"table {table.summary}: {error}") from None
        self.database = Database(dialect, target)
        self.name = given.get("table-name", "")
        problem = dialect.problem(table.columns)
        if problem is not None:
            raise TableException(f"table {table.summary}, {problem}")

    @property
    def fetch(self) -> int:
        return self._options.not_negative("scan.fetch-size", 0)

    @property
    def parallelism(self) -> int | None:
        return self._options.parallelism

    @property
    def asking(self) -> Buffering:
        return self._options.asking

    @property
    def pushes(self) -> bool:
        return self._options.one_of("filter.handling.policy", "always", ("always", "never", "indexed-only")) != "never"

    @property
    def pushes_more(self) -> bool:
        """LIMIT and aggregates."""
        return self._options.text("scan.push-down.enabled", "true") != "false" and self.pushes

    @property
    def partitions(self) -> Partitions | None:
        return self._options.partitions

    @property
    def buffering(self) -> Buffering:
        return self._options.buffering(Buffering())

    @property
    def exactly_once(self) -> str:
        """``off``, ``marks`` or ``two-phase``."""
        given = self._options.given.get("sink.exactly-once", "off").lower()
        if given in ("true", "false"):
            return "marks" if given == "true" else "off"
        return self._options.one_of("sink.exactly-once", "off", _WAYS)

    @property
    def log_directory(self) -> str | None:
        return self._options.text("sink.log-directory")

    @property
    def commit_table(self) -> str:
        return self._options.text("sink.commit-table") or "millrace_commits"


_FIXED = ("character(", "char(", "bpchar")


class JdbcChanger(TableChanger):
    """One statement of the database where that means the same there; else rows by their key, in one transaction."""

    def __init__(self, table: TableContext) -> None:
        self._table = table
        options = JdbcOptions(table)
        self._database = options.database
        self._dialect = options.database.dialect
        self._name = options.name
        names = tuple(column.name for column in table.columns)
        self.keys = tuple(names.index(name) for name in table.primary_key)
        shape = TableShape(options.name, names, table.primary_key)
        self._changes = RowChanges(self._dialect, shape, tuple(column.type for column in table.columns))

    def truncate(self) -> None:
        # The right to delete is enough for that, and it can be undone until it is committed.
        self._run(f"DELETE FROM {self._dialect.table(self._name)}")

    def delete(self, condition: Rex | None) -> Changed | None:
        where = self._where(condition)
        return None if where is None else self._run(f"DELETE FROM {self._dialect.table(self._name)}{where}")

    def update(self, values: Mapping[int, Rex], condition: Rex | None) -> Changed | None:
        where = self._where(condition)
        assigned = [self._assignment(at, value) for at, value in values.items()]
        if where is None or None in assigned:
            return None
        return self._run(f"UPDATE {self._dialect.table(self._name)} SET {', '.join(map(str, assigned))}{where}")

    def write(self, rows: Rows) -> None:
        with closing(self._database()) as connection:
            self._changes.apply(connection, [rows])
            self._database.commit(connection)

    def _where(self, condition: Rex | None) -> str | None:
        if condition is None:
            return ""
        text = exact_condition(condition, self._table.columns, self._dialect)
        return None if text is None or self._ignores_blanks(condition) else f" WHERE {text}"

    def _ignores_blanks(self, condition: Rex) -> bool:
        """Whether the condition is about a text of a fixed length: blanks at the end count for nothing there."""
        columns = [self._table.columns[each] for each in refs(condition)]
        texts = {column.name for column in columns if family_of(column.type) is Family.TEXT}
        if not texts:
            return False
        metadata = metadata_of(self._dialect)
        with closing(self._database()) as connection:
            there = metadata.columns(connection, metadata.full_name(self._name))
        return any(each.name in texts and each.native.lower().startswith(_FIXED) for each in there)

    def _assignment(self, at: int, value: Rex) -> str | None:
        column = self._table.columns[at]
        if isinstance(value, Ref) and value.type == self._table.columns[value.index].type == column.type:
            text: str | None = self._dialect.name(self._table.columns[value.index].name)
        elif isinstance(value, Literal):
            text = "NULL" if value.value is None else self._dialect.literal(value.value, value.type)
        else:
            return None
        return None if text is None else f"{self._dialect.name(column.name)} = {text}"

    def _run(self, statement: str) -> Changed:
        with closing(self._database()) as connection:
            try:
                rows = _count(connection, statement)
                connection.commit()
            except Exception as error:
                said = mask_text(str(error).strip())
                raise TableException(f"{self._dialect.title}, table {self._name}: {said}") from error
        return Changed(rows)


def _count(connection: Connection, statement: str) -> int | None:
    with closing(connection.cursor()) as cursor:
        cursor.execute(statement)
        count = cursor.rowcount
    return count if isinstance(count, int) and count >= 0 else None


class JdbcFactory(TableFactory):
    identifier = "jdbc"
    extra = "jdbc"
    required = ("url", "table-name")
    optional = (*COMMON, *SCAN, *LOOKUP, *SINK)

    def stands_in(self, options: Mapping[str, str]) -> str | None:
        url = options.get("url", "")
        return "jdbc-by-spark" if url.lower().startswith("jdbc:") and not is_known_url(url) else None

    def source(self, table: TableContext) -> TableSource:
        return JdbcTableSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        options = JdbcOptions(table)
        return lookup_source(
            self,
            table,
            key,
            lambda: JdbcLookup(options.database, options.name, table.columns, key, table.options, options.asking),
        )

    def sink(self, table: TableContext) -> TableSink:
        return JdbcTableSink(table)

    def changer(self, table: TableContext) -> TableChanger:
        return JdbcChanger(table)


class JdbcTableSource(TableSource):
    """Reads of the columns that are wanted the rows that pass those filters that the database understands."""

    def __init__(self, table: TableContext, limit: int | None = None) -> None:
        no_metadata(table)
        self._context, self._limit = table, limit
        self._columns = table.columns
        self._options = JdbcOptions(table)
        self._partitions = self._options.partitions
        self.uses_filters = self._options.pushes

    @property
    def pushed(self) -> tuple[str, ...]:
        return () if self._limit is None else (f"limit={self._limit}",)

    def limited(self, count: int, filters: Sequence[Rex]) -> TableSource | None:
        read = [self._columns[each] for condition in filters for each in refs(condition)]
        database, name = self._options.database, self._options.name
        if not self._options.pushes_more or exact(filters, self._columns, database) is None:
            return None
        # Without ``table``: a scan with a limit must not be shared with a scan that reads everything.
        return JdbcTableSource(self._context, count) if typed_alike(database, name, read) else None

    def aggregated(self, asked: Aggregation) -> TableSource | None:
        options, columns = self._options, self._columns
        if not options.pushes_more or self._partitions is not None or self._limit is not None:
            return None
        passed = exact(asked.filters, columns, options.database)
        made = computed(asked, columns, options.database)
        if passed is None or made is None or not typed_alike(options.database, options.name, used(asked, columns)):
            return None
        texts = tuple(text for column in made for text, _ in column.asked)
        source = JdbcAggregatesSource(options.database, options.name, made, len(asked.keys), passed)
        return JdbcAggregates(source, texts)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        options = self._options
        wanted = tuple(self._columns[place] for place in columns)
        passed = conditions(filters, self._columns, options.database.dialect) if self.uses_filters else ()
        query = Query(options.name, wanted, passed, options.fetch, self._limit)
        return JdbcRowsSource(options.database, query, self._partitions)


class JdbcAggregates(TableSource):
    """Reads groups that the database has made."""

    def __init__(self, source: JdbcAggregatesSource, texts: tuple[str, ...]) -> None:
        self._source, self._texts = source, texts

    @property
    def pushed(self) -> tuple[str, ...]:
        return (f"aggregates=[{', '.join(self._texts)}]",)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return self._source


class JdbcTableSink(TableSink):
    """Appends to a table without PRIMARY KEY, and keeps one row per key of one that has it."""

    def __init__(self, table: TableContext) -> None:
        no_metadata(table)
        options = JdbcOptions(table)
        self._options = options
        self.keys = table.primary_key
        self.kinds = UPSERT if table.primary_key else INSERT_ONLY
        self.parallelism = options.parallelism
        shape = TableShape(options.name, tuple(column.name for column in table.columns), table.primary_key)
        self._changes = RowChanges(options.database.dialect, shape, tuple(column.type for column in table.columns))
        self._way, self._buffering = options.exactly_once, options.buffering
        if self._way == "two-phase" and table.primary_key:
            raise TableException(
                f"table {table.summary}: 'sink.exactly-once' = 'two-phase' is for tables without PRIMARY KEY: a "
                f"prepared transaction locks its rows, and the next one that changes the same key would wait for it. "
                f"'marks' is exactly once for these"
            )

    def stream(self) -> Sink[Rows]:
        options = self._options
        if self._way == "marks":
            return JdbcExactlyOnceSink(options.database, self._changes, options.log_directory, options.commit_table)
        if self._way == "two-phase":
            return two_phase_sink(options.database, self._changes, options.commit_table)
        return BufferedSink(options.database, self._changes, self._buffering, len)
