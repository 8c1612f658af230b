"""Arithmetic of times and intervals: ``+``, ``-``, ``*``, TIMESTAMPADD, TIMESTAMPDIFF and OVERLAPS."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    BOOLEAN_TYPE,
    DOUBLE_TYPE,
    INT_TYPE,
    Column,
    Signature,
    SignatureError,
    Spark,
    Surroundings,
    common_type,
    is_number,
    scalar,
    signature,
)
from millrace.relational.functions.time_values import (
    DAY,
    FIXED,
    INTERVALS,
    MONTHS,
    POINTS,
    Numbers,
    add_months,
    add_months_to_micros,
    column_of,
    cut,
    numbers,
    unit_of,
)
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType

# Operators

_TIMES = (t.TimeType, *POINTS)
_SPAN = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)


def _infer_plus(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) == 2:
        left, right = args[0].type, args[1].type
        if isinstance(left, _TIMES) and isinstance(right, INTERVALS):
            return signature([left, right], left)
        if isinstance(left, INTERVALS) and isinstance(right, _TIMES):
            return signature([left, right], right)
        if isinstance(left, INTERVALS) and type(left) is type(right):
            return signature([left, right], _both(left, right))
    raise SignatureError("it takes (time, INTERVAL) or two INTERVALs of a kind")


def _infer_minus(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) == 1 and isinstance(args[0].type, INTERVALS):
        return signature([args[0].type], args[0].type)
    if len(args) == 2:
        left, right = args[0].type, args[1].type
        if isinstance(left, _TIMES) and isinstance(right, INTERVALS):
            return signature([left, right], left)
        if isinstance(left, INTERVALS) and type(left) is type(right):
            return signature([left, right], _both(left, right))
        if isinstance(left, _TIMES) and isinstance(right, _TIMES):
            common = common_type([left, right])
            if common is not None:
                return signature([common.with_nullable(each.is_nullable) for each in (left, right)], _SPAN)
    raise SignatureError("it takes (INTERVAL), (time, INTERVAL), two INTERVALs of a kind, or two times")


def _infer_times(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    if len(args) == 2:
        left, right = args[0].type, args[1].type
        if isinstance(left, INTERVALS) and is_number(right):
            return signature([left, _factor(right)], left)
        if is_number(left) and isinstance(right, INTERVALS):
            return signature([_factor(left), right], right)
    raise SignatureError("it takes (INTERVAL, NUMERIC)")


def _factor(number: DataType) -> DataType:
    return number if isinstance(number, t.IntegralType) else DOUBLE_TYPE.with_nullable(number.is_nullable)


def _both(left: DataType, right: DataType) -> DataType:
    found = common_type([left, right])
    assert found is not None
    return found


def _spark(sign: str) -> Spark:
    def text(call: Call, args: Sequence[str]) -> str | None:
        """SQL text for TIMESTAMP only: to a TIMESTAMP_LTZ Spark adds days of 23 to 25 hours, as the session's zone
        has them."""
        if len(args) == 1:
            return None
        left, right = (arg.type for arg in call.args)
        if isinstance(left, t.DateType) and isinstance(right, t.DayTimeIntervalType):
            days = _whole_days(call)
            return None if days is None else f"date_add({args[0]}, {days if sign == '+' else -days})"
        both = isinstance(left, t.TimestampType) and isinstance(right, t.TimestampType)
        exact = isinstance(call.type, t.TimestampType) and call.type.precision >= 6
        shift = isinstance(left, t.TimestampType) and isinstance(right, t.DayTimeIntervalType)
        return f"({args[0]} {sign} {args[1]})" if both or (shift and (exact or _in_millis(call))) else None

    return text


def _whole_days(call: Call) -> int | None:
    """The days of a literal interval that has nothing but days."""
    span = call.args[1]
    if not isinstance(span, Literal) or span.value is None:
        return None
    days, rest = divmod(span.value, timedelta(days=1))
    return None if rest or abs(days) >= 2**31 else int(days)


def _in_millis(call: Call) -> bool:
    """Whether nothing is lost where the sum is cut to its milliseconds."""
    span = call.args[1]
    whole = isinstance(span, Literal) and span.value is not None and not span.value % timedelta(milliseconds=1)
    return whole and isinstance(call.type, t.TimestampType) and call.type.precision >= 3


@scalar("+ TIME", _infer_plus, spark=_spark("+"), overload_of="+", syntax="time + INTERVAL")
def plus(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if isinstance(call.args[0].type, INTERVALS) and isinstance(call.args[1].type, _TIMES):
        return add_interval(call, 1, 0, args, 1)
    return add_interval(call, 0, 1, args, 1)


@scalar("- TIME", _infer_minus, spark=_spark("-"), overload_of="-", syntax="time - INTERVAL")
def minus(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    if len(args) == 1:
        return column_of(-numbers(args[0]), arrow_type(call.type), *args)
    if isinstance(call.args[1].type, INTERVALS):
        return add_interval(call, 0, 1, args, -1)
    scale = DAY if isinstance(call.args[0].type, t.DateType) else 1
    return column_of((numbers(args[0]) - numbers(args[1])) * scale, arrow_type(call.type), *args)


@scalar("* INTERVAL", _infer_times, overload_of="*", syntax="INTERVAL * NUMERIC")
def times(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    span, factor = (0, 1) if isinstance(call.args[0].type, INTERVALS) else (1, 0)
    if isinstance(call.args[factor].type, t.IntegralType):
        product = numbers(args[span]) * numbers(args[factor])
    else:
        plain = args[factor].cast("float64")
        by = plain.as_py() or 0.0 if not hasattr(plain, "to_numpy") else plain.fill_null(0).to_numpy()
        product = np.trunc(numbers(args[span]) * by).astype(np.int64)
    return column_of(product, arrow_type(call.type), *args)


def add_interval(call: Call, time: int, interval: int, args: Sequence[Column], sign: int) -> Column:
    """A time, or interval, plus ``sign`` times an interval; ``time`` and ``interval`` are places of arguments."""
    data_type = call.args[time].type
    found = add(
        data_type,
        call.type,
        numbers(args[time]),
        sign * numbers(args[interval]),
        months=isinstance(call.args[interval].type, t.YearMonthIntervalType),
    )
    return column_of(found, arrow_type(call.type), *args)


def add(data_type: DataType, wanted: DataType, values: Numbers, amount: Numbers, months: bool) -> Numbers:
    """Numbers of a type plus an amount of microseconds, or of months, as numbers of the wanted type."""
    if isinstance(data_type, INTERVALS):
        return values + amount
    if isinstance(data_type, t.TimeType):
        return values if months else cut((values + amount) % DAY, wanted)
    if isinstance(data_type, t.DateType):
        if isinstance(wanted, t.DateType):
            return add_months(values, amount) if months else values + np.sign(amount) * (np.abs(amount) // DAY)
        return values * DAY + amount
    return cut(add_months_to_micros(values, amount) if months else values + amount, wanted)


# TIMESTAMPADD, TIMESTAMPDIFF, OVERLAPS

_UNITS = (*FIXED, "MONTH", "QUARTER", "YEAR")


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
