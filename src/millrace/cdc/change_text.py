"""Changes as text: JSON of Debezium (with Kafka Connect's schema) and of Canal, and lines of Flink CDC's ``values``
sink.

In JSON an update is one message with the old and the new row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from millrace.cdc.elements import Batch, Element
from millrace.cdc.transforms import CreateSinkTable
from millrace.connectors.cdc.events import (
    AddColumnEvent,
    AlterColumnTypeEvent,
    Column,
    DropColumnEvent,
    RenameColumnEvent,
    SchemaChangeEvent,
    TableId,
    TableSchema,
)
from millrace.formats.tables.json_format import JsonTexts
from millrace.formats.text_columns import SQL
from millrace.relational import types as t
from millrace.relational.rows import DELETE, INSERT, UPDATE_BEFORE
from millrace.relational.types import DataType
from millrace.relational.values import to_python

_NAMES: Mapping[type[DataType], str] = {
    t.BooleanType: "boolean",
    t.TinyIntType: "int16",
    t.SmallIntType: "int16",
    t.IntType: "int32",
    t.BigIntType: "int64",
    t.FloatType: "float",
    t.DoubleType: "double",
}
"""Kafka Connect's names of types. Values of all other types are texts in the messages, and the schema calls them
strings."""


@lru_cache(maxsize=256)
def connect_schema(schema: TableSchema) -> str:
    """The schema of a message's ``before`` and ``after``."""
    sides = [_side(schema, name) for name in ("before", "after")]
    found: dict[str, Any] = {"type": "struct", "fields": sides, "optional": False}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _side(schema: TableSchema, name: str) -> dict[str, Any]:
    fields = []
    for column in schema.columns:
        kind = "double" if isinstance(column.type, t.DecimalType) else _NAMES.get(type(column.type), "string")
        fields.append({"type": kind, "optional": column.type.is_nullable, "field": column.name})
    return {"type": "struct", "fields": fields, "optional": True, "field": name}


DEBEZIUM, CANAL = "debezium-json", "canal-json"
_TEXTS = JsonTexts(SQL, plain_decimals=True)


class Change(NamedTuple):
    """A change of one row: the indexes of its old and new row in a batch."""

    op: str
    """``c``, ``u`` or ``d``"""
    before: int | None
    after: int | None

    @property
    def place(self) -> int:
        """Index of the row that contains the change's key."""
        if self.after is not None:
            return self.after
        assert self.before is not None
        return self.before


def changes_of(batch: Batch) -> Iterator[Change]:
    """The changes of a batch. An update of the key becomes a deletion and an insertion."""
    kinds = batch.rows.kind_values().tolist()
    keys = [batch.rows.columns[place] for place in batch.schema.key_places]
    before: int | None = None
    for place, kind in enumerate(kinds):
        if kind == UPDATE_BEFORE:
            before = place
        elif kind == DELETE:
            yield Change("d", place, None)
        elif kind == INSERT:
            yield Change("c", None, place)
        else:
            if before is not None and any(key[before].as_py() != key[place].as_py() for key in keys):
                yield Change("d", before, None)
                yield Change("c", None, place)
            else:
                yield Change("u", None if batch.keys_only else before, place)
            before = None


def row_texts(batch: Batch) -> list[str]:
    """The rows of a batch as JSON objects."""
    fields = list(zip(batch.schema.names, batch.rows.columns, batch.schema.types))
    found: list[str] = _TEXTS.objects(fields, len(batch.rows)).to_pylist()
    return found


