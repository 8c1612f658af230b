"""Changes as Flink CDC's ``values`` sink prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from millrace.cdc.operators.elements import Batch, Element
from millrace.cdc.rules.layout import CreateSinkTable
from millrace.connectors.cdc.events import (
    AddColumnEvent,
    AlterColumnTypeEvent,
    DropColumnEvent,
    RenameColumnEvent,
    SchemaChangeEvent,
)
from millrace.connectors.cdc.schema import Column, TableSchema
from millrace.relational.rows import DELETE, INSERT, UPDATE_BEFORE
from millrace.relational.values import to_python


def texts_of(element: Element) -> Iterator[str]:
    """A line for each change: an update is one."""
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
