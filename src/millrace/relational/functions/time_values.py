"""Parts of times: EXTRACT, YEAR, QUARTER, ..., SECOND, and FLOOR and CEIL to a unit.

The first half is shared by all functions of times: kinds of arguments, and times as plain numbers in numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    BIGINT_TYPE,
    Column,
    Infer,
    Kind,
    Signature,
    SignatureError,
    Spark,
    Surroundings,
    is_text,
    scalar,
    signature,
    takes,
)
from millrace.relational.rex import Call, Rex
from millrace.relational.time_zones import instants, local_times
from millrace.relational.type_table import arrow_type
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
    """Add months to days (since 1970): the same day of the later month, or that month's last day if it is too short."""
    month = days.astype("datetime64[D]").astype("datetime64[M]")
    first = month.astype("datetime64[D]").astype(np.int64)
    later = month + np.asarray(months, np.int64).astype("timedelta64[M]")
    start = later.astype("datetime64[D]").astype(np.int64)
    after = (later + np.timedelta64(1, "M")).astype("datetime64[D]").astype(np.int64)
    return np.asarray(np.minimum(start + days - first, after - 1), np.int64)


def add_months_to_micros(micros: Numbers, months: Any) -> Numbers:
    """Add months to points in time (microseconds since 1970), see ``add_months``; the time of day stays."""
    days = micros // DAY
    return np.asarray(add_months(days, months) * DAY + (micros - days * DAY), np.int64)


