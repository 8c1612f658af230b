"""Schemas of the sink's tables, derived from the schemas of the source tables that are routed to them.

``schema.change.behavior`` decides which schema changes reach the sink, and in which form. Several source tables share a
schema that has the columns of all, each with a type that holds every value.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from millrace.cdc import pipeline_file
from millrace.cdc.pipeline_file import Behavior
from millrace.cdc.transforms import CreateSinkTable, Layout
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
from millrace.relational import types as t
from millrace.relational.functions.registry import as_decimal, common_type
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

_EXACT_IN_DOUBLE = 32
"""Widest integer (bits) whose values a DOUBLE holds exactly."""
_DIGITS = 38


def widest(one: DataType, two: DataType) -> DataType:
    """The smallest type that both types can be cast to without loss; STRING if there is no better one."""
    nullable = one.is_nullable or two.is_nullable
    return _widest(one, two).with_nullable(nullable)


def _widest(one: DataType, two: DataType) -> DataType:
    if one.is_same(two):
        return one
    families = {family_of(one), family_of(two)}
    if Family.APPROXIMATE in families and len(families) > 1:
        other = two if family_of(one) is Family.APPROXIMATE else one
        fits = isinstance(other, t.IntegralType) and other.bits <= _EXACT_IN_DOUBLE
        return t.DoubleType() if fits else t.string()
    if families == {Family.APPROXIMATE}:
        return t.DoubleType()
    if Family.DECIMAL in families and families <= {Family.DECIMAL, Family.INTEGER}:
        a, b = as_decimal(one), as_decimal(two)
        scale = max(a.scale, b.scale)
        digits = max(a.precision - a.scale, b.precision - b.scale) + scale
        return t.DecimalType(digits, scale) if digits <= _DIGITS else t.string()
    return common_type([one, two]) or t.string()


def merged(current: TableSchema, other: TableSchema) -> TableSchema:
    """The columns of ``current``, widened for ``other``, followed by the columns that only ``other`` has.

    The key is that of ``current``.
    """
    known = {column.name: column for column in other.columns}
    columns = []
    for column in current.columns:
        same = known.pop(column.name, None)
        kind = column.type if same is None else widest(column.type, same.type)
        columns.append(column if kind == column.type else replace(column, type=kind, native=""))
    added = [replace(column, type=column.type.nullable()) for column in known.values()]
    return replace(current, columns=(*columns, *added))


_KINDS: dict[type[SchemaChangeEvent], str] = {
    AddColumnEvent: pipeline_file.ADD_COLUMN,
    AlterColumnTypeEvent: pipeline_file.ALTER_COLUMN_TYPE,
    CreateTableEvent: pipeline_file.CREATE_TABLE,
    DropColumnEvent: pipeline_file.DROP_COLUMN,
    DropTableEvent: pipeline_file.DROP_TABLE,
    RenameColumnEvent: pipeline_file.RENAME_COLUMN,
    TruncateTableEvent: pipeline_file.TRUNCATE_TABLE,
}


class SchemaChangeRefused(RuntimeError):
    """A table of the source was changed, and the pipeline's behavior is ``exception``."""


