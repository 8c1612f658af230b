"""``type: postgres``, ``mysql`` and ``jdbc``: writes changes into tables of a database, and applies schema changes.

After a failure rows are written again that may be older than the last schema changes of their table. The table
``millrace_schema_changes`` maps their columns to the present ones: it is stored beside the written table, has one row
for each column that was renamed or dropped, and is written with the schema change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from millrace.cdc.elements import Batch, PipelineSink, SinkChange, SinkElement
from millrace.cdc.pipeline_file import CREATE_TABLE, Behavior, EndOptions, Pipeline
from millrace.cdc.transforms import CreateSinkTable
from millrace.common.sink import Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.cdc.events import (
    AddColumnEvent,
    AlterColumnTypeEvent,
    Column,
    DropColumnEvent,
    DropTableEvent,
    RenameColumnEvent,
    SchemaChangeEvent,
    TableId,
    TableSchema,
    TruncateTableEvent,
)
from millrace.connectors.jdbc.ddl import Ddl, NewColumn, ddl_of
from millrace.connectors.jdbc.dialect import CONNECT_SECONDS, Dialect, TableShape, Target
from millrace.connectors.jdbc.jdbc_database import Database, RowChanges, parse_url
from millrace.connectors.jdbc.mysql import MySqlDialect
from millrace.connectors.jdbc.postgresql import PostgreSqlDialect
from millrace.connectors.jdbc.sqlite import SqliteDialect
from millrace.connectors.sink_base import Patience
from millrace.connectors.stores import Buffering, Retrying
from millrace.util.secrets import mask_text

if TYPE_CHECKING:
    from millrace.datastream import DataStream


# Renamed and dropped columns

NAME = "millrace_schema_changes"
_COLUMNS = "table_name, lineage, version, place, old_name, new_name"


@dataclass(frozen=True)
class RecordedChange:
    """A column that was renamed or dropped by a change of its table.

    :ivar version: of the table, after the change.
    :ivar new: None: it was dropped.
    """

    version: int
    old: str
    new: str | None


@dataclass(frozen=True)
class History:
    """The columns of one table that were renamed and dropped, in the order of these changes."""

    moved: tuple[RecordedChange, ...] = ()

    def current(self, name: str, version: int, there: frozenset[str] | set[str]) -> str | None:
        """The name that a column of an earlier version has now; None: it was dropped.

        :param there: the columns that the table has. The last change is recorded before it is made, so it counts only
            if the table shows it.
        """
        found: str | None = name
        for each in self.moved:
            if each.version > version and each.old == found:
                if self.is_last(each.version) and each.new is not None and each.new not in there and each.old in there:
                    continue
                found = each.new
        return found

    def is_last(self, version: int) -> bool:
        """Whether no change after this version renames or drops a column."""
        return all(each.version <= version for each in self.moved)

    def has(self, version: int) -> bool:
        """Whether the change that makes this version renames or drops a column."""
        return any(each.version == version for each in self.moved)


def recorded_changes(event: SchemaChangeEvent, version: int) -> list[RecordedChange]:
    """The columns that a schema change renames or drops, as they are recorded."""
    if isinstance(event, RenameColumnEvent):
        return [RecordedChange(version, old, new) for old, new in event.names.items()]
    return [RecordedChange(version, name, None) for name in event.names] if isinstance(event, DropColumnEvent) else []


class Histories:
    """Reads and writes the table ``millrace_schema_changes``."""

    def __init__(self, ddl: Ddl) -> None:
        self._ddl = ddl
        self._mark = "?" if ddl.dialect.style == "qmark" else "%s"

    def load(self, connection: Any, table: str, lineage: str) -> History:
        """The recorded history of a table.

        :param lineage: id of the pipeline run that the versions belong to.
        """
        if not self._ddl.columns(connection, _beside(table)):
            return History()
        query = (
            f"SELECT version, old_name, new_name FROM {self._ddl.dialect.table(_beside(table))} "
            f"WHERE table_name = {self._mark} AND lineage = {self._mark} ORDER BY version, place"
        )
        with closing(connection.cursor()) as cursor:
            cursor.execute(query, (table, lineage))
            return History(tuple(RecordedChange(int(version), old, new) for version, old, new in cursor.fetchall()))

    def prepare(self, table: str) -> list[str]:
        """The statements that create the table of recorded changes."""
        names = {"table_name": "VARCHAR(200)", "lineage": "VARCHAR(40)", "version": "BIGINT", "place": "INT"}
        parts = [f"{name} {kind} NOT NULL" for name, kind in {**names, "old_name": "VARCHAR(200)"}.items()]
        key = f"PRIMARY KEY ({', '.join(names)})"
        place = self._ddl.dialect.table(_beside(table))
        return [f"CREATE TABLE IF NOT EXISTS {place} ({', '.join(parts)}, new_name VARCHAR(200), {key})"]

    def record(self, connection: Any, table: str, lineage: str, moved: Sequence[RecordedChange]) -> None:
        """Record renamed and dropped columns. Runs in the schema change's transaction and before it: a database that
        commits DDL by itself has then recorded the change first."""
        marks = ", ".join([self._mark] * 6)
        statement = f"INSERT INTO {self._ddl.dialect.table(_beside(table))} ({_COLUMNS}) VALUES ({marks})"
        with closing(connection.cursor()) as cursor:
            for place, each in enumerate(moved):
                cursor.execute(statement, (table, lineage, each.version, place, each.old, each.new))


def _beside(table: str) -> str:
    schema, dot, _ = table.rpartition(".")
    return f"{schema}{dot}{NAME}"


# The writer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Writing:
    """How tables are written.

    :ivar creates: whether missing tables are created.
    :ivar natives: whether the source is a database of the same kind, so that native type names can be used.
    :ivar tolerant: whether a schema change that the database refuses is skipped.
    """

    database: Database
    name_of: Callable[[TableId], str]
    buffering: Buffering = field(default_factory=Buffering)
    creates: bool = True
    natives: bool = False
    tolerant: bool = False


class DatabaseSink(Sink[SinkElement]):
    """**At least once, with one row per key**: writing a row again changes nothing in the end.

    A schema change waits until all rows before it are written, and rows after it wait for the change: both arrive in
    order,
    since all elements of a table go to one writer.
    """

    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    def create_writer(self, context: WriterInitContext) -> SinkWriter[SinkElement]:
        return _Writer(self._writing, self._writing.buffering.patience(context))


class _Writer(SinkWriter[SinkElement]):
    def __init__(self, writing: Writing, patience: Patience) -> None:
        self._writing = writing
        self._patience = patience
        self._dialect = writing.database.dialect
        self._ddl: Ddl = ddl_of(self._dialect)
        self._retrying = Retrying(writing.database, writing.buffering)
        self._waiting: dict[TableId, list[Batch]] = {}
        self._count = 0
        self._there: dict[TableId, frozenset[str]] = {}
        """present columns of each table, as the database reports them"""
        self._told: set[tuple[TableId, str]] = set()
        self._histories = Histories(self._ddl)
        self._known: dict[tuple[TableId, str], History] = {}

    def write(self, element: SinkElement, context: SinkWriterContext) -> None:
        if not isinstance(element, Batch):
            self._flush(element.table)
            self._change(element.event, element)
            return
        if not element.schema.primary_key:
            raise ValueError(_no_key(element.table))
        waiting = self._waiting.get(element.table)
        if waiting and waiting[0].schema != element.schema:
            self._flush(element.table)
            waiting = None
        self._patience.begin()
        if waiting:
            waiting.append(element)
        else:
            self._waiting[element.table] = [element]
        self._count += len(element.rows)
        buffering = self._writing.buffering
        if (buffering.max_rows and self._count >= buffering.max_rows) or self._patience.is_over():
            self._flush_all()

    def end_slice(self, now: int) -> None:
        if self._patience.is_over(now):
            self._flush_all()

    def flush(self, end_of_input: bool) -> None:
        self._flush_all()

    def close(self) -> None:
        self._retrying.close()

    def _flush_all(self) -> None:
        for table in list(self._waiting):
            self._flush(table)
        self._count = 0

    def _flush(self, table: TableId) -> None:
        waiting = self._waiting.pop(table, None)
        if not self._waiting:
            self._patience.end()
        if not waiting:
            return
        self._count = max(0, self._count - sum(len(each.rows) for each in waiting))
        schema, first = waiting[0].schema, waiting[0]
        there = self._columns(table, schema)
        history = self._history(table, first.lineage)
        names = [history.current(name, first.version, there) for name in schema.names]
        places = [place for place, name in enumerate(names) if name in there]
        missing = [str(name) for name in names if name is not None and name not in there]
        if missing:
            self._left_out(table, missing)
        shape = TableShape(
            self._writing.name_of(table),
            tuple(str(names[place]) for place in places),
            tuple(str(names[place]) for place in schema.key_places),
        )
        changes = RowChanges(self._dialect, shape, tuple(schema.types[place] for place in places))
        rows = [each.rows.with_columns([each.rows.columns[place] for place in places]) for each in waiting]
        self._retrying.run(lambda connection: changes.apply(connection, rows))

    def _left_out(self, table: TableId, missing: Sequence[str]) -> None:
        """Log, once for each column, that values are dropped because the table has lost the column outside of the
        pipeline."""
        new = [name for name in missing if (table, name) not in self._told]
        if new:
            self._told.update((table, name) for name in new)
            logger.warning(
                "table %s has no column %s any more: values for it are left out", table, ", ".join(map(repr, new))
            )

    def _columns(self, table: TableId, schema: TableSchema) -> frozenset[str]:
        """The present columns of a table; a missing table is created first."""
        found = self._there.get(table)
        if found is None:
            found = self._look(table)
            if not found:
                self._create(CreateSinkTable(table, schema))
                found = self._look(table)
            self._there[table] = found
        return found

    def _look(self, table: TableId) -> frozenset[str]:
        name = self._writing.name_of(table)
        return frozenset(self._retrying.run(lambda connection: self._ddl.columns(connection, name)))

    # -- changes of tables --------------------------------------------------------------------------------------

    def _history(self, table: TableId, lineage: str) -> History:
        found = self._known.get((table, lineage))
        if found is None:
            name = self._writing.name_of(table)
            found = self._retrying.run(lambda connection: self._histories.load(connection, name, lineage))
            self._known[table, lineage] = found
        return found

    def _change(self, event: SchemaChangeEvent, change: SinkChange) -> None:
        if isinstance(event, CreateSinkTable):
            if not self._look(event.table):
                self._create(event)
        else:
            try:
                self._apply(event, change)
            except Exception as error:
                said = f"{self._dialect.title}, table {event.table}, {type(event).__name__}: {mask_text(str(error))}"
                if not self._writing.tolerant or self._dialect.is_passing(error):
                    raise RuntimeError(said) from error
                logger.warning("%s: the table stays as it is", said)
        self._there.pop(event.table, None)

    def _apply(self, event: SchemaChangeEvent, change: SinkChange) -> None:
        history, name = self._history(event.table, change.lineage), self._writing.name_of(event.table)
        moved = recorded_changes(event, change.version)
        if moved and history.has(change.version):
            moved = []
        if moved:
            self._retrying.run(lambda connection: self._ddl.run(connection, self._histories.prepare(name)))

        def work(connection: Any) -> None:
            statements = self._statements(connection, event, change.version, history)
            if moved:
                self._histories.record(connection, name, change.lineage, moved)
            self._ddl.run(connection, statements)

        self._retrying.run(work)
        self._known.pop((event.table, change.lineage), None)

    def _create(self, event: CreateSinkTable) -> None:
        name = self._writing.name_of(event.table)
        if not self._writing.creates:
            raise RuntimeError(
                f"{self._dialect.title} has no table {name}, and 'create.table' is not among the schema changes that "
                "the sink takes"
            )
        schema = event.schema
        if not schema.primary_key:
            raise ValueError(_no_key(event.table))
        columns = [self._new(each) for each in schema.columns]
        statements = self._ddl.create(name, columns, schema.primary_key, event.options)
        try:
            self._retrying.run(lambda connection: self._ddl.run(connection, [*self._ddl.schema(name), *statements]))
        except KeyError as error:
            raise ValueError(f"table {name}: {self._dialect.title} has no columns of type {error}") from None
        except (ValueError, OSError):
            raise
        except Exception as error:
            said = mask_text(str(error).strip())
            raise RuntimeError(f"{self._dialect.title}: table {name} cannot be made: {said}") from error

    def _new(self, column: Column) -> NewColumn:
        natives = self._writing.natives
        return NewColumn(
            column.name, column.type, column.native if natives else "", column.default if natives else None
        )

    def _statements(self, connection: Any, event: SchemaChangeEvent, version: int, history: History) -> list[str]:
        """The statements that a change of a table still needs. After a restart a change comes once more: it may have
        been made already, and later ones, too."""
        ddl, table = self._ddl, self._writing.name_of(event.table)
        there = set(ddl.columns(connection, table))
        found: list[str] = []
        if isinstance(event, DropTableEvent):
            return ddl.drop_table(table)
        if not there:
            return found
        if isinstance(event, TruncateTableEvent):
            return ddl.truncate(table)
        if isinstance(event, AddColumnEvent):
            for each in event.added:
                name = each.column.name
                # A later change may have renamed or dropped the column already: adding it would bring it back.
                is_wanted = history.current(name, version, there) == name
                if is_wanted and name not in there:
                    found += ddl.add(table, self._new(each.column))
        elif history.has(version) and not history.is_last(version):
            return found
        elif isinstance(event, DropColumnEvent):
            for name in event.names:
                if name in there:
                    found += ddl.drop(table, name)
        elif isinstance(event, RenameColumnEvent):
            for old, new in event.names.items():
                if old in there and new not in there:
                    found += ddl.rename(table, old, new)
        elif isinstance(event, AlterColumnTypeEvent):
            for name, kind in event.types.items():
                before, now = event.old_types.get(name), history.current(name, version, there)
                if now in there and not (before is not None and before.is_same(kind)):
                    found += ddl.alter(table, NewColumn(str(now), kind), False)
        return found


def _no_key(table: TableId) -> str:
    return (
        f"table {table} has no primary key, by which its rows are found again: name columns under 'primary-keys' of a "
        "transform, or leave the table out"
    )


# The sink

_SHARED = ("username", "password", "connect.timeout", "sink.buffer-flush.max-rows", "sink.buffer-flush.interval",
           "sink.max-retries")  # fmt: skip
_PLACE = ("hostname", "port", "database-name")
_PREFIX = "jdbc.properties."
_KINDS: dict[str, tuple[Dialect, int]] = {"postgres": (PostgreSqlDialect(), 5432), "mysql": (MySqlDialect(), 3306)}


@dataclass(frozen=True)
class TableNames:
    """Maps a sink table to its name in the database: PostgreSQL has schemas, MySQL databases, SQLite neither."""

    dialect: Dialect
    database: str

    def __call__(self, table: TableId) -> str:
        if "." in table.schema + table.table:
            raise ValueError(f"table {table}: names with dots in them cannot be written; name another one in 'route'")
        if isinstance(self.dialect, SqliteDialect):
            return table.table
        if table.namespace and isinstance(self.dialect, MySqlDialect):
            raise ValueError(f"{self.dialect.title} has no schemas: {table} is no table there; name another in 'route'")
        if table.namespace and table.namespace != self.database:
            raise ValueError(
                f"table {table} is of database {table.namespace}, and the sink writes to {self.database}: name "
                f"schema.table in 'route'"
            )
        return table.short


class DatabasePipelineSink(PipelineSink):
    def __init__(self, pipeline: Pipeline) -> None:
        end = pipeline.sink
        names = (*(("url",) if end.type == "jdbc" else _PLACE), *_SHARED)
        options = EndOptions(end, names, (_PREFIX,))
        dialect, target = self._jdbc(options) if end.type == "jdbc" else self._place(options)
        default = Buffering()
        buffering = Buffering(
            options.number("sink.buffer-flush.max-rows", default.max_rows),
            options.seconds("sink.buffer-flush.interval", default.interval),
            options.number("sink.max-retries", default.retries),
        )
        kind = {"postgres": PostgreSqlDialect, "mysql": MySqlDialect}.get(pipeline.source.type)
        self.writing = Writing(
            Database(dialect, target),
            TableNames(dialect, target.database),
            buffering,
            creates=CREATE_TABLE in pipeline.accepted,
            natives=kind is not None and isinstance(dialect, kind),
            tolerant=pipeline.behavior is Behavior.TRY_EVOLVE,
        )

    def _jdbc(self, options: EndOptions) -> tuple[Dialect, Target]:
        try:
            return parse_url(
                options.needed("url"),
                options.text("username"),
                options.text("password"),
                options.below(_PREFIX),
                options.seconds("connect.timeout", CONNECT_SECONDS),
            )
        except ValueError as error:
            options.fail("url", str(error))

    def _place(self, options: EndOptions) -> tuple[Dialect, Target]:
        kind = options.end.type
        dialect, port = _KINDS[kind]
        database = options.needed("database-name") if kind == "postgres" else options.text("database-name") or ""
        target = Target(
            ((options.needed("hostname"), options.number("port", port)),),
            database,
            options.needed("username"),
            options.text("password"),
            options.below(_PREFIX),
            options.seconds("connect.timeout", CONNECT_SECONDS),
        )
        return dialect, target

    keeps_rows_by_keys = True

    def attach(self, stream: DataStream) -> Any:
        return stream.sink_to(DatabaseSink(self.writing))
