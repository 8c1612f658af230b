from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, FLINK, PYTHON, SOURCE, STANDARD, Example, of

from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal, Ref

STAMP = t.TimestampType(3)
HOUR = of(t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.HOUR), dt.timedelta(hours=1))
TWO_HOURS = of(HOUR.type, dt.timedelta(hours=2))
DAYS = of(t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY), dt.timedelta(days=10))
MONTH = of(t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.MONTH), 1)
DAY = dt.date(2016, 2, 29)


def _at(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)


def _add(unit: str, count: int, time: object, gives: object, source: str = PYTHON) -> Example:
    return Example("TIMESTAMPADD", [count, time], gives, source, {"unit": unit})


def _difference(unit: str, begin: object, end: object, gives: int, source: str = PYTHON) -> Example:
    return Example("TIMESTAMPDIFF", [begin, end], of(t.IntType(), gives), source, {"unit": unit})


def _overlaps(*args: object, gives: bool) -> Example:
    return Example("OVERLAPS", list(args), of(t.BooleanType(), gives), SOURCE)


EXAMPLES = [
    _add("MONTH", 1, of(STAMP, _at(2016, 1, 31, 12)), of(STAMP, _at(2016, 2, 29, 12)), STANDARD),
    _add("YEAR", 1, DAY, of(t.DateType(), dt.date(2017, 2, 28)), STANDARD),
    _add("QUARTER", -1, DAY, dt.date(2015, 11, 29)),
    _add("WEEK", 2, DAY, dt.date(2016, 3, 14)),
    _add("DAY", 1, DAY, dt.date(2016, 3, 1)),
    _add("HOUR", 25, DAY, of(t.TimestampType(6), _at(2016, 3, 1, 1)), FLINK),
    _add("MILLISECOND", 1, DAY, of(STAMP, _at(2016, 2, 29, 0, 0, 0, 1000)), SOURCE),
    _add("SQL_TSI_SECOND", 1, of(STAMP, _at(2016, 1, 1)), of(STAMP, _at(2016, 1, 1, 0, 0, 1))),
    _add("MILLISECOND", 5, of(t.TimestampType(0), _at(2016, 1, 1)), of(STAMP, _at(2016, 1, 1, 0, 0, 0, 5000)), SOURCE),
    _add("HOUR", 2, of(t.TimeType(0), dt.time(23)), of(t.TimeType(0), dt.time(1))),
    _add("MINUTE", of(t.BigIntType(), -1), _at(2016, 1, 1), _at(2015, 12, 31, 23, 59)),
    _difference("DAY", _at(2003, 1, 2, 10), _at(2003, 1, 3, 10), 1),
    _difference("DAY", _at(2003, 1, 3, 10), _at(2003, 1, 2, 10, 0, 1), 0),
    _difference("HOUR", _at(2003, 1, 3), _at(2003, 1, 2), -24),
    _difference("SECOND", DAY, dt.date(2016, 3, 1), 86400),
    _difference("SECOND", DAY, _at(2016, 2, 29, 0, 1), 60),
    _difference("WEEK", DAY, dt.date(2016, 3, 14), 2),
    _difference("MONTH", dt.date(2016, 1, 31), dt.date(2016, 2, 29), 1, SOURCE),
    _difference("MONTH", dt.date(2016, 1, 31), dt.date(2016, 2, 28), 0, SOURCE),
    _difference("MONTH", _at(2016, 1, 1, 12), _at(2016, 2, 1, 11), 0),
    _difference("MONTH", _at(2016, 2, 1, 11), _at(2016, 1, 1, 12), 0),
    _difference("MONTH", of(t.TimeType(0), dt.time(12)), dt.date(1970, 3, 1), 1),
    _difference("MONTH", of(t.TimeType(0), dt.time(12)), _at(1970, 3, 1, 12), 2),
    _difference("MONTH", of(t.TimeType(0), dt.time(1)), of(t.TimeType(0), dt.time(2)), 0),
    _difference("HOUR", dt.date(1970, 1, 1), of(t.TimeType(0), dt.time(23)), 23),
    _difference("QUARTER", dt.date(2016, 1, 1), dt.date(2017, 1, 1), 4),
    _difference("YEAR", dt.date(2017, 1, 1), dt.date(2015, 1, 2), -1),
    _difference("MINUTE", dt.time(1), dt.time(0, 30), -30),
    _overlaps(dt.time(2, 55), HOUR, dt.time(3, 30), TWO_HOURS, gives=True),
    _overlaps(dt.time(9), dt.time(9, 30), dt.time(9, 29), dt.time(9, 31), gives=True),
    _overlaps(dt.time(9), dt.time(10), dt.time(10, 15), HOUR, gives=False),
    _overlaps(dt.date(2011, 3, 10), DAYS, dt.date(2011, 3, 19), DAYS, gives=True),
    _overlaps(dt.date(2011, 3, 10), DAYS, dt.date(2011, 3, 21), DAYS, gives=False),
    _overlaps(dt.date(2011, 3, 31), MONTH, dt.date(2011, 4, 30), MONTH, gives=True),
    _overlaps(
        _at(2011, 3, 10, 5, 2, 2),
        _at(2011, 3, 10, 5, 2, 2),
        _at(2011, 3, 10, 5, 2, 2),
        _at(2011, 3, 10, 5, 2, 1),
        gives=True,
    ),
    _overlaps(
        _at(2011, 3, 10, 5, 2, 1),
        _at(2011, 3, 10, 5, 2, 1),
        _at(2011, 3, 10, 5, 2, 2),
        _at(2011, 3, 10, 5, 2, 2),
        gives=False,
    ),
]