def cut(micros: Numbers, data_type: DataType) -> Numbers:
    """Digits after the second that the type does not have are dropped."""
    digits = getattr(data_type, "precision", 6)
    if digits >= 6 or not isinstance(data_type, (t.TimeType, *STAMPS)):
        return micros
    step = 10 ** (6 - digits)
    return np.asarray(micros // step * step, np.int64)


# EXTRACT

Part = Callable[[Any], Any]


def _divided(column: Any, by: int) -> Any:
    """Whole quotient, towards zero as Java divides."""
    return pc.divide(column, pa.scalar(by, pa.int64()))


def _plus(column: Any, number: int) -> Any:
    return pc.add(column, pa.scalar(number, pa.int64()))


def _micros(column: Any) -> Any:
    return pc.add(pc.multiply(pc.millisecond(column), pa.scalar(1000, pa.int64())), pc.microsecond(column))


def _epoch(column: Any) -> Any:
    if column.type == pa.date32():
        return pc.multiply(column.cast(pa.int32()).cast(pa.int64()), pa.scalar(86400, pa.int64()))
    return _divided(column.cast(pa.int64()), SECOND)


_OF_DAYS: dict[str, Part] = {
    "MILLENNIUM": lambda column: _divided(_plus(pc.year(column), 999), 1000),
    "CENTURY": lambda column: _divided(_plus(pc.year(column), 99), 100),
    "DECADE": lambda column: _divided(pc.year(column), 10),
    "YEAR": pc.year,
    "ISOYEAR": pc.iso_year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DAY": pc.day,
    "DOW": lambda column: pc.day_of_week(column, count_from_zero=False, week_start=7),
    "ISODOW": lambda column: pc.day_of_week(column, count_from_zero=False, week_start=1),
    "DOY": pc.day_of_year,
    "EPOCH": _epoch,
}
_OF_CLOCKS: dict[str, Part] = {
    "HOUR": pc.hour,
    "MINUTE": pc.minute,
    "SECOND": pc.second,
    "MILLISECOND": pc.millisecond,
    "MICROSECOND": _micros,
    "NANOSECOND": lambda column: pc.multiply(_micros(column), pa.scalar(1000, pa.int64())),
}
_PARTS = _OF_DAYS | _OF_CLOCKS
_OF_SPANS = {"DAY": (DAY, 0), "HOUR": (HOUR, DAY), "MINUTE": (MINUTE, HOUR), "SECOND": (SECOND, MINUTE)} | {
    "MILLISECOND": (1000, SECOND)
}
"""unit -> its microseconds, and those of the next longer one"""
_OF_MONTHS = {"YEAR": (12, 0), "QUARTER": (3, 12), "MONTH": (1, 12)}
"""unit -> its months, and the months of the next longer unit (0: none); quarters of a year count from 1"""


def _infer_extract(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) != 1:
        raise SignatureError("it takes (unit FROM time)")
    found = args[0].type
    for types, known in (
        (STAMPS, tuple(_PARTS)),
        (t.DateType, tuple(_OF_DAYS)),
        (t.TimeType, tuple(_OF_CLOCKS)),
        (t.DayTimeIntervalType, tuple(_OF_SPANS)),
        (t.YearMonthIntervalType, tuple(_OF_MONTHS)),
    ):
        if isinstance(found, types):
            unit_of(options, known)
            return signature([found], BIGINT_TYPE)
    raise SignatureError("it takes (unit FROM time), a DATE, TIME, TIMESTAMP or INTERVAL")


def _spark(call: Call, args: Sequence[str]) -> str | None:
    function = _SPARK.get(call.option("unit"))
    return f"CAST({function}({args[0]}) AS BIGINT)" if function and isinstance(call.args[0].type, POINTS) else None


_SPARK = {"YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "weekofyear", "DAY": "day"} | {
    "DOW": "dayofweek",
    "DOY": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
}


@scalar("EXTRACT", _infer_extract, spark=_spark, syntax="EXTRACT(unit FROM time)")
def extract(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return part_of(unit_of(dict(call.options), _PARTS), call.args[0].type, args[0], around)


def part_of(unit: str, data_type: t.DataType, column: Column, around: Surroundings) -> Column:
    """One part of times of this type, as BIGINT. Of a TIMESTAMP_LTZ what clocks in the session's zone show."""
    if isinstance(data_type, t.LocalZonedTimestampType):
        column = local_times(column, around.zone)
    if isinstance(data_type, t.YearMonthIntervalType):
        found = _rest(column.cast(pa.int64()), *_OF_MONTHS[unit])
        return _plus(found, 1) if unit == "QUARTER" else found
    if isinstance(data_type, t.DayTimeIntervalType):
        return _rest(column.cast(pa.int64()), *_OF_SPANS[unit])
    return _PARTS[unit](column).cast(arrow_type(BIGINT_TYPE))


def _rest(column: Any, size: int, longer: int) -> Any:
    if longer:
        column = pc.subtract(column, pc.multiply(_divided(column, longer), pa.scalar(longer, pa.int64())))
    return _divided(column, size)


def _or_interval(unit: str, kind: Kind) -> Kind:
    """Times, and the intervals that have such a part."""
    spans = tuple(
        interval
        for interval, units in ((t.DayTimeIntervalType, _OF_SPANS), (t.YearMonthIntervalType, _OF_MONTHS))
        if unit in units
    )
    if not spans:
        return kind
    return Kind(f"{kind.name} or INTERVAL", lambda found: found if isinstance(found, spans) else kind.target(found))


def _register(name: str, unit: str, kind: Kind) -> None:
    def spark(call: Call, args: Sequence[str]) -> str | None:
        timely = isinstance(call.args[0].type, POINTS)
        return f"CAST({_SPARK[unit]}({args[0]}) AS BIGINT)" if timely else None

    text: Spark = spark

    @scalar(name, takes(_or_interval(unit, kind), result=BIGINT_TYPE), spark=text, syntax=f"{name}(time)")
    def compute(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
        return part_of(unit, call.args[0].type, args[0], around)


for _name, _unit in (
    ("YEAR", "YEAR"),
    ("QUARTER", "QUARTER"),
    ("MONTH", "MONTH"),
    ("WEEK", "WEEK"),
    ("DAYOFYEAR", "DOY"),
    ("DAYOFMONTH", "DAY"),
    ("DAYOFWEEK", "DOW"),
):
    _register(_name, _unit, DATE_OR_STAMP)
for _name in ("HOUR", "MINUTE", "SECOND"):
    _register(_name, _name, CLOCK)


# FLOOR and CEIL

_SUNDAY = 3 * DAY
"""the first Sunday: weeks begin on Sundays"""


def _infer_rounding(name: str) -> Infer:
    def infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
        if len(args) != 1 or not isinstance(args[0].type, (t.TimeType, *POINTS)) or "unit" not in options:
            raise SignatureError(f"it takes (time TO unit), as in {name}(ts TO HOUR)")
        clock = isinstance(args[0].type, t.TimeType)
        known = [unit for unit in FIXED if FIXED[unit] < DAY] if clock else [*FIXED, *MONTHS]
        unit_of(options, known)
        return signature([args[0].type], args[0].type)

    return infer


@scalar("FLOOR TIME", _infer_rounding("FLOOR"), overload_of="FLOOR", syntax="FLOOR(time TO unit)")
def floor(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _round(call, args[0], around, up=False)


@scalar("CEIL TIME", _infer_rounding("CEIL"), overload_of="CEIL", syntax="CEIL(time TO unit)")
def ceil(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return _round(call, args[0], around, up=True)


def _round(call: Call, column: Column, around: Surroundings, up: bool) -> Column:
    unit, data_type, wanted = unit_of(dict(call.options), FIXED | MONTHS), call.type, arrow_type(call.type)
    values = numbers(column)
    if isinstance(data_type, t.DateType):
        if unit == "DAY" and up:  # Flink's choice: the next day, though a DATE begins a day already
            return column_of(values + 1, wanted, column)
        return column_of(rounded(values * DAY, unit, up) // DAY, wanted, column)
    if isinstance(data_type, t.TimeType):
        return column_of(rounded(values, unit, up) % DAY, wanted, column)
    if isinstance(data_type, t.LocalZonedTimestampType):
        local = local_times(column, around.zone)
        shown = numbers(local)
        if FIXED.get(unit, DAY) < DAY:  # within the hour: the clock is not put forward or back meanwhile
            return column_of(cut(rounded(shown, unit, up) - shown + values, data_type), wanted, column)
        whole = column_of(rounded(shown, unit, up), pa.timestamp("us"), column)
        return instants(whole, around.zone)
    return column_of(cut(rounded(values, unit, up), data_type), wanted, column)


def rounded(micros: Numbers, unit: str, up: bool) -> Numbers:
    """The last beginning of the unit before or at each time, or the first one after or at it."""
    if unit in FIXED:
        size, start = FIXED[unit], _SUNDAY if unit == "WEEK" else 0
        low = (micros - start) // size * size + start
        return np.where(low < micros, low + size, low) if up else low
    months = MONTHS[unit]
    # counted from January of year 0; centuries and millennia begin with a year 1
    start = 12 if unit in ("CENTURY", "MILLENNIUM") else 0
    month = (micros // DAY).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    first = (month - start) // months * months + start
    low = _beginning(first)
    return np.where(low < micros, _beginning(first + months), low) if up else low


def _beginning(month: Numbers) -> Numbers:
    days = (month - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return np.asarray(days * DAY, np.int64)
