"""Columns as lines of ClickHouse's format TabSeparated."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.clickhouse.types import RANGES, ColumnThere
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.relational.values import to_python

_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"))
_SECOND = 1_000_000
_MOST_SECONDS = (1 << 32) - 1
_DATES = {
    "Date": (dt.date(1970, 1, 1), dt.date(2149, 6, 6)),
    "Date32": (dt.date(1900, 1, 1), dt.date(2299, 12, 31)),
}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def lines(columns: Sequence[pa.Array], kinds: Sequence[DataType], there: Sequence[ColumnThere]) -> bytes:
    """Rows, a line each.

    :raises ValueError: a value that the column cannot have: ClickHouse would take another one in its place.
    """
    made = [_texts(*each) for each in zip(columns, kinds, there)]
    rows = pc.binary_join_element_wise(*made, pa.scalar(b"\t", pa.binary())) if len(made) > 1 else made[0]
    return b"".join(part for row in rows.to_pylist() for part in (row, b"\n"))


def _texts(column: pa.Array, kind: DataType, there: ColumnThere) -> pa.Array:
    if column.null_count and not there.nullable:
        raise ValueError(f"column '{there.name}' is {there.type} there, which has no NULL: declare it as Nullable")
    family = family_of(kind)
    if family is Family.ARRAY:
        values = to_python(column, kind)
        made = pa.array([_array(value, kind, there) for value in values], pa.binary())
    elif family in (Family.TEXT, Family.BYTES):
        made = _escaped(_fitting(column, there))
    else:
        made = pc.cast(_plain(column, kind, family, there), pa.binary())
    return pc.fill_null(made, pa.scalar(b"\\N", pa.binary()))


def _plain(column: pa.Array, kind: DataType, family: Family, there: ColumnThere) -> pa.Array:
    """Each value as a text that needs no escapes."""
    if family is Family.BOOLEAN:
        return pc.if_else(column, "1", "0")
    if family in (Family.TIMESTAMP, Family.INSTANT):
        return _seconds(column, there)
    if there.base in RANGES:
        _check(column, RANGES[there.base], there)
    if there.base in _DATES:
        _check(column, _DATES[there.base], there)
    return pc.cast(column, pa.string())


def _check(column: pa.Array, bounds: tuple[Any, Any], there: ColumnThere) -> None:
    ends = pc.min_max(column).as_py()
    for value in (ends["min"], ends["max"]):
        if value is not None and not bounds[0] <= value <= bounds[1]:
            raise ValueError(f"column '{there.name}' is {there.type} there, which has no {value}")


def _seconds(column: pa.Array, there: ColumnThere) -> pa.Array:
    """Seconds since 1970, which need no time zone. A TIMESTAMP is taken for UTC."""
    ticks = column.cast(pa.int64())
    known = ticks.drop_null().to_numpy()
    step = 10 ** (6 - min(6, there.digits))
    if len(known):
        if (known % step).any():
            lost = _EPOCH + dt.timedelta(microseconds=int(known[(known % step) != 0][0]))
            raise ValueError(f"column '{there.name}' is {there.type} there, which would cut {lost:%F %T.%f}")
        if known.min() < 0 or known.max() // _SECOND > _MOST_SECONDS:
            bad = int(known.min() if known.min() < 0 else known.max())
            shown = _EPOCH + dt.timedelta(microseconds=bad)
            raise ValueError(f"column '{there.name}' is {there.type} there: {shown:%F %T} is before 1970 or after 2106")
    values = ticks.fill_null(0).to_numpy()
    # Ten digits: fewer might be the year of a date.
    whole = np.char.zfill((values // _SECOND).astype(str), 10)
    texts = pa.array(whole.astype(object), pa.string(), mask=np.asarray(ticks.is_null()))
    if not there.digits:
        return texts
    fraction = np.char.zfill((values % _SECOND).astype(str), 6)
    return pc.binary_join_element_wise(texts, pa.array(fraction.astype(object), pa.string()), ".")


def _fitting(column: pa.Array, there: ColumnThere) -> pa.Array:
    binary = column.cast(pa.binary())
    if there.base == "FixedString":
        longest = pc.max(pc.binary_length(binary)).as_py() or 0
        if longest > there.numbers[0]:
            raise ValueError(f"column '{there.name}' is {there.type} there, a value has {longest} bytes")
    return binary


def _escaped(column: pa.Array) -> pa.Array:
    for plain, escape in _ESCAPES:
        column = pc.replace_substring(column, plain, escape)
    return column


def _array(value: Any, kind: Any, there: ColumnThere) -> bytes | None:
    """A list as ClickHouse writes it in a line."""
    if value is None:
        return None
    assert there.element is not None
    element, inner = there.element, kind.element_type
    return b"[" + b",".join(_element(each, inner, element) for each in value) + b"]"


def _element(value: Any, kind: DataType, there: ColumnThere) -> bytes:
    if value is None:
        if not there.nullable:
            raise ValueError(f"column '{there.name}' is an array of {there.type} there, which has no NULL")
        return b"NULL"
    if isinstance(value, list):
        return _array(value, kind, there) or b""
    if isinstance(value, (bytes, str)):
        data = value.encode() if isinstance(value, str) else value
        for plain, escape in (*_ESCAPES, ("'", "\\'")):
            data = data.replace(plain.encode(), escape.encode())
        return b"'" + data + b"'"
    if isinstance(value, Decimal):
        return format(value, "f").encode()
    if isinstance(value, dt.datetime):
        raise ValueError(f"column '{there.name}': arrays of times cannot be written to ClickHouse here")
    if isinstance(value, dt.date):
        return f"'{value.isoformat()}'".encode()
    if isinstance(value, bool):
        return b"1" if value else b"0"
    if isinstance(value, int) and there.base in RANGES and not RANGES[there.base][0] <= value <= RANGES[there.base][1]:
        raise ValueError(f"column '{there.name}' is an array of {there.type} there, which has no {value}")
    return repr(value).encode()
