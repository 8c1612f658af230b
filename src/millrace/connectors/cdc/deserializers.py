"""Turns captured rows and changes into elements of a DataStream.

A ``ChangeDecoder`` works on many changes at a time and is what readers call. ``DebeziumDeserializationSchema`` is the
user's side, one event at a time, under Flink CDC's names; ``SchemaDecoder`` calls it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from millrace.common.typeinfo import TypeInformation
from millrace.common.types import Row, RowKind
from millrace.connectors.cdc.changes import Change, ChunkRows, Relation
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.events import (
    CreateTableEvent,
    DataChangeEvent,
    Event,
    OperationType,
    SchemaChangeEvent,
    SourceMetadata,
    TruncateTableEvent,
)
from millrace.relational.values import to_python

T = TypeVar("T")
Image = tuple[Any, ...]


class ChangeDecoder(ABC, Generic[T]):
    """Makes elements of what was captured, all at once. Pickled into the tasks, used by one thread there."""

    @abstractmethod
    def rows(self, rows: ChunkRows, database: CdcDatabase) -> list[T]:
        """Make elements of the rows of a chunk of the snapshot."""

    def begins(self, relations: Sequence[Relation]) -> list[T]:
        """A reader begins with the log, where tables have these schemas."""
        return []

    @abstractmethod
    def changes(self, events: Sequence[Change | SchemaChangeEvent], database: CdcDatabase) -> list[T]:
        """Make elements of the changes of a piece of the log."""

    def produced_type(self) -> TypeInformation | None:
        """The ``TypeInformation`` of the elements, None if that is not known."""
        return None


def images(relation: Relation, raw: Sequence[Image], database: CdcDatabase) -> list[Image]:
    """Rows as the log has them in the Python form of the schema's types.

    :raises ValueError: a value does not fit, or is not in the log.
    """
    if not raw:
        return []
    columns = []
    for place, column in enumerate(relation.schema.columns):
        values = [row[place] for row in raw]
        where = f"{relation.table}.{column.name}"
        columns.append(to_python(database.column(values, column.native, column.type, where), column.type))
    return list(zip(*columns)) if columns else [()] * len(raw)


class EventDecoder(ChangeDecoder[Event]):
    """Events as they are: ``CreateTableEvent``, ``DataChangeEvent``, changes of schemas, in the order of the log.

    A table's ``CreateTableEvent`` comes before each chunk of it and again when a reader begins with the log, since one
    reader does not know what another one has said: whoever has seen it before has nothing to do.
    """

    def begins(self, relations: Sequence[Relation]) -> list[Event]:
        return [CreateTableEvent(each.table, each.schema) for each in relations]

    def rows(self, rows: ChunkRows, database: CdcDatabase) -> list[Event]:
        table, schema = rows.relation.table, rows.relation.schema
        columns = [
            to_python(database.column(values, column.native, column.type, f"{table}.{column.name}"), column.type)
            for values, column in zip(rows.columns, schema.columns)
        ]
        source = SourceMetadata(0, snapshot=True)
        return [
            CreateTableEvent(table, schema),
            *(
                DataChangeEvent(table, OperationType.READ, None, row, schema, source)
                for row in (zip(*columns) if columns else [()] * rows.count)
            ),
        ]

    def changes(self, events: Sequence[Change | SchemaChangeEvent], database: CdcDatabase) -> list[Event]:
        made = self._rows_of(events, database)
        found: list[Event] = []
        for place, event in enumerate(events):
            if isinstance(event, SchemaChangeEvent):
                found.append(event)
                continue
            relation = event.relation
            before, after = made.get((place, 0)), made.get((place, 1))
            known = database.source(event)
            source = SourceMetadata(event.time, str(known.get("position", "")), False, known.get("txId"))
            op = OperationType(event.op)
            found.append(
                DataChangeEvent(relation.table, op, before, after, relation.schema, source, event.before_is_key)
            )
        return found

    @staticmethod
    def _rows_of(events: Sequence[Change | SchemaChangeEvent], database: CdcDatabase) -> dict[tuple[int, int], Image]:
        """By place and side (0: old, 1: new) the rows of changes, made for all changes of a schema together."""
        asked: dict[int, tuple[Relation, list[tuple[int, int]], list[Image]]] = {}
        for place, event in enumerate(events):
            if isinstance(event, SchemaChangeEvent):
                continue
            relation = event.relation
            _, where, raw = asked.setdefault(id(relation), (relation, [], []))
            for side, image in ((0, event.before), (1, event.after)):
                if image is not None:
                    where.append((place, side))
                    raw.append(image)
        found: dict[tuple[int, int], Image] = {}
        for relation, where, raw in asked.values():
            found.update(zip(where, images(relation, raw, database)))
        return found


class DebeziumDeserializationSchema(ABC, Generic[T]):
    """Makes elements of events. Flink CDC's has Debezium's records in their place.

    >>> class Tables(DebeziumDeserializationSchema):
    ...     def deserialize(self, event):
    ...         yield event.table
    """

    @abstractmethod
    def deserialize(self, event: Event) -> Iterable[T]:
        """The elements of an event: a ``DataChangeEvent``, or what happened to a table. Empty to leave it out."""

    def get_produced_type(self) -> TypeInformation | None:
        """The ``TypeInformation`` of the elements; None: any Python objects."""
        return None

    def bound(self, connector: str) -> DebeziumDeserializationSchema[T]:
        """This schema set up for a kind of database (Debezium's name for it: ``mysql``, ``postgresql``)."""
        return self


class EventDeserializationSchema(DebeziumDeserializationSchema[Event]):
    """Events as they are, with changes of schemas.

    >>> list(EventDeserializationSchema().deserialize("event"))
    ['event']
    """

    def deserialize(self, event: Event) -> Iterable[Event]:
        return (event,)


class RowDebeziumDeserializationSchema(DebeziumDeserializationSchema[Row]):
    """Rows with the names of the columns and the kind of the change. An update gives two rows if the log has the old
    one.

        >>> isinstance(RowDebeziumDeserializationSchema(), DebeziumDeserializationSchema)
        True
    """

    def deserialize(self, event: Event) -> Iterable[Row]:
        if not isinstance(event, DataChangeEvent):
            return ()
        names = list(event.schema.names)
        if event.op is OperationType.DELETE:
            assert event.before is not None
            return (_row(RowKind.DELETE, names, event.before),)
        assert event.after is not None
        if event.op is not OperationType.UPDATE:
            return (_row(RowKind.INSERT, names, event.after),)
        after = _row(RowKind.UPDATE_AFTER, names, event.after)
        return (after,) if event.before is None else (_row(RowKind.UPDATE_BEFORE, names, event.before), after)


def _row(kind: RowKind, names: list[str], values: Sequence[Any]) -> Row:
    found = Row.of_kind(kind, *values)
    found.set_field_names(names)
    return found


class SchemaDecoder(ChangeDecoder[T], Generic[T]):
    """Calls a ``DebeziumDeserializationSchema`` for each event. :param skipped: operations that are left out."""

    def __init__(self, schema: DebeziumDeserializationSchema[T], skipped: frozenset[str] = frozenset()) -> None:
        self._schema, self._skipped, self._events = schema, skipped, EventDecoder()

    def rows(self, rows: ChunkRows, database: CdcDatabase) -> list[T]:
        return self._made(self._events.rows(rows, database))

    def begins(self, relations: Sequence[Relation]) -> list[T]:
        return self._made(self._events.begins(relations))

    def changes(self, events: Sequence[Change | SchemaChangeEvent], database: CdcDatabase) -> list[T]:
        if self._skipped:
            events = [event for event in events if _letter(event) not in self._skipped]
        return self._made(self._events.changes(events, database))

    def produced_type(self) -> TypeInformation | None:
        return self._schema.get_produced_type()

    def _made(self, events: Iterable[Event]) -> list[T]:
        deserialize = self._schema.deserialize
        return [element for event in events for element in deserialize(event)]


def _letter(event: Change | SchemaChangeEvent) -> str:
    if isinstance(event, SchemaChangeEvent):
        return "t" if isinstance(event, TruncateTableEvent) else ""
    return event.op
