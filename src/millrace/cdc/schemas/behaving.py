"""``schema.change.behavior``: which changes of a schema reach the sink, and in which form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from millrace.cdc.definition import change_kinds as kinds
from millrace.cdc.definition.model import Behavior
from millrace.cdc.schemas.merging import widest
from millrace.connectors.cdc.events import (
    AddColumnEvent,
    AddedColumn,
    AlterColumnTypeEvent,
    CreateTableEvent,
    DropColumnEvent,
    DropTableEvent,
    RenameColumnEvent,
    SchemaChangeEvent,
    TruncateTableEvent,
)
from millrace.connectors.cdc.schema import Column, TableSchema

_KINDS: dict[type[SchemaChangeEvent], str] = {
    AddColumnEvent: kinds.ADD_COLUMN,
    AlterColumnTypeEvent: kinds.ALTER_COLUMN_TYPE,
    CreateTableEvent: kinds.CREATE_TABLE,
    DropColumnEvent: kinds.DROP_COLUMN,
    DropTableEvent: kinds.DROP_TABLE,
    RenameColumnEvent: kinds.RENAME_COLUMN,
    TruncateTableEvent: kinds.TRUNCATE_TABLE,
}


class SchemaChangeRefused(RuntimeError):
    """A table was changed, and the pipeline says that none may be."""


@dataclass(frozen=True)
class Policy:
    """What the pipeline says about changes of schemas."""

    behavior: Behavior
    accepted: frozenset[str] = frozenset(kinds.ALL)

    @property
    def tolerant(self) -> bool:
        """Whether rows may have to be squeezed into columns that were not changed with the source."""
        return self.behavior in (Behavior.IGNORE, Behavior.TRY_EVOLVE)

    def accepts(self, event: SchemaChangeEvent) -> bool:
        return kind_of(event) in self.accepted

    def let_through(self, events: Iterable[SchemaChangeEvent], schema: TableSchema) -> list[SchemaChangeEvent]:
        """What reaches the sink of changes (all but the table's creation) that were made.

        :param schema: of the table of the sink before them.
        :raises SchemaChangeRefused: none may reach it.
        """
        found: list[SchemaChangeEvent] = []
        for event in events:
            for each in self._in_form(event, schema):
                fitting = fitting_part(each, schema)
                if fitting is not None and self.accepts(fitting):
                    found.append(fitting)
                    schema = fitting.apply(schema)
        return found

    def _in_form(self, event: SchemaChangeEvent, schema: TableSchema) -> Sequence[SchemaChangeEvent]:
        if self.behavior is Behavior.EXCEPTION:
            raise SchemaChangeRefused(
                f"table {event.table} was changed ({kind_of(event)}), and 'schema.change.behavior' is 'exception': "
                "change the sink by hand and start the pipeline again without state, or choose another behavior"
            )
        if self.behavior is Behavior.IGNORE:
            return ()
        return list(_lenient(event, schema)) if self.behavior is Behavior.LENIENT else (event,)


def kind_of(event: SchemaChangeEvent) -> str:
    """``add.column``, ..."""
    return next(kind for cls, kind in _KINDS.items() if isinstance(event, cls))


def _lenient(event: SchemaChangeEvent, schema: TableSchema) -> Iterator[SchemaChangeEvent]:
    """Changes after which the table still has all that it had: columns are added and widened, never taken away."""
    columns = {column.name: column for column in schema.columns}
    if isinstance(event, AddColumnEvent):
        yield _added(event, (each.column for each in event.added))
    elif isinstance(event, RenameColumnEvent):
        old = {name: columns[name] for name in event.names if name in columns}
        yield _added(event, (replace(column, name=event.names[name]) for name, column in old.items()))
        yield from _nullable(event, schema, old)
    elif isinstance(event, DropColumnEvent):
        yield from _nullable(event, schema, event.names)
    elif isinstance(event, AlterColumnTypeEvent):
        wide = {name: widest(columns[name].type, kind) for name, kind in event.types.items() if name in columns}
        other = {name: kind for name, kind in wide.items() if kind != columns[name].type}
        if other:
            yield AlterColumnTypeEvent(event.table, other, {name: columns[name].type for name in other})
    else:
        yield event


def _added(event: SchemaChangeEvent, columns: Iterable[Column]) -> AddColumnEvent:
    return AddColumnEvent(event.table, tuple(AddedColumn(replace(each, type=each.type.nullable())) for each in columns))


def _nullable(event: SchemaChangeEvent, schema: TableSchema, names: Iterable[str]) -> Iterator[SchemaChangeEvent]:
    """Columns that get no values any more must be able to have none."""
    wanted = set(names) - set(schema.primary_key)
    types = {c.name: c.type for c in schema.columns if c.name in wanted and not c.type.is_nullable}
    if types:
        yield AlterColumnTypeEvent(event.table, {name: kind.nullable() for name, kind in types.items()}, types)


def fitting_part(event: SchemaChangeEvent, schema: TableSchema) -> SchemaChangeEvent | None:
    """What of a change can be made of a schema: it may have been made already. None: nothing."""
    names = set(schema.names)
    if isinstance(event, AddColumnEvent):
        added = []
        for each in event.added:
            if each.column.name not in names:
                known = each.existing is None or each.existing in names
                added.append(each if known else AddedColumn(each.column))
                names.add(each.column.name)
        return replace(event, added=tuple(added)) if added else None
    if isinstance(event, DropColumnEvent):
        gone = tuple(name for name in event.names if name in names)
        return replace(event, names=gone) if gone else None
    if isinstance(event, RenameColumnEvent):
        renamed = {old: new for old, new in event.names.items() if old in names and new not in names}
        return replace(event, names=renamed) if renamed else None
    if isinstance(event, AlterColumnTypeEvent):
        have = dict(zip(schema.names, schema.types))
        types = {name: kind for name, kind in event.types.items() if name in have and have[name] != kind}
        old = {name: have[name] for name in types}
        return replace(event, types=types, old_types=old) if types else None
    return event