@dataclass(frozen=True)
class Policy:
    """The pipeline's rules for schema changes: the behavior, and the accepted kinds."""

    behavior: Behavior
    accepted: frozenset[str] = frozenset(pipeline_file.ALL)

    @property
    def tolerant(self) -> bool:
        """Whether values that do not fit the sink's columns become NULL, because the sink's schema may lag behind the
        source's."""
        return self.behavior in (Behavior.IGNORE, Behavior.TRY_EVOLVE)

    def accepts(self, event: SchemaChangeEvent) -> bool:
        return kind_of(event) in self.accepted

    def let_through(self, events: Iterable[SchemaChangeEvent], schema: TableSchema) -> list[SchemaChangeEvent]:
        """The schema changes (other than the table's creation) that reach the sink.

        :param schema: schema of the sink table before the changes.
        :raises SchemaChangeRefused: the behavior is ``exception``.
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
    """The kind of a schema change: ``add.column``, ..."""
    return next(kind for cls, kind in _KINDS.items() if isinstance(event, cls))


def _lenient(event: SchemaChangeEvent, schema: TableSchema) -> Iterator[SchemaChangeEvent]:
    """The changes under ``lenient``: columns are added and widened, but never removed."""
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
    """A change that makes columns nullable which get no values any more."""
    wanted = set(names) - set(schema.primary_key)
    types = {c.name: c.type for c in schema.columns if c.name in wanted and not c.type.is_nullable}
    if types:
        yield AlterColumnTypeEvent(event.table, {name: kind.nullable() for name, kind in types.items()}, types)


def fitting_part(event: SchemaChangeEvent, schema: TableSchema) -> SchemaChangeEvent | None:
    """The part of a schema change that still applies to a schema, since it may have been applied before; None:
    nothing."""
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


LayoutOf = Callable[[TableId, TableSchema], Layout]
"""computes the layout of a sink table: the transforms applied to a source table's schema"""
Evolved = tuple["Following", list[SchemaChangeEvent]]
"""the state after a change, and the schema changes to send to the sink"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Following:
    """The schema of one sink table and of its source tables; part of checkpoints.

    :ivar sources: source tables that are routed to the sink table, with their present schemas.
    :ivar layout: present layout of the sink table; None: the table does not exist.
    :ivar version: number of schema changes sent to the sink, counted within ``lineage``.
    """

    sink: TableId
    sources: Mapping[TableId, TableSchema] = field(default_factory=dict)
    layout: Layout | None = None
    version: int = 0
    lineage: str = ""

    def after(self, source: TableId, event: SchemaChangeEvent, layout_of: LayoutOf, policy: Policy) -> Evolved:
        """The state after a schema change of a source table, and the changes for the sink.

        :raises SchemaChangeRefused: the behavior is ``exception``.
        """
        if isinstance(event, CreateTableEvent):
            return self._created(source, event.schema, layout_of, policy)
        known = self.sources.get(source)
        if known is None:
            return self, []  # its next row brings its schema
        if isinstance(event, DropTableEvent):
            return self._dropped(source, policy)
        if isinstance(event, TruncateTableEvent):
            return self, self._if_alone(TruncateTableEvent(self.sink), policy)
        fitting = fitting_part(event, known)
        if fitting is None:
            return self, []
        new = fitting.apply(known)
        return self._changed(source, known, new, layout_of, policy, fitting)

    def before_rows(self, source: TableId, schema: TableSchema, layout_of: LayoutOf, policy: Policy) -> Evolved:
        """The state before rows with a source schema, and the changes for the sink. Parallel readers of a snapshot may
        see a table before and after a change, in any order, so no column is removed because of rows."""
        known = self.sources.get(source)
        if known == schema and self.layout is not None:
            return self, []
        if known is None or self.layout is None:
            return self._created(source, schema, layout_of, policy)
        wider = merged(known, schema)
        if wider == known:
            return self, []
        return self._changed(source, known, wider, layout_of, policy)

    def _created(self, source: TableId, schema: TableSchema, layout_of: LayoutOf, policy: Policy) -> Evolved:
        known = self.sources.get(source)
        if known is not None and self.layout is not None:
            wider = merged(known, schema)
            return self._changed(source, known, wider, layout_of, policy) if wider != known else (self, [])
        layout, sources = layout_of(source, schema), {**self.sources, source: schema}
        if self.layout is None:
            event = CreateSinkTable(self.sink, layout.schema, layout.partition_keys, layout.options)
            return replace(self, sources=sources, layout=layout), [event] if policy.accepts(event) else []
        _check_key(self, source, layout)
        return replace(self, sources=sources)._told(self._widened(layout.schema), policy)

    def _changed(
        self,
        source: TableId,
        old: TableSchema,
        new: TableSchema,
        layout_of: LayoutOf,
        policy: Policy,
        event: SchemaChangeEvent | None = None,
    ) -> Evolved:
        assert self.layout is not None
        before, after = layout_of(source, old).schema, layout_of(source, new).schema
        following = replace(self, sources={**self.sources, source: new})
        if len(following.sources) > 1:
            return following._told(self._widened(after), policy)
        events: list[SchemaChangeEvent] = []
        if isinstance(event, RenameColumnEvent):
            renamed = {a: b for a, b in event.names.items() if _moved(before, after, a, b)}
            if renamed:
                events.append(RenameColumnEvent(self.sink, renamed))
                before = events[0].apply(before)
        return following._told([*events, *changed(self.sink, before, after)], policy)

    def _dropped(self, source: TableId, policy: Policy) -> Evolved:
        event = self._if_alone(DropTableEvent(self.sink), policy)
        rest = {table: schema for table, schema in self.sources.items() if table != source}
        return replace(self, sources=rest, layout=None if event else self.layout), event

    def _if_alone(self, event: SchemaChangeEvent, policy: Policy) -> list[SchemaChangeEvent]:
        """A DROP or TRUNCATE of the sink table; none if other source tables are routed to it, too."""
        if len(self.sources) > 1:
            others = ", ".join(map(str, self.sources))
            logger.warning("table %s stays as it is at a %s: %s go there", self.sink, type(event).__name__, others)
            return []
        assert self.layout is not None
        return policy.let_through([event], self.layout.schema)

    def _widened(self, other: TableSchema) -> Sequence[SchemaChangeEvent]:
        assert self.layout is not None
        current = self.layout.schema
        return changed(self.sink, current, merged(current, other))

    def _told(self, events: Sequence[SchemaChangeEvent], policy: Policy) -> Evolved:
        assert self.layout is not None
        schema = self.layout.schema
        found = policy.let_through(events, schema) if events else []
        for event in found:
            schema = event.apply(schema)
        return replace(self, layout=replace(self.layout, schema=schema)), found


def _moved(before: TableSchema, after: TableSchema, old: str, new: str) -> bool:
    return old in before.names and old not in after.names and new in after.names and new not in before.names


def _check_key(following: Following, source: TableId, layout: Layout) -> None:
    assert following.layout is not None
    keys = following.layout.schema.primary_key
    if keys and set(keys) - set(layout.schema.names):
        raise ValueError(
            f"table {source} cannot go to {following.sink}: the key there is ({', '.join(keys)}), and {source} has the "
            f"columns {', '.join(layout.schema.names)}. Name a key that all have under 'primary-keys'"
        )
