"""Data types and those of Arrow, as PyFlink pairs them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type as internal_type
from millrace.relational.from_arrow import from_arrow_type as from_arrow_type
from millrace.relational.type_table import ByFamily, Family, family_of
from millrace.relational.types import DataType

_TIME_UNITS = ((0, "s"), (3, "ms"), (6, "us"), (9, "ns"))
_ALIKE = (Family.NULL, Family.BOOLEAN, Family.INTEGER, Family.APPROXIMATE, Family.DATE)


def to_arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type that pandas functions and ``from_pandas`` see.

        >>> str(to_arrow_type(DataTypes.TIMESTAMP(3)))
        'timestamp[ms]'

    :raises ValueError: there is none.
    """
    make = _TO.get(family_of(data_type))
    if make is None or isinstance(data_type, (t.MultisetType, t.ListViewType, t.MapViewType)):
        raise ValueError(f"{data_type} has no Arrow type")
    return make(data_type)


def _time(data_type: t.TimeType) -> pa.DataType:
    unit = _unit(data_type.precision)
    return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)


def _row(data_type: t.RowType) -> pa.DataType:
    return pa.struct(list(create_arrow_schema(data_type.field_names(), data_type.field_types())))


def create_arrow_schema(field_names: Sequence[str], field_types: Sequence[DataType]) -> pa.Schema:
    """The Arrow schema of columns.

        >>> create_arrow_schema(["n"], [DataTypes.INT()]).names
        ['n']
    """
    return pa.schema(
        [
            pa.field(name, to_arrow_type(data_type), data_type.is_nullable)
            for name, data_type in zip(field_names, field_types)
        ]
    )


def _unit(precision: int) -> str:
    return next(unit for digits, unit in _TIME_UNITS if precision <= digits)


_TO: ByFamily = {
    **dict.fromkeys((*_ALIKE, Family.DECIMAL, Family.TEXT), internal_type),
    Family.BYTES: lambda kind: pa.binary(kind.length) if isinstance(kind, t.BinaryType) else pa.binary(),
    Family.TIME: _time,
    **dict.fromkeys((Family.TIMESTAMP, Family.INSTANT), lambda kind: pa.timestamp(_unit(kind.precision))),
    Family.ARRAY: lambda kind: pa.list_(to_arrow_type(kind.element_type)),
    Family.MAP: lambda kind: pa.map_(to_arrow_type(kind.key_type), to_arrow_type(kind.value_type)),
    Family.ROW: _row,
}
