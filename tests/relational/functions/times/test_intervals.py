from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import PYTHON, SOURCE, STANDARD, Example, of

from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

_R = t.DayTimeIntervalType.DayTimeResolution
MONTHS = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.MONTH)
DAYS = t.DayTimeIntervalType(_R.DAY)
HOURS = t.DayTimeIntervalType(_R.HOUR)
SECONDS = t.DayTimeIntervalType(_R.SECOND, 2, 3)
STAMP3, LTZ3 = t.TimestampType(3), t.LocalZonedTimestampType(3)
LEAP = dt.date(2016, 2, 29)
NOON = dt.datetime(2016, 3, 31, 12)

EXAMPLES = [
    Example(
        "-", [dt.date(2019, 1, 1), of(DAYS, dt.timedelta(days=1))], of(t.DateType(), dt.date(2018, 12, 31)), SOURCE
    ),
    Example("-", [dt.date(2016, 2, 24), of(MONTHS, 3)], of(t.DateType(), dt.date(2015, 11, 24)), SOURCE),
    Example("-", [dt.date(2016, 2, 24), of(MONTHS, 24)], dt.date(2014, 2, 24), SOURCE),
    Example("+", [LEAP, of(MONTHS, 12)], dt.date(2017, 2, 28), STANDARD),
    Example("+", [of(MONTHS, 1), dt.date(2023, 1, 31)], dt.date(2023, 2, 28), STANDARD),
    Example("+", [LEAP, of(DAYS, dt.timedelta(days=1, hours=23))], dt.date(2016, 3, 1), SOURCE),
    Example("+", [LEAP, of(HOURS, dt.timedelta(hours=25))], of(t.DateType(), dt.date(2016, 3, 1)), SOURCE),
    Example("+", [LEAP, of(SECONDS, dt.timedelta(milliseconds=1500))], LEAP, SOURCE),
    Example("-", [LEAP, of(HOURS, dt.timedelta(hours=23))], LEAP, SOURCE),
    Example("+", [of(STAMP3, NOON), of(MONTHS, -1)], of(STAMP3, dt.datetime(2016, 2, 29, 12)), PYTHON),
    Example("+", [of(STAMP3, NOON), of(HOURS, dt.timedelta(hours=13))], of(STAMP3, dt.datetime(2016, 4, 1, 1)), PYTHON),
    Example(
        "-", [of(STAMP3, NOON), of(SECONDS, dt.timedelta(seconds=5))], dt.datetime(2016, 3, 31, 11, 59, 55), PYTHON
    ),
    Example(
        "+",
        [of(LTZ3, NOON.replace(tzinfo=dt.timezone.utc)), of(DAYS, dt.timedelta(days=1))],
        of(LTZ3, dt.datetime(2016, 4, 1, 12, tzinfo=dt.timezone.utc)),
        PYTHON,
        zone="Europe/Berlin",
    ),
    Example("+", [of(t.TimeType(0), dt.time(23)), of(HOURS, dt.timedelta(hours=2))], dt.time(1), SOURCE),
    Example("-", [of(t.TimeType(0), dt.time(1)), of(HOURS, dt.timedelta(hours=2))], dt.time(23), SOURCE),
    Example("+", [NOON, dt.timedelta(hours=13, microseconds=1)], dt.datetime(2016, 4, 1, 1, 0, 0, 1), PYTHON),
    Example("-", [NOON, dt.timedelta(days=31)], dt.datetime(2016, 2, 29, 12), PYTHON),
    Example("-", [NOON, dt.datetime(2016, 2, 29, 12, 0, 0, 1)], dt.timedelta(days=31, microseconds=-1), PYTHON),
    Example("-", [dt.date(2020, 3, 1), dt.date(2020, 2, 28)], dt.timedelta(days=2), PYTHON),
    Example("-", [NOON, dt.date(2016, 3, 31)], dt.timedelta(hours=12), PYTHON),
    Example("-", [dt.time(1), dt.time(2, 30)], dt.timedelta(minutes=-90), PYTHON),
    Example("+", [of(HOURS, dt.timedelta(hours=1)), of(DAYS, dt.timedelta(days=1))], dt.timedelta(hours=25), PYTHON),
    Example("+", [of(MONTHS, 1), of(MONTHS, 12)], 13, PYTHON),
    Example("-", [of(MONTHS, 1), of(MONTHS, 12)], -11, PYTHON),
    Example("-", [of(MONTHS, 7)], of(MONTHS, -7), PYTHON),
    Example("-", [of(HOURS, dt.timedelta(hours=2))], of(HOURS, dt.timedelta(hours=-2)), PYTHON),
    Example("*", [of(HOURS, dt.timedelta(hours=2)), 3], of(HOURS, dt.timedelta(hours=6)), PYTHON),
    Example("*", [2.5, of(MONTHS, 3)], of(MONTHS, 7), PYTHON),
    Example("*", [3, of(MONTHS, 3)], of(MONTHS, 9), PYTHON),
]


@corpus("example", EXAMPLES, 29)
def test_example(example: Example) -> None:
    example.check()


def _months_later(day: dt.date, months: int) -> dt.date:
    """By counting, month by month."""
    year, month = day.year, day.month
    for _ in range(abs(months)):
        month += 1 if months > 0 else -1
        if month in (0, 13):
            year, month = (year + 1, 1) if month == 13 else (year - 1, 12)
    last = day.day
    while True:
        try:
            return dt.date(year, month, last)
        except ValueError:
            last -= 1


@given(st.dates(dt.date(1500, 1, 1), dt.date(3000, 1, 1)), st.integers(-200, 200))
def test_months_are_added_to_dates(day: dt.date, months: int) -> None:
    example = Example("+", [day, of(MONTHS, months)])
    assert example.run(example.call([0, 1]), [[day, months]]) == [_months_later(day, months)]


@given(
    st.datetimes(dt.datetime(1500, 1, 1), dt.datetime(3000, 1, 1)),
    st.timedeltas(*[dt.timedelta(k) for k in (-9999, 9999)]),
)
def test_spans_are_added_to_timestamps(at: dt.datetime, span: dt.timedelta) -> None:
    example = Example("+", [at, span])
    assert example.run(example.call([0, 1]), [[at, span]]) == [at + span]
    example = Example("-", [at, span])
    assert example.run(example.call([0, 1]), [[at, span]]) == [at - span]


def test_a_date_stays_a_date() -> None:
    """Also where less than a day is added to it."""
    day = Literal(t.DateType(False), LEAP)
    for span in (dt.timedelta(days=2), dt.timedelta(hours=2)):
        assert call("+", [day, Literal(SECONDS.not_null(), span)]).type == t.DateType(False)
        assert call("-", [day, Literal(SECONDS.not_null(), span)]).type == t.DateType(False)


@pytest.mark.parametrize("sign", ["+", "-", "*"])
def test_intervals_of_two_kinds_do_not_mix(sign: str) -> None:
    with pytest.raises(SignatureError, match="INTERVAL"):
        call(sign, [Literal(MONTHS, 1), Literal(DAYS, dt.timedelta(1))])
