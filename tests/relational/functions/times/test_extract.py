from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, SOURCE, STANDARD, Example, of

from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

FIRST = dt.datetime(2000, 1, 31, 11, 22, 33, 123456)
SECOND = dt.datetime(2020, 2, 29, 1, 56, 59, 987654)
EARLY = dt.datetime(1969, 12, 28, 23, 59, 58, 999999)
INSTANT = dt.datetime(2024, 3, 31, 23, 30, 15, 250000, dt.timezone.utc)
DAY = dt.date(1994, 9, 27)
MOMENT = dt.datetime(1994, 9, 27, 13, 14, 15)
MONTHS = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH)


def part(unit: str, value: object, gives: int, source: str = SOURCE, zone: str = "UTC") -> Example:
    return Example("EXTRACT", [value], of(t.BigIntType(), gives), source, {"unit": unit}, zone=zone)


EXAMPLES = [
    # the values that Flink's own tests expect
    *(
        part(unit, time, gives)
        for unit, first, second in [
            ("NANOSECOND", 123456000, 987654000),
            ("MICROSECOND", 123456, 987654),
            ("MILLISECOND", 123, 987),
            ("SECOND", 33, 59),
            ("MINUTE", 22, 56),
            ("HOUR", 11, 1),
            ("DAY", 31, 29),
            ("WEEK", 5, 9),
            ("MONTH", 1, 2),
            ("QUARTER", 1, 1),
            ("YEAR", 2000, 2020),
            ("DECADE", 200, 202),
            ("CENTURY", 20, 21),
            ("MILLENNIUM", 2, 3),
            ("DOW", 2, 7),
            ("ISODOW", 1, 6),
            ("DOY", 31, 60),
            ("ISOYEAR", 2000, 2020),
            ("EPOCH", 949317753, 1582941419),
        ]
        for time, gives in ((FIRST, first), (SECOND, second))
    ),
    *(
        Example(name, [dt.timedelta(days=1, hours=2, minutes=3, seconds=4.567)], of(t.BigIntType(), gives), PYTHON)
        for name, gives in (("DAYOFMONTH", 1), ("HOUR", 2), ("MINUTE", 3), ("SECOND", 4))
    ),
    *(
        Example(name, [of(MONTHS, months)], of(t.BigIntType(), gives), STANDARD)
        for name, months, gives in (("YEAR", 29, 2), ("QUARTER", 29, 2), ("QUARTER", 24, 1), ("MONTH", 29, 5))
    ),
    part("QUARTER", of(MONTHS, 50), 1, SOURCE),
    part("DAY", dt.date(2006, 6, 5), 5, DOCS),
    part("EPOCH", dt.date(1970, 1, 3), 172800, PYTHON),
    part("ISOYEAR", dt.date(2021, 1, 1), 2020, PYTHON),
    part("SECOND", EARLY, 58, PYTHON),
    part("DAY", EARLY, 28, PYTHON),
    part("HOUR", dt.time(5, 6, 7, 8000), 5, PYTHON),
    part("MILLISECOND", dt.time(5, 6, 7, 8000), 8, PYTHON),
    part("DAY", INSTANT, 1, PYTHON, "Europe/Berlin"),
    part("HOUR", INSTANT, 1, PYTHON, "Europe/Berlin"),
    part("HOUR", INSTANT, 15, PYTHON, "GMT-08:00"),
    part("DAY", dt.timedelta(days=3, hours=5, minutes=7, seconds=9, milliseconds=11), 3, PYTHON),
    part("HOUR", dt.timedelta(days=3, hours=5, minutes=7), 5, PYTHON),
    part("MINUTE", -dt.timedelta(hours=5, minutes=7), -7, PYTHON),
    part("YEAR", of(MONTHS, 29), 2, PYTHON),
    part("MONTH", of(MONTHS, -29), -5, PYTHON),
    *(
        Example(name, [value], of(t.BigIntType(), gives), DOCS)
        for name, value, gives in [
            ("YEAR", DAY, 1994),
            ("QUARTER", DAY, 3),
            ("MONTH", DAY, 9),
            ("WEEK", DAY, 39),
            ("DAYOFYEAR", DAY, 270),
            ("DAYOFMONTH", DAY, 27),
            ("DAYOFWEEK", DAY, 3),
            ("HOUR", MOMENT, 13),
            ("MINUTE", MOMENT, 14),
            ("SECOND", MOMENT, 15),
            ("YEAR", MOMENT, 1994),
            ("DAYOFWEEK", MOMENT, 3),
        ]
    ),
    *(
        Example(name, [value], of(t.BigIntType(), gives), PYTHON, zone="Asia/Tokyo")
        for name, value, gives in [("MONTH", INSTANT, 4), ("DAYOFMONTH", INSTANT, 1), ("HOUR", INSTANT, 8)]
    ),
    *(
        Example(name, [dt.date(2021, 1, 3)], of(t.BigIntType(), gives), PYTHON)
        for name, gives in [("WEEK", 53), ("QUARTER", 1), ("DAYOFYEAR", 3), ("DAYOFWEEK", 1)]
    ),
    *(Example(name, [dt.time(1, 2, 3)], of(t.BigIntType(), n), PYTHON) for n, name in [(1, "HOUR"), (2, "MINUTE")]),
]


@corpus("example", EXAMPLES, 83)
def test_example(example: Example) -> None:
    example.check()


@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)))
def test_parts_are_those_of_python(at: dt.datetime) -> None:
    year, week, weekday = at.isocalendar()
    for unit, gives in {
        "YEAR": at.year,
        "ISOYEAR": year,
        "WEEK": week,
        "ISODOW": weekday,
        "DOW": weekday % 7 + 1,
        "DOY": at.timetuple().tm_yday,
        "QUARTER": (at.month + 2) // 3,
        "MINUTE": at.minute,
        "MICROSECOND": at.microsecond,
    }.items():
        example = part(unit, at, gives)
        assert example.run(example.call([0]), [[at]]) == [gives]


@pytest.mark.parametrize(
    ("value", "unit", "message"),
    [
        (Literal(t.DateType(False), DAY), "NANOSECOND", "not NANOSECOND"),
        (Literal(t.DateType(False), DAY), "HOUR", "not HOUR"),
        (Literal(t.TimeType(0, False), dt.time(1)), "YEAR", "not YEAR"),
        (Literal(t.BooleanType(False), True), "YEAR", "a DATE, TIME, TIMESTAMP or INTERVAL"),
    ],
)
def test_what_has_no_such_part_is_refused(value: Literal, unit: str, message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        call("EXTRACT", [value], {"unit": unit})
