"""Short ways to write plans by hand, and to run them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.functions.registry import call
from millrace.relational.rex import AggCall, Literal, Ref, Rex, SortKey
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow, to_python

INT, BIGINT, STRING, DOUBLE, BOOLEAN = t.IntType(), t.BigIntType(), t.string(), t.DoubleType(), t.BooleanType()
DECIMAL, TIMESTAMP, DATE = t.DecimalType(10, 2), t.TimestampType(3), t.DateType()
INTERVAL = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)


def values(columns: dict[str, DataType], *rows: tuple[Any, ...]) -> n.Values:
    return n.Values(tuple(n.Field(name, kind) for name, kind in columns.items()), rows)


def at(plan: n.Rel, name: str, offset: int = 0) -> Ref:
    """A column by its name. ``offset``: it is the right input of a join after so many columns."""
    index = plan.names.index(name)
    return Ref(plan.schema[index].type, index + offset)


def lit(value: Any, kind: DataType | None = None) -> Literal:
    kinds: dict[type, DataType] = {int: INT, str: STRING, float: DOUBLE, bool: BOOLEAN, dt.timedelta: INTERVAL}
    return Literal((kind or kinds[type(value)]).with_nullable(value is None), value)


def fn(name: str, *args: Rex, **options: Any) -> Rex:
    return call(name, args, options)


def cast(value: Rex, kind: DataType) -> Rex:
    from millrace.relational.functions.registry import cast_to

    return cast_to(value, kind)


def project(plan: n.Rel, **expressions: Rex) -> n.Project:
    columns = tuple(n.Field(name, each.type) for name, each in expressions.items())
    return n.Project(plan, tuple(expressions.values()), columns)


def agg(name: str, *args: Rex, **how: Any) -> AggCall:
    """``distinct``, ``filter``, ``order`` as in a call; other words are options of it."""
    known = {key: how.pop(key) for key in ("distinct", "filter", "order") if key in how}
    return aggregate_call(name, args, how, may_be_empty=True, **known)


def group(plan: n.Rel, keys: Sequence[str], sets: Any = None, **calls: AggCall) -> n.Aggregate:
    indices = tuple(plan.names.index(key) for key in keys)
    nullable = [n.Field(key, plan.schema[index].type.nullable()) for key, index in zip(keys, indices)]
    columns = (*nullable, *(n.Field(name, each.type) for name, each in calls.items()))
    return n.Aggregate(plan, indices, tuple(calls.values()), columns, sets)


def by(*columns: Ref, descending: bool = False, nulls_first: bool = True) -> tuple[SortKey, ...]:
    return tuple(SortKey(column, descending, nulls_first) for column in columns)


def rows_of(table: pa.Table, plan: n.Rel) -> list[tuple[Any, ...]]:
    """The rows of a result in the Python form of their types."""
    if not plan.schema:
        return [()] * table.num_rows
    parts = [to_python(table.column(i).combine_chunks(), column.type) for i, column in enumerate(plan.schema)]
    return list(zip(*parts))


def arrow(plan: n.Values) -> pa.Table:
    """The rows of VALUES for another engine, with their names."""
    columns = [to_arrow([row[i] for row in plan.rows], column.type) for i, column in enumerate(plan.columns)]
    return pa.table(dict(zip(plan.names, columns)))