@dataclass(frozen=True)
class ChangeTexts:
    """Writes changes as messages of one format.

    :ivar schemas: whether messages of Debezium contain a schema with the types of their values.
    """

    form: str
    schemas: bool = False

    def of(self, batch: Batch) -> list[tuple[Change, str]]:
        """Each change of a batch with its message."""
        rows = row_texts(batch)
        make = self._canal(batch) if self.form == CANAL else self._debezium(batch)
        return [(change, make(change, rows)) for change in changes_of(batch)]

    def _debezium(self, batch: Batch) -> Any:
        source = json.dumps(_source(batch.table), ensure_ascii=False, separators=(",", ":"))
        front, end = "", ""
        if self.schemas:
            front, end = f'{{"schema":{connect_schema(batch.schema)},"payload":', "}"

        def make(change: Change, rows: list[str]) -> str:
            before = "null" if change.before is None else rows[change.before]
            after = "null" if change.after is None else rows[change.after]
            return f'{front}{{"before":{before},"after":{after},"op":"{change.op}","source":{source}}}{end}'

        return make

    def _canal(self, batch: Batch) -> Any:
        words = {"c": "INSERT", "u": "UPDATE", "d": "DELETE"}
        database = json.dumps(batch.table.schema or batch.table.namespace, ensure_ascii=False)
        table = json.dumps(batch.table.table, ensure_ascii=False)
        keys = json.dumps(list(batch.schema.primary_key), ensure_ascii=False)

        def make(change: Change, rows: list[str]) -> str:
            old = "null" if change.op != "u" or change.before is None else f"[{rows[change.before]}]"
            return (
                f'{{"old":{old},"data":[{rows[change.place]}],"type":"{words[change.op]}","database":{database},'
                f'"table":{table},"pkNames":{keys}}}'
            )

        return make


def _source(table: TableId) -> dict[str, str]:
    """The ``source`` of a message. Of databases without schemas, ``db`` is the namespace, as in Debezium."""
    if table.namespace:
        return {"db": table.namespace, "schema": table.schema, "table": table.table}
    return {"db": table.schema, "table": table.table} if table.schema else {"table": table.table}


def texts_of(element: Element) -> Iterator[str]:
    """A line for each change; an update is one line."""
    if isinstance(element, Batch):
        yield from _rows(element)
    else:
        parts = [f"tableId={element.table}", *_parts(element)]
        yield f"{_name(element)}{{{', '.join(parts)}}}"


def _name(event: SchemaChangeEvent) -> str:
    return "CreateTableEvent" if isinstance(event, CreateSinkTable) else type(event).__name__


def _rows(batch: Batch) -> Iterator[str]:
    kinds = batch.rows.kind_values().tolist()
    columns = [to_python(column, kind) for column, kind in zip(batch.rows.columns, batch.schema.types)]
    rows = list(zip(*columns)) if columns else [()] * len(kinds)
    before: Sequence[Any] = ()
    for kind, row in zip(kinds, rows):
        if kind == UPDATE_BEFORE:
            before = row
            continue
        if kind == DELETE:
            sides: tuple[Sequence[Any], Sequence[Any]] = row, ()
        else:
            sides = before if kind != INSERT else (), row
        before = ()
        op = {INSERT: "INSERT", DELETE: "DELETE"}.get(kind, "UPDATE")
        old, new = (", ".join(map(plain_value, side)) for side in sides)
        yield f"DataChangeEvent{{tableId={batch.table}, before=[{old}], after=[{new}], op={op}, meta=()}}"


def plain_value(value: Any) -> str:
    """A value as Java prints it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _parts(event: SchemaChangeEvent) -> Iterator[str]:
    if isinstance(event, CreateSinkTable):
        yield f"schema={_schema(event.schema, event)}"
    elif isinstance(event, AddColumnEvent):
        added = (
            f"ColumnWithPosition{{column={_column(each.column)}, position={each.position}, "
            f"existedColumnName={each.existing or 'null'}}}"
            for each in event.added
        )
        yield f"addedColumns=[{', '.join(added)}]"
    elif isinstance(event, DropColumnEvent):
        yield f"droppedColumnNames=[{', '.join(event.names)}]"
    elif isinstance(event, RenameColumnEvent):
        yield f"nameMapping={_map(event.names)}"
    elif isinstance(event, AlterColumnTypeEvent):
        yield f"typeMapping={_map(event.types)}"
        yield f"oldTypeMapping={_map(event.old_types)}"


def _schema(schema: TableSchema, event: CreateSinkTable) -> str:
    columns, keys = ",".join(map(_column, schema.columns)), ";".join(schema.primary_key)
    partitions = f", partitionKeys={';'.join(event.partition_keys)}" if event.partition_keys else ""
    options = ", ".join(f"{name}={value}" for name, value in event.options.items())
    return f"columns={{{columns}}}, primaryKeys={keys}{partitions}, options=({options})"


def _column(column: Column) -> str:
    comment = f" '{column.comment}'" if column.comment else ""
    return f"`{column.name}` {column.type}{comment}"


def _map(found: Any) -> str:
    return f"{{{', '.join(f'{name}={value}' for name, value in found.items())}}}"
