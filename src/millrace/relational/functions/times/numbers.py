"""What functions of times share: kinds of arguments, and times as plain numbers in numpy.

Days for DATE; microseconds since the epoch, since midnight or of length for the others; months for long intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.functions.registry import Column, SignatureError
from millrace.relational.functions.signatures import Kind
from millrace.relational.types import DataType

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
WEEK = 7 * DAY

FIXED = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": SECOND, "MINUTE": MINUTE, "HOUR": HOUR} | {
    "DAY": DAY,
    "WEEK": WEEK,
}
"""units of equal length in microseconds"""
MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000}
"""units that are months"""

STAMPS = (t.TimestampType, t.LocalZonedTimestampType)
POINTS = (t.DateType, *STAMPS)
INTERVALS = (t.DayTimeIntervalType, t.YearMonthIntervalType)

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def _kind(name: str, *types: type[DataType]) -> Kind:
    return Kind(name, lambda found: found if isinstance(found, types) else None)


DATE_OR_STAMP = _kind("DATE or TIMESTAMP", *POINTS)
CLOCK = _kind("TIME or TIMESTAMP", t.TimeType, *STAMPS)
STAMP = _kind("TIMESTAMP", *STAMPS)
STAMP_OR_TEXT = Kind(
    "TIMESTAMP, DATE or STRING", lambda found: found if isinstance(found, POINTS) or is_text(found) else None
)


def unit_of(options: dict[str, Any], known: Any) -> str:
    """The unit of time of a call.

    :raises SignatureError: it is not one of the known ones.
    """
    unit = str(options.get("unit", "")).upper().removeprefix("SQL_TSI_")
    if unit not in known:
        raise SignatureError(f"it takes a unit of time, one of {', '.join(known)}" + (f", not {unit}" if unit else ""))
    return unit


def numbers(column: Column) -> Numbers:
    """The numbers behind a column of times (one number behind a scalar), with 0 for NULL."""
    array = pa.nulls(1, column.type) if isinstance(column, pa.Scalar) and not column.is_valid else column
    if isinstance(array, pa.Scalar):
        array = pa.repeat(array, 1)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    narrow = pa.int32() if array.type.bit_width == 32 else pa.int64()
    plain = array.cast(narrow).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(plain, np.int64)


def column_of(values: Numbers, wanted: pa.DataType, *args: Column) -> Column:
    """Numbers as a column of times, NULL where one of the arguments is; a scalar if all of them are."""
    if all(isinstance(arg, pa.Scalar) for arg in args):
        if not all(arg.is_valid for arg in args):
            return pa.scalar(None, wanted)
        return _array(values, wanted)[0]
    length = max(len(arg) for arg in args if not isinstance(arg, pa.Scalar))
    if any(isinstance(arg, pa.Scalar) and not arg.is_valid for arg in args):
        return pa.nulls(length, wanted)
    array = _array(np.broadcast_to(values, (length,)), wanted)
    for arg in args:
        if not isinstance(arg, pa.Scalar) and arg.null_count:
            array = pc.if_else(pc.is_valid(arg), array, pa.scalar(None, wanted))
    return array


def _array(values: Any, wanted: pa.DataType) -> pa.Array:
    width = np.int32 if wanted.bit_width == 32 else np.int64
    return pa.array(np.ascontiguousarray(values, width)).cast(wanted)


def add_months(days: Numbers, months: Any) -> Numbers:
    """The same day so many months later, or the last day of a month that is too short."""
    month = days.astype("datetime64[D]").astype("datetime64[M]")
    first = month.astype("datetime64[D]").astype(np.int64)
    later = month + np.asarray(months, np.int64).astype("timedelta64[M]")
    start = later.astype("datetime64[D]").astype(np.int64)
    after = (later + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64)
    return np.asarray(np.minimum(start + days - first, after - 1), np.int64)


def add_months_to_micros(micros: Numbers, months: Any) -> Numbers:
    """The same for points in time: the time of day stays."""
    days = micros // DAY
    return np.asarray(add_months(days, months) * DAY + (micros - days * DAY), np.int64)


def cut(micros: Numbers, data_type: DataType) -> Numbers:
    """Digits after the second that the type does not have are dropped."""
    digits = getattr(data_type, "precision", 6)
    if digits >= 6 or not isinstance(data_type, (t.TimeType, *STAMPS)):
        return micros
    step = 10 ** (6 - digits)
    return np.asarray(micros // step * step, np.int64)
