"""Sources of pipelines. ``type: mysql`` (MariaDB, too) and ``type: postgres`` capture tables, with the options of Flink
CDC's pipeline connectors: captured changes become column batches, one for the changes of each table, in their order.
``type: values`` has events listed in the pipeline file, for tests and for trying out routes and transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from millrace.cdc.elements import Batch, Element, PipelineSource
from millrace.cdc.pipeline_file import End, EndOptions
from millrace.cdc.table_selection import TableList, table_id, table_list
from millrace.cdc.transforms import COMMITTED
from millrace.cdc.yaml_tree import Block, Items, Part, Text
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.cdc.cdc_source import CdcSource
from millrace.connectors.cdc.changes import Change, Chunking, ChunkRows, Relation
from millrace.connectors.cdc.database import CdcDatabase, StartupMode, StartupOptions
from millrace.connectors.cdc.deserializers import ChangeDecoder
from millrace.connectors.cdc.events import (
    AddColumnEvent,
    AddedColumn,
    AlterColumnTypeEvent,
    Column,
    CreateTableEvent,
    DropColumnEvent,
    DropTableEvent,
    RenameColumnEvent,
    SchemaChangeEvent,
    TableId,
    TableSchema,
    TruncateTableEvent,
)
from millrace.connectors.cdc.mysql.binlog_position import MariaDbGtids, MySqlGtids, file_number
from millrace.connectors.cdc.mysql.mysql_database import MySqlDatabase, MySqlSettings, parse_server_ids
from millrace.connectors.cdc.postgres.postgres_catalog import PostgresSettings
from millrace.connectors.cdc.postgres.postgres_database import PostgresDatabase
from millrace.connectors.jdbc.dialect import Target
from millrace.connectors.jdbc.mysql import MySqlDialect
from millrace.relational import types as t
from millrace.relational.functions.cast_values import explicit_cast
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import SignatureError, Surroundings
from millrace.relational.rex import Ref
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, record_batch
from millrace.relational.types import DataType
from millrace.table.sql.grammar.parser import parse_type
from millrace.table.sql.text import SqlError
from millrace.util.names import did_you_mean

if TYPE_CHECKING:
    from millrace.datastream import DataStream, StreamExecutionEnvironment


# Databases

_EVEN = "chunk-key.even-distribution.factor"
CAPTURING = (
    *("hostname", "port", "username", "password", "tables", "tables.exclude", "connect.timeout", "heartbeat.interval"),
    *("scan.startup.mode", "metadata.list"),
    *("scan.incremental.snapshot.chunk.size", "scan.incremental.snapshot.chunk.key-column"),
    *(f"{_EVEN}.lower-bound", f"{_EVEN}.upper-bound"),
)
IGNORED = (
    *("connection.pool.size", "chunk-meta.group.size", "scan.incremental.snapshot.enabled"),
    *("scan.incremental.close-idle-reader.enabled", "scan.incremental.snapshot.unbounded-chunk-first.enabled"),
    *("include-comments.enabled", "jdbc.driver", "scan.snapshot.fetch.size"),
)
"""Options that tune Flink CDC's own implementation: accepted without effect."""


def startup_of(options: EndOptions, modes: Iterable[StartupMode], offset_of: Callable[[], Any]) -> StartupOptions:
    """The startup options of a source.

    :param offset_of: parses the position for ``specific-offset``.
    :raises PipelineError: a mode that the database does not have, or that lacks what it needs.
    """
    known = {each.value: each for each in modes}
    mode = known[options.one_of("scan.startup.mode", StartupMode.INITIAL.value, known)]
    offset: Any = None
    timestamp = None
    if mode is StartupMode.SPECIFIC_OFFSETS:
        offset = offset_of()
    if mode is StartupMode.TIMESTAMP:
        options.needed("scan.startup.timestamp-millis")
        timestamp = options.number("scan.startup.timestamp-millis", 0)
    return StartupOptions(mode, offset, timestamp)