@corpus("example", EXAMPLES, 36)
def test_example(example: Example) -> None:
    example.check()


_TIMES = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))


@given(_TIMES, _TIMES)
def test_differences_are_whole_units_of_those_of_python(begin: dt.datetime, end: dt.datetime) -> None:
    for unit, size in {"HOUR": dt.timedelta(hours=1), "DAY": dt.timedelta(1), "WEEK": dt.timedelta(7)}.items():
        example = _difference(unit, begin, end, 0)
        whole = abs(end - begin) // size
        assert example.run(example.call([0, 1]), [[begin, end]]) == [whole if end >= begin else -whole]


@given(_TIMES, st.integers(-500, 500))
def test_months_that_were_added_are_the_difference(begin: dt.datetime, months: int) -> None:
    added = _add("MONTH", months, begin, None)
    [end] = added.run(added.call([0, 1]), [[months, begin]])
    difference = _difference("MONTH", begin, end, 0)
    [found] = difference.run(difference.call([0, 1]), [[begin, end]])
    if end.day == begin.day or months > 0:
        assert found == months
    else:  # the day was cut to the end of a month: seen from there it is not whole months back
        assert found in (months, months + 1)


@pytest.mark.parametrize(
    ("function", "args", "unit", "message"),
    [
        ("TIMESTAMPADD", [Literal(t.IntType(), 1), Literal(t.DateType(), DAY)], "DECADE", "not DECADE"),
        ("TIMESTAMPADD", [Literal(t.DoubleType(), 1.0), Literal(t.DateType(), DAY)], "DAY", "unit, INTEGER, time"),
        (
            "TIMESTAMPDIFF",
            [Ref(t.LocalZonedTimestampType(3), 0), Literal(t.DateType(), DAY)],
            "DAY",
            "none is a DATE or TIME beside a TIMESTAMP_LTZ",
        ),
        ("OVERLAPS", [Literal(t.DateType(), DAY), Literal(STAMP, None)] * 2, "", "pairs of a DATE with another one"),
    ],
)
def test_what_does_not_fit_is_refused(function: str, args: list[Literal], unit: str, message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        call(function, args, {"unit": unit} if unit else {})


def test_the_documented_overlaps() -> None:
    Example("OVERLAPS", [dt.time(2, 55), HOUR, dt.time(3, 30), TWO_HOURS], True, DOCS).check()
