"""``TrackedTables``: the captured tables with their schemas at a position of the log.

Statements in the log change the schemas. Where a statement does not say enough, the server is asked for the table's
current schema (``ServerQuestions``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from millrace.connectors.cdc.changes import Relation
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
    changed,
)
from millrace.connectors.cdc.mysql import ddl_parser, mysql_types
from millrace.connectors.cdc.mysql.binlog_rows import LoggedColumn, RowDecoder, TableMap, parse_table_map, value_reader
from millrace.connectors.cdc.mysql.binlog_transactions import Statement
from millrace.connectors.jdbc.mysql import mysql_type

_ROWS = re.compile(r"\s*(?:/\*.*?\*/\s*)*(INSERT|UPDATE|DELETE|REPLACE|LOAD|WITH)\b", re.IGNORECASE | re.DOTALL)
"""statements that change rows"""
_MAPS = 1_000
"""The most descriptions of tables that are cached."""
Events = list[SchemaChangeEvent]


@dataclass(frozen=True)
class TableAt:
    """A captured table at a place of the log, and how to read its rows."""

    relation: Relation
    decoder: RowDecoder


@dataclass(frozen=True)
class ServerQuestions:
    """What has to be asked of the server. :ivar codec: of a collation, by number.
    :ivar charset: of a column now, as Python calls it. :ivar schema: of a table now; None: it is not there."""

    mariadb: bool
    codec: Callable[[int], str | None]
    charset: Callable[[TableId, str], str | None]
    schema: Callable[[TableId], TableSchema | None]


class TrackedTables:
    """:param wanted: whether a new table is captured, too."""

    def __init__(
        self, relations: Iterable[Relation], words: ServerQuestions, wanted: Callable[[TableId], bool]
    ) -> None:
        self._tables: dict[TableId, Relation | None] = {each.table: each for each in relations}
        self._words, self._wanted = words, wanted
        self._unsure: set[TableId] = set()
        """tables whose schema a statement has changed in a way that it does not say"""
        self._sure: set[TableId] = set()
        """tables that the log has described"""
        self._parsed: dict[bytes, TableMap] = {}
        self._at: dict[bytes, TableAt] = {}

    def described(self, body: bytes) -> tuple[TableAt | None, Events]:
        """The log tells of a table. :returns: None for one that is not captured.

        :raises ValueError: what is known of the table is not what the log has.
        """
        found = self._at.get(body)
        if found is not None:
            return found, []
        seen = self._parsed.get(body)
        if seen is None:
            if len(self._parsed) >= _MAPS:
                self._parsed.clear()
                self._at.clear()
            seen = self._parsed[body] = parse_table_map(body, self._words.mariadb)
        table = TableId("", seen.database, seen.table)
        if table not in self._tables:
            if not self._wanted(table):
                return None, []
            self._tables[table] = None
        events = self._learn(table, seen)
        relation = self._tables[table]
        assert relation is not None
        found = self._at[body] = TableAt(relation, self._decoder(relation, seen))
        return found, events

    def _learn(self, table: TableId, seen: TableMap) -> Events:
        """Make what is known of a table what the log has of it."""
        known = self._tables[table]
        schema = None if known is None else known.schema
        if seen.is_named:
            found = _named(seen, schema or self._words.schema(table))
        else:
            found = (None if table in self._unsure else schema) or self._words.schema(table) or TableSchema(())
            if table not in self._sure and not _fits(found, seen.columns):
                # It may have changed between the question what it is and the one where the log is.
                found = self._words.schema(table) or found
            if not _fits(found, seen.columns):
                raise ValueError(_unknown(table, found, seen.columns))
        self._unsure.discard(table)
        self._sure.add(table)
        if schema is None:
            self._set(table, found)
            return [CreateTableEvent(table, found)]
        if found == schema:
            return []
        self._set(table, found)
        events: Events = list(changed(table, schema, found))
        return [replace(each, result=found) for each in events]

    def _decoder(self, relation: Relation, seen: TableMap) -> RowDecoder:
        readers = []
        for column, logged in zip(relation.schema.columns, seen.columns):
            charset = self._words.charset(relation.table, column.name) if logged.collation is None else None
            what = mysql_types.column_traits(logged, column.native, self._words.codec, charset)
            readers.append(value_reader(logged, what, f"{relation.table}.{column.name}"))
        return RowDecoder(readers, str(relation.table))

    def _set(self, table: TableId, schema: TableSchema | None) -> None:
        self._tables[table] = None if schema is None else Relation(table, schema)
        self._at = {body: at for body, at in self._at.items() if at.relation.table != table}

    # -- statements ---------------------------------------------------------------------------------------------

    def changed(self, statement: Statement) -> Events:
        """What a statement did to captured tables.

        :raises ValueError: it changed rows, which the log should have instead.
        """
        if _ROWS.match(statement.text):
            self._refuse(statement)
            return []
        done = ddl_parser.parse_ddl(statement.text)
        if not done:
            return []
        events: Events = []
        for each in done:
            table = TableId("", statement.database if each.database is None else each.database, each.table)
            if isinstance(each, ddl_parser.Renamed):
                new = statement.database if each.new_database is None else each.new_database
                events += self._renamed(table, TableId("", new, each.new_table), done, statement)
            elif isinstance(each, ddl_parser.DroppedDatabase):
                for other in [name for name in self._tables if name.schema == each.database]:
                    events += self._done(other, ddl_parser.Dropped(other.schema, other.table))
            elif table in self._tables:
                events += self._done(table, each)
        return events

    def _refuse(self, statement: Statement) -> None:
        names = {word.strip("`").lower() for word in re.findall(r"`[^`]+`|[\w$]+", statement.text)}
        for table in self._tables:
            if table.table.lower() in names:
                raise ValueError(
                    f"a session wrote a statement and no rows that may have changed table {table}: it had "
                    f"binlog_format STATEMENT or MIXED. Set ROW everywhere, and take a new snapshot"
                )

    def _done(self, table: TableId, what: ddl_parser.Ddl) -> Events:
        known = self._tables[table]
        if isinstance(what, ddl_parser.Altered):
            return [] if known is None else self._altered(table, known.schema, what)
        if isinstance(what, ddl_parser.Truncated):
            return [TruncateTableEvent(table)]
        if isinstance(what, ddl_parser.Dropped):
            self._set(table, None)
            return [DropTableEvent(table)]
        self._doubt(table)  # CREATE OR REPLACE
        return []

    def _renamed(self, old: TableId, new: TableId, all_done: Sequence[ddl_parser.Ddl], statement: Statement) -> Events:
        """Tools that change tables put another one in the place of the old one, both in one statement."""
        if new in self._tables:
            self._doubt(new)
        if old not in self._tables:
            return []
        takers = {
            (statement.database if each.new_database is None else each.new_database, each.new_table)
            for each in all_done
            if isinstance(each, ddl_parser.Renamed)
        }
        if (old.schema, old.table) in takers:
            return []
        self._set(old, None)
        return [DropTableEvent(old)]

    def _doubt(self, table: TableId) -> None:
        """The log will tell what the table is, or the server."""
        self._unsure.add(table)
        self._at = {body: at for body, at in self._at.items() if at.relation.table != table}

    def _altered(self, table: TableId, schema: TableSchema, what: ddl_parser.Altered) -> Events:
        events: Events = []
        for change in what.changes:
            made, result = _change(table, schema, change)
            if made is not None:
                events.append(replace(made, result=result))
            schema = result
        self._set(table, schema)
        self._sure.add(table)
        if what.unclear:
            self._doubt(table)
        return events


def _change(
    table: TableId, schema: TableSchema, change: ddl_parser.Added | ddl_parser.Removed | ddl_parser.Changed
) -> tuple[SchemaChangeEvent | None, TableSchema]:
    """An event, and the schema after it. What a server did not do, since it was done already, is no event."""
    names = {name.lower(): name for name in schema.names}
    if isinstance(change, ddl_parser.Added):
        if change.name.lower() in names:
            return None, schema
        column = _column(change.name, change.native, change.nullable)
        place, existing = ("LAST", None) if change.after is None else ("FIRST", None)
        if change.after:
            place, existing = "AFTER", names.get(change.after.lower(), change.after)
        event: SchemaChangeEvent = AddColumnEvent(table, (AddedColumn(column, place, existing),))
        return event, event.apply(schema)
    name = names.get((change.name if isinstance(change, ddl_parser.Removed) else change.old).lower())
    if name is None:
        return None, schema
    if isinstance(change, ddl_parser.Removed):
        event = DropColumnEvent(table, (name,))
        keys = tuple(key for key in schema.primary_key if key != name)
        return event, replace(event.apply(schema), primary_key=keys)
    return _changed_column(table, schema, name, change)


def _changed_column(
    table: TableId, schema: TableSchema, name: str, change: ddl_parser.Changed
) -> tuple[SchemaChangeEvent | None, TableSchema]:
    old = schema.columns[schema.names.index(name)]
    result = schema
    event: SchemaChangeEvent | None = None
    if change.name != name:
        event = RenameColumnEvent(table, {name: change.name})
        result = event.apply(result)
    if change.native is None:
        return event, result
    new = replace(_column(change.name, change.native, change.nullable), comment=old.comment)
    if change.name in result.primary_key:
        new = replace(new, type=new.type.not_null())
    columns = [new if column.name == change.name else column for column in result.columns]
    if change.after is not None:
        columns.remove(new)
        before = next((at for at, each in enumerate(columns) if each.name.lower() == change.after.lower()), -1)
        columns.insert(before + 1, new)
    result = replace(result, columns=tuple(columns))
    if event is None and (new.type != old.type or result.names != schema.names):
        event = AlterColumnTypeEvent(table, {name: new.type}, {name: old.type})
    return event, result


def _column(name: str, native: str, nullable: bool) -> Column:
    kind = mysql_type(native)
    return Column(name, kind if nullable else kind.not_null(), native)


def _named(seen: TableMap, known: TableSchema | None) -> TableSchema:
    """The schema that the log has, with all that is known beside it."""
    before = {} if known is None else {column.name: column for column in known.columns}
    columns: list[Column] = []
    for logged in seen.columns:
        name = logged.name or ""
        column = before.get(name)
        if column is None or not mysql_types.type_fits(column.native, logged):
            in_key = seen.key is not None and len(columns) in seen.key
            column = _column(name, mysql_types.native_of(logged), not in_key)
        columns.append(column)
    key = () if known is None else known.primary_key
    if seen.key is not None:
        key = tuple(columns[place].name for place in seen.key)
        if known is not None and set(key) == set(known.primary_key):
            key = known.primary_key
    return TableSchema(tuple(columns), key, None if known is None else known.comment)


def _fits(schema: TableSchema, logged: Sequence[LoggedColumn]) -> bool:
    return len(logged) == len(schema.columns) and all(
        mysql_types.type_fits(column.native, of) for column, of in zip(schema.columns, logged)
    )


def _unknown(table: TableId, schema: TableSchema, logged: Sequence[LoggedColumn]) -> str:
    """Why rows cannot be read: the log has other columns, without their names."""
    wrong = next(
        (each.name for each, of in zip(schema.columns, logged) if not mysql_types.type_fits(each.native, of)), None
    )
    same = len(logged) == len(schema.columns)
    what = f"column '{wrong}' has another type" if same else f"{len(logged)} columns, not {len(schema.columns)}"
    return (
        f"the log has rows of table {table} that are not as the table is known ({what}), and it does not have the "
        f"names of the columns. Set binlog_row_metadata = FULL, which lets the log have them, and take a new snapshot"
    )