def chunking_of(options: EndOptions) -> tuple[Chunking, Mapping[str, str]]:
    """The size of snapshot chunks, and the columns that split tables into chunks: one column for all tables, or
    ``schema.table:column;...``."""
    default = Chunking()
    name = "scan.incremental.snapshot.chunk.key-column"
    columns: dict[str, str] = {}
    for each in filter(str.strip, (options.text(name) or "").split(";")):
        table, _, column = each.rpartition(":")
        columns[table.strip()] = column.strip()
    rows = options.number("scan.incremental.snapshot.chunk.size", default.rows)
    if rows < 1:
        options.fail("scan.incremental.snapshot.chunk.size", "'scan.incremental.snapshot.chunk.size' is at least 1")
    bounds = []
    for side, factor in (("lower", default.lower_factor), ("upper", default.upper_factor)):
        text = options.text(f"{_EVEN}.{side}-bound")
        try:
            bounds.append(factor if text is None else float(text))
        except ValueError:
            options.fail(f"{_EVEN}.{side}-bound", f"'{_EVEN}.{side}-bound' is a number, not {text}")
    return Chunking(rows, *bounds), columns


def check_metadata(options: EndOptions) -> None:
    """Check ``metadata.list``. Expressions can use all metadata without it.

    :raises PipelineError: unknown metadata.
    """
    for name in filter(None, map(str.strip, (options.text("metadata.list") or "").split(","))):
        if name != COMMITTED:
            options.fail("metadata.list", f"'metadata.list': there is {COMMITTED}, and no {name}")


def refuse_debezium(options: EndOptions, known: Iterable[str]) -> Mapping[str, str]:
    """Refuse options of Debezium, which Millrace does not use; a few of them have an equivalent and are accepted.

    :raises PipelineError: an option without an equivalent.
    """
    found, names = options.below("debezium."), tuple(known)
    for name in found:
        if name not in names:
            options.fail(
                f"debezium.{name}",
                f"'debezium.{name}': Millrace captures without Debezium{did_you_mean(name, names)}; of its settings it "
                f"takes {', '.join(names)}",
            )
    return found


class CapturingSource(PipelineSource):
    """A source that captures tables of a database."""

    def __init__(self, source: CdcSource[Any]) -> None:
        self._source = source

    def attach(self, environment: StreamExecutionEnvironment, keyed: bool) -> DataStream:
        source = replace(self._source, repeats_deletions=keyed)
        return environment.from_source(source, WatermarkStrategy.no_watermarks(), "Capture", Types.PICKLED_BYTE_ARRAY())

    @property
    def is_unbounded(self) -> bool:
        return self._source.startup.has_log


