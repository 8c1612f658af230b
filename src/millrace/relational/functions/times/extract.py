"""EXTRACT and the functions for single parts of a time: YEAR, QUARTER, ..., SECOND."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.functions.registry import Column, Signature, SignatureError, Spark, Surroundings, scalar
from millrace.relational.functions.signatures import BIGINT_TYPE, Kind, signature, takes
from millrace.relational.functions.times.numbers import (
    CLOCK,
    DATE_OR_STAMP,
    DAY,
    HOUR,
    MINUTE,
    POINTS,
    SECOND,
    STAMPS,
    unit_of,
)
from millrace.relational.functions.times.zones import local_times
from millrace.relational.rex import Call, Rex

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
"""as above, in months; quarters of a year count from 1"""


def _infer(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
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


@scalar("EXTRACT", _infer, spark=_spark, syntax="EXTRACT(unit FROM time)")
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
