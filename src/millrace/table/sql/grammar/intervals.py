"""Intervals: INTERVAL '1 02:03' DAY TO MINUTE, and (end - begin) DAY."""

from __future__ import annotations

import re
from decimal import Decimal

from millrace.relational.types import YearMonthIntervalType
from millrace.table.sql import nodes
from millrace.table.sql.grammar.cursor import Cursor
from millrace.table.sql.grammar.types import interval_type
from millrace.table.sql.nodes import IntervalLiteral
from millrace.table.sql.text.tokens import Kind

_MICROSECONDS = {
    "WEEK": 7 * 86_400_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_TIMES = ("DAY", "HOUR", "MINUTE", "SECOND")
INTERVAL_UNITS = ("YEAR", "MONTH", *_TIMES)
"""What an interval between two times begins with. The other units may be names."""
_BEFORE = {"MONTH": "-", "HOUR": " ", "MINUTE": ":", "SECOND": ":"}
"""What stands before a unit that is not the first."""


def interval(cursor: Cursor) -> IntervalLiteral:
    """What follows the word INTERVAL, which has been read.

    :raises SqlParseError: a text that does not fit its units.
    """
    begin = cursor.index - 1
    negative = cursor.take("-")
    if not negative:
        cursor.take("+")
    at = cursor.index
    if cursor.token.kind is Kind.NUMBER:
        cursor.fail(f"the number of an interval is written in quotes: INTERVAL '{cursor.token.text}' ..")
    text = cursor.string("the value of an interval in single quotes")
    literal = cursor.put(nodes.Literal.string(text), at)
    data_type, unit = interval_type(cursor)
    units = _units(unit)
    values = _parse(text, units)
    if values is None:
        cursor.fail(f"the text '{text}' is no interval {unit}: it looks like '{_example(units)}'", at)
    scale = _MONTHS if isinstance(data_type, YearMonthIntervalType) else _MICROSECONDS
    total = int(sum(number * scale[name] for number, name in zip(values, units)))
    value = -total if negative else total
    found = IntervalLiteral(this=literal, unit=unit, data_type=data_type, value=value, negative=negative)
    return cursor.put(found, begin)


def time_between(cursor: Cursor, difference: nodes.BuiltIn) -> nodes.Cast:
    """``(end - begin) unit``, of which the units have not been read: a cast of the time that has passed, for years and
    months of the months that have passed in full."""
    begin = cursor.index
    data_type, _ = interval_type(cursor)
    wanted = cursor.put(nodes.TypeName(data_type=data_type), begin)
    if not isinstance(data_type, YearMonthIntervalType):
        return nodes.Cast(this=difference, to=wanted)
    months = nodes.Call("TIMESTAMPDIFF", (nodes.Var("MONTH"), *reversed(difference.expressions)))
    in_months = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH)
    whole = nodes.Cast(this=months, to=nodes.TypeName(data_type=in_months))
    return nodes.Cast(this=whole, to=wanted)


def _units(unit: str) -> tuple[str, ...]:
    """All units from the first to the last."""
    first, _, last = unit.partition(" TO ")
    if not last or first == "YEAR":
        return (first, last) if last else (first,)
    return _TIMES[_TIMES.index(first) : _TIMES.index(last) + 1]


def _parse(text: str, units: tuple[str, ...]) -> list[Decimal] | None:
    """A number for every unit; None if the text does not fit."""
    pattern = r"\s*([+-]?)\s*" + "".join(
        (re.escape(_BEFORE[unit]) if position else "") + (r"(\d+(?:\.\d{1,9})?)" if unit == "SECOND" else r"(\d+)")
        for position, unit in enumerate(units)
    )
    match = re.fullmatch(pattern + r"\s*", text)
    if match is None:
        return None
    sign, *numbers = match.groups()
    return [-Decimal(number) if sign == "-" else Decimal(number) for number in numbers]


def _example(units: tuple[str, ...]) -> str:
    samples = {"SECOND": "05.5" if len(units) > 1 else "5.5"}
    return "".join((_BEFORE[unit] if position else "") + samples.get(unit, "1") for position, unit in enumerate(units))