class _Gathered:
    """The changes of one table between two of its schema changes."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.rows: list[tuple[Any, ...]] = []
        self.kinds: list[int] = []
        self.times: list[int] = []
        self.keys_only = False

    def add(self, change: Change) -> None:
        self.keys_only = self.keys_only or change.before_is_key
        if change.before is not None and change.op != "c":
            self.rows.append(change.before)
            self.kinds.append(DELETE if change.op == "d" else UPDATE_BEFORE)
        if change.after is not None and change.op != "d":
            self.rows.append(change.after)
            self.kinds.append(INSERT if change.op == "c" else UPDATE_AFTER)
        self.times += [change.time] * (len(self.rows) - len(self.times))


class BatchDecoder(ChangeDecoder[Element]):
    """Turns captured changes into batches and schema changes.

    The order of elements is kept within a table, and between schema changes not across tables. A batch carries the
    schema
    of its rows, so a table's schema need not be sent again.

    :param namespaces: whether table names contain the database, if there are schemas below it.
    """

    def __init__(self, namespaces: bool = False) -> None:
        self._namespaces = namespaces

    def _called(self, table: TableId) -> TableId:
        return table if self._namespaces else replace(table, namespace="")

    def rows(self, rows: ChunkRows, database: CdcDatabase) -> list[Element]:
        table, schema = self._called(rows.relation.table), rows.relation.schema
        # Also of a table without rows, which is made nevertheless.
        found: list[Element] = [CreateTableEvent(table, schema)]
        if rows.count:
            columns = [
                database.column(values, column.native, column.type, f"{table}.{column.name}")
                for values, column in zip(rows.columns, schema.columns)
            ]
            found.append(Batch(table, schema, Rows(record_batch(columns, rows.count))))
        return found

    def changes(self, events: Sequence[Change | SchemaChangeEvent], database: CdcDatabase) -> list[Element]:
        found: list[Element] = []
        waiting: dict[int, _Gathered] = {}
        for event in events:
            if isinstance(event, SchemaChangeEvent):
                found += self._made(waiting, database)
                waiting = {}
                found.append(replace(event, table=self._called(event.table)))
            else:
                waiting.setdefault(id(event.relation), _Gathered(event.relation)).add(event)
        return found + self._made(waiting, database)

    def _made(self, waiting: dict[int, _Gathered], database: CdcDatabase) -> list[Element]:
        found: list[Element] = []
        for each in waiting.values():
            table, schema = self._called(each.relation.table), each.relation.schema
            columns = []
            for place, column in enumerate(schema.columns):
                values = [row[place] for row in each.rows]
                columns.append(database.column(values, column.native, column.type, f"{table}.{column.name}"))
            rows = Rows(record_batch(columns, len(each.rows)), np.array(each.kinds, np.uint8))
            found.append(Batch(table, schema, rows, each.keys_only, np.array(each.times, np.int64)))
        return found


# MySQL and MariaDB

if TYPE_CHECKING:
    pass

_MYSQL_OFFSET = "scan.startup.specific-offset"
_FILE, _POSITION, _GTIDS = (f"{_MYSQL_OFFSET}.{name}" for name in ("file", "pos", "gtid-set"))
_NEW, _NEW_IN_LOG = "scan.newly-added-table.enabled", "scan.binlog.newly-added-table.enabled"
_MYSQL_OPTIONS = ("server-id", "server-time-zone", "connect.max-retries", _FILE, _POSITION, _GTIDS, _NEW, _NEW_IN_LOG)
_MYSQL_WITHOUT_EFFECT = ("scan.parse.online.schema.changes.enabled", "use.legacy.json.format", "schema-change.enabled")
_MYSQL_MODES = (
    *(StartupMode.INITIAL, StartupMode.EARLIEST_OFFSET, StartupMode.LATEST_OFFSET, StartupMode.SPECIFIC_OFFSETS),
    *(StartupMode.TIMESTAMP, StartupMode.SNAPSHOT),
)
_MYSQL_PORT = 3306


class MySqlPipelineSource(CapturingSource):
    """:raises PipelineError: an option is missing or wrong."""

    def __init__(self, end: End) -> None:
        known = (*CAPTURING, "scan.startup.timestamp-millis", *_MYSQL_OPTIONS, *IGNORED, *_MYSQL_WITHOUT_EFFECT)
        options = EndOptions(end, known, ("jdbc.properties.", "debezium."))
        check_metadata(options)
        refuse_debezium(options, ())
        if options.flag(_NEW):
            options.fail(
                _NEW,
                f"'{_NEW}' is not there: rows of a table that the pattern means only later are not read when the "
                f"pipeline goes on. '{_NEW_IN_LOG}' captures tables that are made while it runs",
            )
        if not options.flag("schema-change.enabled", True):
            options.fail("schema-change.enabled", "nearest: 'schema.change.behavior: ignore' under 'pipeline'")
        startup = startup_of(options, _MYSQL_MODES, lambda: _offset(options))
        chunking, columns = chunking_of(options)
        super().__init__(CdcSource(MySqlDatabase(_settings(options)), BatchDecoder(), startup, chunking, columns))


def _settings(options: EndOptions) -> MySqlSettings:
    target = Target(
        ((options.needed("hostname"), options.number("port", _MYSQL_PORT)),),
        "",
        options.needed("username"),
        options.text("password"),
        options.below("jdbc.properties."),
        options.seconds("connect.timeout", 30.0),
    )
    left_out = options.text("tables.exclude") or ""
    listed = TableList.of(
        table_list(options, "tables", options.needed("tables"), 2), table_list(options, "tables.exclude", left_out, 2)
    )
    ids = options.text("server-id")
    try:
        MySqlDialect().arguments(target)
        return MySqlSettings(
            target,
            listed.schemas,
            listed.tables,
            None if ids is None else parse_server_ids(ids),
            options.text("server-time-zone") or "UTC",
            options.seconds("heartbeat.interval", 30.0),
            options.number("connect.max-retries", 3),
            options.flag(_NEW_IN_LOG),
        )
    except ValueError as error:
        options.fail("server-id" if "server-id" in str(error) else "hostname", str(error))


def _offset(options: EndOptions) -> dict[str, Any]:
    """A position in the binlog, by GTIDs or by file."""
    gtids = options.text(_GTIDS)
    try:
        if gtids is not None:
            MariaDbGtids.parse(gtids) if ":" not in gtids else MySqlGtids.parse(gtids)
            return {"gtids": gtids}
        file = options.needed(_FILE)
        file_number(file)
        options.needed(_POSITION)
        return {"file": file, "pos": options.number(_POSITION, 0)}
    except ValueError as error:
        options.fail(_MYSQL_OFFSET, f"'{_MYSQL_OFFSET}': {error}")


# PostgreSQL

if TYPE_CHECKING:
    pass

_POSTGRES_OFFSET = "scan.startup.specific-offset"
_POSTGRES_OPTIONS = ("slot.name", "decoding.plugin.name", "table-id.include-database", _POSTGRES_OFFSET)
_POSTGRES_WITHOUT_EFFECT = ("connect.max-retries", "server-time-zone")
_DEBEZIUM = ("publication.name", "publication.autocreate.mode", "slot.drop.on.stop")
_POSTGRES_MODES = (
    *(StartupMode.INITIAL, StartupMode.LATEST_OFFSET, StartupMode.COMMITTED_OFFSETS, StartupMode.SPECIFIC_OFFSETS),
    StartupMode.SNAPSHOT,
)
_POSTGRES_PORT = 5432


class PostgresPipelineSource(CapturingSource):
    """:raises PipelineError: an option is missing or wrong."""

    def __init__(self, end: End) -> None:
        options = EndOptions(
            end,
            (*_POSTGRES_OPTIONS, *CAPTURING, *IGNORED, *_POSTGRES_WITHOUT_EFFECT),
            ("jdbc.properties.", "debezium."),
        )
        check_metadata(options)
        plugin = options.text("decoding.plugin.name", "pgoutput")
        if plugin != "pgoutput":
            options.fail("decoding.plugin.name", f"'decoding.plugin.name' {plugin}: Millrace reads pgoutput only")
        database, listed = self._tables(options)
        target = Target(
            ((options.needed("hostname"), options.number("port", _POSTGRES_PORT)),),
            database,
            options.needed("username"),
            options.text("password"),
            options.below("jdbc.properties."),
            options.seconds("connect.timeout", 30.0),
        )
        debezium = refuse_debezium(options, _DEBEZIUM)
        startup = startup_of(options, _POSTGRES_MODES, lambda: options.needed(_POSTGRES_OFFSET))
        try:
            settings = PostgresSettings(
                target,
                listed.schemas,
                listed.tables,
                options.needed("slot.name"),
                publication=debezium.get("publication.name", ""),
                autocreate=debezium.get("publication.autocreate.mode", "filtered"),
                drop_slot=debezium.get("slot.drop.on.stop", "false").lower() == "true",
                heartbeat=options.seconds("heartbeat.interval", 30.0),
            )
        except ValueError as error:
            options.fail("slot.name", str(error))
        decoder = BatchDecoder(options.flag("table-id.include-database"))
        chunking, columns = chunking_of(options)
        super().__init__(CdcSource(PostgresDatabase(settings), decoder, startup, chunking, columns))

    def _tables(self, options: EndOptions) -> tuple[str, TableList]:
        """The database that all patterns name, and the tables in it."""
        text, left_out = options.needed("tables"), options.text("tables.exclude") or ""
        wanted, unwanted = table_list(options, "tables", text, 3), table_list(options, "tables.exclude", left_out, 3)
        databases = sorted({each[0] for each in (*wanted, *unwanted)})
        if len(databases) != 1 or any(sign in databases[0] for sign in "*+?[](){}|\\^$"):
            options.fail(
                "tables",
                f"'tables' of PostgreSQL names one database, as in app.public.orders, not {' and '.join(databases)}: a "
                "replication slot is one database's",
            )
        return databases[0], TableList.of([each[1:] for each in wanted], [each[1:] for each in unwanted])


# Listed events

_ROWS = {"insert": (INSERT,), "update": (UPDATE_BEFORE, UPDATE_AFTER), "delete": (DELETE,)}
_SCHEMAS = ("create", "add-column", "drop-column", "rename-column", "alter-column-type", "truncate", "drop")


class ValuesSource(PipelineSource):
    """:raises PipelineError: an event cannot be read."""

    parallelism = 1

    def __init__(self, end: End) -> None:
        self._events = read_events(end.block)

    def attach(self, environment: StreamExecutionEnvironment, keyed: bool) -> DataStream:
        return environment.from_collection(self._events, Types.PICKLED_BYTE_ARRAY()).set_parallelism(self.parallelism)

    @property
    def is_unbounded(self) -> bool:
        return False


def read_events(source: Block) -> list[Element]:
    """Parse ``events`` of a source block.

    :raises PipelineError: an event is malformed, or its table does not exist.
    """
    source.only(("type", "name", "events"))
    schemas: dict[TableId, TableSchema] = {}
    return [element for block in source.blocks("events") for element in _event(block, schemas)]


def _event(block: Block, schemas: dict[TableId, TableSchema]) -> Iterator[Element]:
    kinds = (*_ROWS, *_SCHEMAS)
    block.only(("table", *kinds))
    table = table_id(block.needed("table"))
    given = [kind for kind in kinds if kind in block.values]
    if table is None or len(given) != 1:
        block.fail(f"an event has 'table' and one of {', '.join(kinds)}")
    kind = given[0]
    if kind == "create":
        schemas[table] = _schema(block.block("create") or block)
        yield CreateTableEvent(table, schemas[table])
        return
    if table not in schemas:
        block.fail(f"table {table} is not there: an event with 'create' comes first", "table")
    if kind in _ROWS:
        yield _batch(block, kind, table, schemas[table])
        return
    event = _MAKERS[kind](block, table)
    yield event
    schemas[table] = event.apply(schemas[table])
    if kind == "drop":
        del schemas[table]


def _schema(block: Block) -> TableSchema:
    block.only(("columns", "primary-key"))
    columns = block.block("columns")
    if columns is None:
        block.fail("'create' needs 'columns'")
    keys = block.texts("primary-key")
    found = tuple(_column(columns, name, name in keys) for name in columns.values)
    missing = [name for name in keys if name not in columns.values]
    if missing:
        block.fail(f"'primary-key': there is no column {missing[0]}", "primary-key")
    return TableSchema(found, keys)


def _column(block: Block, name: str, is_key: bool = False) -> Column:
    kind = _type(block, name)
    return Column(name, kind.not_null() if is_key else kind)


def _type(block: Block, key: str) -> DataType:
    try:
        return parse_type(block.needed(key))
    except SqlError as error:
        block.fail(f"'{key}': {error}", key)


def _added(block: Block, table: TableId) -> SchemaChangeEvent:
    given = block.block("add-column") or block
    given.only(("name", "type", "after"))
    after = given.text("after")
    column = Column(given.needed("name"), _type(given, "type"))
    return AddColumnEvent(table, (AddedColumn(column, "AFTER" if after else "LAST", after),))


def _pairs(block: Block, key: str) -> Mapping[str, str]:
    given = block.block(key)
    return {} if given is None else {name: given.needed(name) for name in given.values}


def _altered(block: Block, table: TableId) -> SchemaChangeEvent:
    given = block.block("alter-column-type") or block
    return AlterColumnTypeEvent(table, {name: _type(given, name) for name in given.values})


_MAKERS: Mapping[str, Callable[[Block, TableId], SchemaChangeEvent]] = {
    "add-column": _added,
    "drop-column": lambda block, table: DropColumnEvent(table, block.texts("drop-column")),
    "rename-column": lambda block, table: RenameColumnEvent(table, dict(_pairs(block, "rename-column"))),
    "alter-column-type": _altered,
    "truncate": lambda block, table: TruncateTableEvent(table),
    "drop": lambda block, table: DropTableEvent(table),
}


def _batch(block: Block, kind: str, table: TableId, schema: TableSchema) -> Batch:
    """A batch of rows; updates alternate between old and new rows."""
    rows = [_row(block, kind, each, schema) for each in _items(block, kind, block.values[kind])]
    cycle = _ROWS[kind]
    if len(rows) % len(cycle):
        block.fail("'update' has an old and a new row each", kind)
    columns = [_typed(block, kind, [row[place] for row in rows], column) for place, column in enumerate(schema.columns)]
    kinds = np.array([cycle[place % len(cycle)] for place in range(len(rows))], np.uint8)
    return Batch(table, schema, Rows(record_batch(columns, len(rows)), kinds))


def _items(block: Block, kind: str, part: Part) -> Sequence[Part]:
    if not isinstance(part, Items):
        block.fail(f"'{kind}' is a list of rows", kind)
    return part.values


def _row(block: Block, kind: str, part: Part, schema: TableSchema) -> list[str | None]:
    values = [each.value for each in _items(block, kind, part) if isinstance(each, Text)]
    if len(values) != len(schema.columns):
        block.fail(f"a row has {len(schema.columns)} values ({', '.join(schema.names)}), not {len(values)}", kind)
    return values


def _typed(block: Block, kind: str, texts: list[str | None], column: Column) -> pa.Array:
    given = t.string()
    try:
        cast = explicit_cast(Ref(given, 0), column.type)
        return Evaluator([pa.array(texts, pa.string())], Surroundings(len(texts))).column(cast)
    except (SignatureError, ValueError, ArithmeticError) as error:
        block.fail(f"column {column.name}: {error}", kind)
