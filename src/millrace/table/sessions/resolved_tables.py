"""The resolved schema of a table that is only read: also the expressions, watermark and key that were declared."""

from __future__ import annotations

from typing import Any

from millrace.relational.nodes import Field, Rel
from millrace.relational.types import DataType
from millrace.table.catalogs.schemas import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from millrace.table.descriptions.schema import Declared, Schema
from millrace.table.expression_methods.base import node_of
from millrace.table.expression_methods.resolved_expression import ResolvedExpression
from millrace.table.sql.nodes import SqlText


def resolved_table(plan: Rel, declared: Schema) -> ResolvedSchema:
    """
    :param plan: reads the table.
    """
    known = {column.name: column for column in declared.columns}
    columns = [_column(field, known[field.name]) for field in plan.schema]
    types = {field.name: field.type for field in plan.schema}
    mark, key = declared.watermark, declared.primary_key
    marks = [] if mark is None else [WatermarkSpec(mark.column, _expression(mark.expression, types[mark.column]))]
    return ResolvedSchema(columns, marks, None if key is None else UniqueConstraint(key.name, key.columns))


def whole_schema(plan: Rel, declared: Schema) -> Schema:
    """What was declared of some columns of a plan, and all others as physical ones."""
    known = {column.name: column for column in declared.columns}
    columns = [known.get(field.name) or Declared(field.name, field.type) for field in plan.schema]
    return Schema(columns, declared.watermark, declared.primary_key)


def _column(field: Field, declared: Declared) -> Column:
    made: Column
    if declared.metadata:
        key = declared.metadata_key if declared.metadata_key != field.name else None
        made = MetadataColumn(field.name, field.type, key, declared.virtual, declared.comment)
    elif declared.expression is not None:
        made = ComputedColumn(field.name, _expression(declared.expression, field.type), declared.comment)
    else:
        made = PhysicalColumn(field.name, field.type, declared.comment)
    return made.as_time_attribute(field.time)


def _expression(written: Any, kind: DataType) -> ResolvedExpression:
    if isinstance(written, str):
        return ResolvedExpression(SqlText(written), kind, written)
    return ResolvedExpression(node_of(written), kind)
