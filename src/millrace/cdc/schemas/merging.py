"""One schema for several tables: all columns of all, each of a type that has room for every value."""

from __future__ import annotations

from dataclasses import replace

from millrace.connectors.cdc.schema import TableSchema
from millrace.relational import types as t
from millrace.relational.casting import as_decimal, common_type
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

_EXACT_IN_DOUBLE = 32
"""bits of the widest integer that a DOUBLE has room for without losing digits"""
_DIGITS = 38


def widest(one: DataType, two: DataType) -> DataType:
    """The type that both are cast to without losing anything: STRING if there is no better one."""
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
    """The columns of ``current``, wide enough for ``other``, and behind them those that only that has.

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
