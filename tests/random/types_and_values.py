"""Types of random tables: how they are declared, written in SQL and drawn, with NULLs and extremes among the values."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from millrace.common.types import Row

UTC = dt.timezone.utc
TEXTS = ("", "a", "B", "ab c", "straße ✓", "%_\\", "null", "12", "-7.5", "2024-02-29", "😀x", "  pad ", "a,b,,c")
DAYS = (dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31))
TIMES = (
    dt.datetime(1969, 12, 31, 23, 59, 59, 999000),
    dt.datetime(1970, 1, 1),
    dt.datetime(2021, 3, 14, 2, 30),  # no such time in New York
    dt.datetime(2021, 11, 7, 1, 30),  # twice there
    dt.datetime(2024, 2, 29, 12, 34, 56, 789000),
)
FURTHEST = (dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999))


@dataclass(frozen=True)
class Kind:
    """A type: its name in SQL, and what draws a value that is not NULL."""

    name: str
    value: Callable[[random.Random], Any]
    key: bool = True
    """whether values can be grouped, joined and ordered"""


def _whole(bits: int) -> Callable[[random.Random], int]:
    largest = 2 ** (bits - 1) - 1
    return lambda draw: draw.choice((0, 1, -1, draw.randint(-5, 5), draw.randint(-5, 5), largest, -largest - 1))


def _double(draw: random.Random) -> float:
    """Few digits, so that sums do not depend on their order."""
    return draw.choice((0.0, draw.randint(-400, 400) / 4, draw.randint(-400, 400) / 4, 1e10, -(2.0**-20)))


def _decimal(draw: random.Random) -> Decimal:
    largest = Decimal("99999999.99")
    return draw.choice((Decimal("0.00"), Decimal(draw.randint(-999, 999)).scaleb(-2), largest, -largest))


def _long_decimal(draw: random.Random) -> Decimal:
    largest = Decimal("9" * 28 + "." + "9" * 10)
    return draw.choice((Decimal("-0.0000000001"), Decimal(draw.randint(-99, 99)).scaleb(-10), largest))


def _clock(draw: random.Random) -> dt.time:
    return draw.choice((dt.time(0), dt.time(23, 59, 59), dt.time(draw.randint(0, 23), draw.randint(0, 59), 7)))


def _some(draw: random.Random, of: Callable[[], Any]) -> list[Any]:
    return [of() for _ in range(draw.randint(0, 3))]


def _or_none(draw: random.Random, value: Callable[[random.Random], Any]) -> Any:
    return None if draw.random() < 0.25 else value(draw)


_INT = _whole(32)


def _text(draw: random.Random) -> str:
    return draw.choice(TEXTS)


def _row(draw: random.Random) -> Row:
    return Row(x=_or_none(draw, _INT), y=_or_none(draw, _text))


KINDS = {
    kind.name: kind
    for kind in (
        Kind("BOOLEAN", lambda draw: draw.random() < 0.5),
        Kind("TINYINT", _whole(8)),
        Kind("INT", _INT),
        Kind("BIGINT", _whole(64)),
        Kind("SMALLINT", _whole(16)),
        Kind("DECIMAL(38, 10)", _long_decimal),
        Kind("VARCHAR(4)", lambda draw: _text(draw)[:4]),
        Kind("CHAR(3)", lambda draw: draw.choice(("abc", "a  ", "✓✓✓", "   "))),
        Kind("TIMESTAMP(0)", lambda draw: draw.choice(TIMES).replace(microsecond=0)),
        Kind("TIMESTAMP(6)", lambda draw: draw.choice((*TIMES, *FURTHEST))),
        Kind("TIMESTAMP_LTZ(6)", lambda draw: draw.choice(TIMES).replace(microsecond=123456, tzinfo=UTC)),
        Kind("ARRAY<STRING>", lambda draw: _some(draw, lambda: _or_none(draw, _text)), key=False),
        Kind("ARRAY<ROW<x INT, y STRING>>", lambda draw: _some(draw, lambda: _row(draw)), key=False),
        Kind("FLOAT", lambda draw: draw.randint(-40, 40) / 4),
        Kind("DOUBLE", _double),
        Kind("DECIMAL(10, 2)", _decimal),
        Kind("STRING", _text),
        Kind("BYTES", lambda draw: draw.choice((b"", b"\x00", b"\xff\x01", b"abc")), key=False),
        Kind("DATE", lambda draw: draw.choice(DAYS)),
        Kind("TIME", _clock),
        Kind("TIMESTAMP(3)", lambda draw: draw.choice(TIMES)),
        Kind("TIMESTAMP_LTZ(3)", lambda draw: draw.choice(TIMES).replace(tzinfo=UTC)),
        Kind("ARRAY<INT>", lambda draw: _some(draw, lambda: _or_none(draw, _INT)), key=False),
        Kind("MAP<STRING, INT>", lambda draw: {_text(draw): _or_none(draw, _INT) for _ in range(2)}, key=False),
        Kind("ROW<x INT, y STRING>", _row, key=False),
    )
}


def value_or_null(draw: random.Random, kind: str) -> Any:
    return _or_none(draw, KINDS[kind].value)
