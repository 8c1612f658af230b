"""What makes elements of a DataStream of what was captured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from millrace.common.types import Row, RowKind
from millrace.connectors.cdc.changes import Change, ChunkRows, Relation
from millrace.connectors.cdc.database import CdcDatabase
from millrace.connectors.cdc.decoding import ChangeDecoder, EventDecoder
from millrace.connectors.cdc.events import DataChangeEvent, Event, OperationType, SchemaChangeEvent, TruncateTableEvent

__all__ = [
    "DebeziumDeserializationSchema",
    "EventDeserializationSchema",
    "RowDebeziumDeserializationSchema",
    "SchemaDecoder",
]

T = TypeVar("T")


class DebeziumDeserializationSchema(ABC, Generic[T]):
    """Makes elements of events. Flink CDC's has Debezium's records in their place.

        >>> class Tables(DebeziumDeserializationSchema):
        ...     def deserialize(self, event):
        ...         yield event.table
    """

    @abstractmethod
    def deserialize(self, event: Event) -> Iterable[T]:
        """The elements of an event: a ``DataChangeEvent``, or what happened to a table. Empty to leave it out."""

    def get_produced_type(self) -> Any:
        """Their ``TypeInformation``, None for any objects."""
        return None

    def bound(self, connector: str) -> DebeziumDeserializationSchema[T]:
        """The same for a kind of database, by the name that Debezium has for it."""
        return self


class EventDeserializationSchema(DebeziumDeserializationSchema[Event]):
    """Events as they are, with changes of schemas.

        >>> list(EventDeserializationSchema().deserialize("event"))
        ['event']
    """

    def deserialize(self, event: Event) -> Iterable[Event]:
        return (event,)


class RowDebeziumDeserializationSchema(DebeziumDeserializationSchema[Row]):
    """Rows with the names of the columns and the kind of the change; an update is two rows, if the log has the old "
    "one.

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

    def produced_type(self) -> Any:
        return self._schema.get_produced_type()

    def _made(self, events: Iterable[Event]) -> list[T]:
        deserialize = self._schema.deserialize
        return [element for event in events for element in deserialize(event)]


def _letter(event: Change | SchemaChangeEvent) -> str:
    if isinstance(event, SchemaChangeEvent):
        return "t" if isinstance(event, TruncateTableEvent) else ""
    return event.op
