"""CAST of whole columns by Arrow kernels, for the pairs of types where these do exactly what single values do.

A kernel gives None for a column that it had better leave to the conversion of single values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.casting import as_decimal, is_bytes, is_text
from millrace.relational.functions.registry import Column
from millrace.relational.functions.times.zones import local_times
from millrace.relational.types import DataType
from millrace.relational.zones import standard_name

Kernel: TypeAlias = "Callable[[Any], Column | None]"

_FLOATS = (t.FloatType, t.DoubleType)
_TIMESTAMPS = (t.TimestampType, t.LocalZonedTimestampType)


def kernel(source: DataType, target: DataType, zone: str) -> Kernel | None:
    """The kernel for a pair of types, None if there is none."""
    if source.is_same(target):
        return lambda column: column
    if isinstance(source, t.VariantType) or isinstance(target, t.VariantType):
        return None
    wanted = arrow_type(target)
    if isinstance(source, t.NullType):
        return lambda column: column.cast(wanted)
    if is_text(target):
        return _to_text(source, target, zone)
    if is_text(source):
        return _from_text(target, wanted)
    if is_bytes(source) and isinstance(target, t.VarBinaryType) and source.length <= target.length:  # type: ignore[attr-defined]
        return lambda column: column
    if isinstance(source, t.IntegralType):
        return _from_whole(source, target, wanted)
    if isinstance(source, t.DecimalType) and isinstance(target, t.DecimalType):
        wider = target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
        return (lambda column: column.cast(wanted)) if wider else None
    if isinstance(source, _FLOATS):
        return _from_float(target, wanted)
    return _time(source, target, wanted, zone)


def _to_text(source: DataType, target: DataType, zone: str) -> Kernel | None:
    length: int = target.length  # type: ignore[attr-defined]
    if is_text(source):
        if isinstance(target, t.VarCharType) and source.length <= length:  # type: ignore[attr-defined]
            return lambda column: column
        if isinstance(target, t.VarCharType):
            return lambda column: pc.utf8_slice_codeunits(column, 0, length)
        return lambda column: pc.utf8_rpad(pc.utf8_slice_codeunits(column, 0, length), length)
    if length < t.MAX_LENGTH:
        return None
    if isinstance(source, (t.IntegralType, t.DateType)) and not isinstance(source, t.YearMonthIntervalType):
        return lambda column: column.cast(pa.string())
    if isinstance(source, t.BooleanType):
        return lambda column: pc.if_else(column, pa.scalar("TRUE"), pa.scalar("FALSE"))
    if isinstance(source, _TIMESTAMPS) and source.precision <= 6:
        # Counted from the end: years before 0 and after 9999 have five digits and more.
        end = source.precision - 6 if source.precision else -len(".000000")
        local = _local(source, zone)
        return lambda column: pc.utf8_slice_codeunits(local(column).cast(pa.string()), 0, end or None)
    return None


def _local(source: DataType, zone: str) -> Callable[[Any], Any]:
    """Date and time in the zone of the session."""
    if isinstance(source, t.LocalZonedTimestampType):
        return lambda column: local_times(column, zone)
    return lambda column: column


def _from_text(target: DataType, wanted: pa.DataType) -> Kernel | None:
    if isinstance(target, t.VarBinaryType) and target.length == t.MAX_LENGTH:
        return lambda column: column.cast(wanted)
    if isinstance(target, t.IntegralType):
        return _plainly_written("[^0-9-]", wanted)
    if isinstance(target, _FLOATS):
        return _plainly_written("[^0-9.-]", wanted)
    return None


def _plainly_written(strange: str, wanted: pa.DataType) -> Kernel:
    """Arrow reads numbers that have no other characters as we do; what it refuses is looked at one by one."""

    def read(column: Any) -> Column | None:
        if isinstance(column, pa.Scalar) or pc.any(pc.match_substring_regex(column, strange)).as_py():
            return None
        try:
            return column.cast(wanted)
        except pa.ArrowInvalid:
            return None

    return read


def _from_whole(source: t.IntegralType, target: DataType, wanted: pa.DataType) -> Kernel | None:
    if isinstance(target, (t.IntegralType, *_FLOATS)):
        return lambda column: pc.cast(column, wanted, safe=False)
    if isinstance(target, t.DecimalType) and target.precision - target.scale >= as_decimal(source).precision:
        return lambda column: column.cast(wanted)
    if isinstance(target, t.BooleanType):
        return lambda column: pc.not_equal(column, pa.scalar(0, column.type))
    return None


def _from_float(target: DataType, wanted: pa.DataType) -> Kernel | None:
    if isinstance(target, _FLOATS):
        return lambda column: pc.cast(column, wanted, safe=False)
    if not isinstance(target, (t.IntType, t.BigIntType)):
        return None
    smallest, largest = -(2 ** (target.bits - 1)), 2 ** (target.bits - 1) - 1

    def saturate(column: Any) -> Column | None:
        if isinstance(column, pa.Scalar):
            return None
        values = column.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False)
        inside = (values > smallest) & (values < largest)
        whole = np.where(inside, values, 0).astype(np.int64)
        whole = np.where(values >= largest, largest, np.where(values <= smallest, smallest, whole))
        return pa.array(whole.astype(wanted.to_pandas_dtype()), wanted, mask=pc.is_null(column).to_numpy(False))

    return saturate


def _time(source: DataType, target: DataType, wanted: pa.DataType, zone: str) -> Kernel | None:
    if isinstance(source, (t.DateType, *_TIMESTAMPS)) and isinstance(target, _TIMESTAMPS):
        return _timestamp(source, target, wanted, zone)
    if isinstance(source, _TIMESTAMPS) and isinstance(target, t.DateType):
        local = _local(source, zone)
        return lambda column: pc.cast(local(column), wanted, safe=False)
    if isinstance(source, t.TimeType) and isinstance(target, t.TimeType):
        return (lambda column: column) if _digits(target) >= _digits(source) else None
    return None


def _digits(data_type: DataType) -> int:
    """Digits after the second that columns of the type have."""
    return min(6, getattr(data_type, "precision", 0))


def _timestamp(source: DataType, target: DataType, wanted: pa.DataType, zone: str) -> Kernel:
    zoned = isinstance(target, t.LocalZonedTimestampType)
    same = isinstance(source, t.LocalZonedTimestampType) == zoned
    local = _local(source, zone)
    coarser = _digits(target) < _digits(source)

    def convert(column: Any) -> Column | None:
        moved = column if same else local(column).cast(pa.timestamp("us"))
        if zoned and not same:
            try:
                moved = pc.assume_timezone(moved, standard_name(zone), ambiguous="earliest").cast(wanted)
            except pa.ArrowInvalid:
                return None  # a time that the zone skips
        if coarser:
            moved = pc.floor_temporal(moved, 10 ** (6 - _digits(target)), unit="microsecond")
        return moved.cast(wanted)

    return convert
