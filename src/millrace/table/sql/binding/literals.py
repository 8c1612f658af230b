"""Constants."""

from __future__ import annotations

import datetime
from decimal import Decimal

from millrace.relational import types as t
from millrace.relational.rex import Literal
from millrace.table.sql import nodes
from millrace.table.sql.binding.problems import fail

_INT, _BIGINT = 2**31, 2**63


def number(tree: nodes.Node, text: str) -> Literal:
    """A number as written: INT, or BIGINT, or DECIMAL if it is too large; DECIMAL with a point, DOUBLE with an E."""
    if "e" in text.lower():
        return Literal(t.DoubleType(False), float(text))
    value = Decimal(text)
    if value == value.to_integral_value() and not text.partition(".")[2]:
        whole = int(value)
        if -_INT <= whole < _INT:
            return Literal(t.IntType(False), whole)
        if -_BIGINT <= whole < _BIGINT:
            return Literal(t.BigIntType(False), whole)
    digits, scale = _size(text)
    if digits > t.DecimalType.MAX_PRECISION:
        fail(tree, f"the number {text} has {digits} digits: a DECIMAL has at most {t.DecimalType.MAX_PRECISION}")
    return Literal(t.DecimalType(digits, scale, False), value)


def _size(text: str) -> tuple[int, int]:
    """Digits as written, with zeros in front, and those after the point."""
    whole, _, fraction = text.lstrip("+-").partition(".")
    return len(whole) + len(fraction), len(fraction)


def text(value: str) -> Literal:
    """A string: CHAR of its length."""
    return Literal(t.CharType(len(value), False), value)


def binary(tree: nodes.Node, digits: str) -> Literal:
    """``x'1F'``: BINARY of its length."""
    try:
        value = bytes.fromhex(digits)
    except ValueError:
        fail(tree, f"x'{digits}' is not an even number of hexadecimal digits")
    return Literal(t.BinaryType(len(value), False), value)


def typed(tree: nodes.Node, kind: str, written: str) -> Literal:
    """``DATE '2024-05-06'``, ``TIME '10:20:30'``, ``TIMESTAMP '2024-05-06 10:20:30.123'``; the last two have as many
    digits after the second as are written."""
    try:
        if kind == "DATE":
            return Literal(t.DateType(False), datetime.date.fromisoformat(written.strip()))
        whole, _, fraction = written.strip().partition(".")
        precision, micro = min(9, len(fraction)), int((fraction + "000000")[:6] or 0)
        if kind == "TIME":
            time = datetime.datetime.strptime(whole, "%H:%M:%S").time().replace(microsecond=micro)
            return Literal(t.TimeType(precision, False), time)
        moment = datetime.datetime.strptime(whole.replace("T", " "), "%Y-%m-%d %H:%M:%S")
        return Literal(t.TimestampType(precision, False), moment.replace(microsecond=micro))
    except ValueError:
        shapes = {"DATE": "2024-05-06", "TIME": "10:20:30[.123]", "TIMESTAMP": "2024-05-06 10:20:30[.123]"}
        fail(tree, f"{kind} '{written}' is no {kind}: write it as {kind} '{shapes[kind]}'")


def interval(data_type: t.DataType, value: int) -> Literal:
    """An INTERVAL of microseconds, or of months."""
    plain = data_type.not_null()
    return Literal(
        plain, value if isinstance(plain, t.YearMonthIntervalType) else datetime.timedelta(microseconds=value)
    )
