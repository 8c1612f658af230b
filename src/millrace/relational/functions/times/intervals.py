"""Arithmetic of times and intervals: the forms of ``+``, ``-`` and ``*`` that are not about numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from millrace.relational import types as t
from millrace.relational.arrow import arrow_type
from millrace.relational.casting import common_type, is_number
from millrace.relational.functions.registry import Column, Signature, SignatureError, Spark, Surroundings, scalar
from millrace.relational.functions.signatures import DOUBLE_TYPE, signature
from millrace.relational.functions.times.numbers import (
    DAY,
    INTERVALS,
    POINTS,
    Numbers,
    add_months,
    add_months_to_micros,
    column_of,
    cut,
    numbers,
)
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.types import DataType

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
        """For TIMESTAMP only: to a TIMESTAMP_LTZ Spark adds days of 23 to 25 hours, as the session's zone has them."""
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
