"""TIMESTAMPADD, TIMESTAMPDIFF and OVERLAPS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.casting import common_type
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN_TYPE, INT_TYPE, signature
from millrace.relational.functions.times.intervals import add
from millrace.relational.functions.times.numbers import (
    DAY,
    FIXED,
    INTERVALS,
    MONTHS,
    POINTS,
    Numbers,
    add_months,
    column_of,
    numbers,
    unit_of,
)
from millrace.relational.rex import Call, Rex
from millrace.relational.types import DataType

_UNITS = (*FIXED, "MONTH", "QUARTER", "YEAR")
_TIMES = (t.TimeType, *POINTS)
_DIGITS = {"MILLISECOND": 3, "MICROSECOND": 6}
_OF_DATE = 6
"""digits of a DATE and hours, minutes or seconds: those of a TIMESTAMP of which nothing is said"""


def _infer_add(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    whole = len(args) == 2 and isinstance(args[0].type, t.IntegralType)
    if not whole or not isinstance(args[1].type, _TIMES):
        raise SignatureError("it takes (unit, INTEGER, time)")
    unit, count, time = unit_of(options, _UNITS), args[0].type, args[1].type
    if unit in FIXED and FIXED[unit] < DAY and not isinstance(time, t.TimeType):
        digits = max(_DIGITS[unit], _digits(time, 0)) if unit in _DIGITS else _digits(time, _OF_DATE)
        local = isinstance(time, t.LocalZonedTimestampType)
        wanted: DataType = t.LocalZonedTimestampType(digits) if local else t.TimestampType(digits)
        return signature([count, time], wanted)
    return signature([count, time], time)


def _digits(time: DataType, of_date: int) -> int:
    return int(getattr(time, "precision", of_date))


@scalar("TIMESTAMPADD", _infer_add, syntax="TIMESTAMPADD(unit, INTEGER, time)")
def timestamp_add(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    unit = unit_of(dict(call.options), _UNITS)
    amount = numbers(args[0]) * (FIXED.get(unit) or MONTHS[unit])
    found = add(call.args[1].type, call.type, numbers(args[1]), amount, months=unit in MONTHS)
    return column_of(found, arrow_type(call.type), *args)


def _infer_difference(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    common = _common_time([arg.type for arg in args]) if len(args) == 2 else None
    if not isinstance(common, _TIMES):
        raise SignatureError("it takes (unit, time, time), of which none is a DATE or TIME beside a TIMESTAMP_LTZ")
    unit = unit_of(options, _UNITS)
    if isinstance(common, t.TimeType) and unit in MONTHS:
        common = t.TimestampType(common.precision)
    return signature([common.with_nullable(arg.type.is_nullable) for arg in args], INT_TYPE)


def _common_time(types: Sequence[DataType]) -> DataType | None:
    """What two times are subtracted as: a TIME beside a DATE or TIMESTAMP is one of 1970-01-01."""
    kinds = {type(each) for each in types}
    if t.LocalZonedTimestampType in kinds and t.DateType in kinds:
        return None
    if t.TimeType in kinds and kinds & {t.DateType, t.TimestampType}:
        return t.TimestampType(max(getattr(each, "precision", 0) for each in types))
    return common_type(types)


@scalar("TIMESTAMPDIFF", _infer_difference, syntax="TIMESTAMPDIFF(unit, time, time)")
def timestamp_difference(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    unit = unit_of(dict(call.options), _UNITS)
    scale = DAY if isinstance(call.args[0].type, t.DateType) else 1
    begin, end = numbers(args[0]) * scale, numbers(args[1]) * scale
    units = _months_between(begin, end) if unit in MONTHS else end - begin
    size = FIXED.get(unit) or MONTHS[unit]
    whole = np.abs(units) // size * np.sign(units)
    return column_of(whole, arrow_type(call.type), *args)


def _months_between(begin: Numbers, end: Numbers) -> Numbers:
    """Months that have passed in full, negative where the end is before the beginning."""
    early, late = np.minimum(begin, end), np.maximum(begin, end)
    early_day, late_day = early // DAY, late // DAY
    months = _month(late_day) - _month(early_day)
    reached = add_months(early_day, months) * DAY + (early - early_day * DAY)
    return np.asarray((months - (reached > late)) * np.sign(end - begin), np.int64)


def _month(days: Numbers) -> Numbers:
    return np.asarray(days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64))


def _infer_overlaps(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) != 4:
        raise SignatureError("it takes (time, time or INTERVAL, time, time or INTERVAL)")
    starts = [args[0].type, args[2].type]
    common = common_type([starts[0], starts[1]])
    if not isinstance(common, _TIMES) or type(starts[0]) is not type(starts[1]):
        raise SignatureError("it takes two pairs that begin with times of one type")
    wanted: list[DataType] = []
    for index, arg in enumerate(args):
        if index % 2 and isinstance(arg.type, INTERVALS):
            wanted.append(arg.type)
        elif type(arg.type) is type(common):
            wanted.append(common.with_nullable(arg.type.is_nullable))
        else:
            raise SignatureError(f"it takes pairs of a {common} with another one or an INTERVAL, not {arg.type}")
    return signature(wanted, BOOLEAN_TYPE)


@scalar("OVERLAPS", _infer_overlaps, syntax="(time, time or INTERVAL) OVERLAPS (time, time or INTERVAL)")
def overlaps(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    (a, b), (c, d) = (_span(call, args, place) for place in (0, 2))
    meet = (np.maximum(a, b) >= np.minimum(c, d)) & (np.maximum(c, d) >= np.minimum(a, b))
    return column_of(meet.astype(np.int64), arrow_type(INT_TYPE), *args).cast(arrow_type(call.type))


def _span(call: Call, args: Sequence[Column], place: int) -> tuple[Numbers, Numbers]:
    """Beginning and end in microseconds."""
    start, other = call.args[place].type, call.args[place + 1].type
    scale = DAY if isinstance(start, t.DateType) else 1
    begin, length = numbers(args[place]) * scale, numbers(args[place + 1])
    if not isinstance(other, INTERVALS):
        return begin, length * scale
    if isinstance(other, t.DayTimeIntervalType) or isinstance(start, t.TimeType):
        return begin, begin + (length if isinstance(other, t.DayTimeIntervalType) else 0)
    stamp = t.TimestampType(6)
    return begin, add(stamp, stamp, begin, length, months=True)
