from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, SOURCE, Example, of

from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.functions.time_values import rounded
from millrace.relational.rex import Literal
from millrace.relational.time_zones import micros_of

TIME = of(t.TimeType(0), dt.time(11, 22, 33))
DATE = dt.date(1990, 10, 14)
STAMP = dt.datetime(2020, 2, 29, 1, 56, 59, 987654)


def _round(function: str, value: object, unit: str, gives: object, source: str = SOURCE, zone: str = "UTC") -> Example:
    return Example(function, [value], gives, source, {"unit": unit}, zone=zone)


def _at(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)


def _utc(*parts: int) -> dt.datetime:
    return _at(*parts).replace(tzinfo=dt.timezone.utc)


# unit -> floor and ceil of STAMP, floor and ceil of DATE, as Flink's own tests expect
TABLE: dict[str, tuple[dt.datetime, dt.datetime, dt.date, dt.date]] = {
    "MILLISECOND": (_at(2020, 2, 29, 1, 56, 59, 987000), _at(2020, 2, 29, 1, 56, 59, 988000), DATE, DATE),
    "SECOND": (_at(2020, 2, 29, 1, 56, 59), _at(2020, 2, 29, 1, 57), DATE, DATE),
    "MINUTE": (_at(2020, 2, 29, 1, 56), _at(2020, 2, 29, 1, 57), DATE, DATE),
    "HOUR": (_at(2020, 2, 29, 1), _at(2020, 2, 29, 2), DATE, DATE),
    "DAY": (_at(2020, 2, 29), _at(2020, 3, 1), DATE, dt.date(1990, 10, 15)),
    "WEEK": (_at(2020, 2, 23), _at(2020, 3, 1), DATE, DATE),
    "MONTH": (_at(2020, 2, 1), _at(2020, 3, 1), dt.date(1990, 10, 1), dt.date(1990, 11, 1)),
    "QUARTER": (_at(2020, 1, 1), _at(2020, 4, 1), dt.date(1990, 10, 1), dt.date(1991, 1, 1)),
    "YEAR": (_at(2020, 1, 1), _at(2021, 1, 1), dt.date(1990, 1, 1), dt.date(1991, 1, 1)),
    "DECADE": (_at(2020, 1, 1), _at(2030, 1, 1), dt.date(1990, 1, 1), dt.date(2000, 1, 1)),
    "CENTURY": (_at(2001, 1, 1), _at(2101, 1, 1), dt.date(1901, 1, 1), dt.date(2001, 1, 1)),
    "MILLENNIUM": (_at(2001, 1, 1), _at(3001, 1, 1), dt.date(1001, 1, 1), dt.date(2001, 1, 1)),
}

EXAMPLES = [
    *(
        _round(function, value, unit, row[place])
        for unit, row in TABLE.items()
        for place, (function, value) in enumerate([("FLOOR", STAMP), ("CEIL", STAMP), ("FLOOR", DATE), ("CEIL", DATE)])
    ),
    _round("FLOOR", TIME, "MINUTE", dt.time(11, 22)),
    _round("CEIL", TIME, "MINUTE", dt.time(11, 23)),
    _round("CEIL", TIME, "HOUR", dt.time(12)),
    _round("CEIL", TIME, "SECOND", dt.time(11, 22, 33)),
    _round("FLOOR", of(t.TimeType(0), dt.time(12, 44, 31)), "MINUTE", dt.time(12, 44), DOCS),
    _round("CEIL", of(t.TimeType(0), dt.time(12, 44, 31)), "MINUTE", dt.time(12, 45), DOCS),
    _round("CEIL", of(t.TimeType(0), dt.time(23, 44, 31)), "HOUR", dt.time(0), PYTHON),
    _round("FLOOR", _at(1969, 12, 31, 23, 59), "DAY", _at(1969, 12, 31), PYTHON),
    _round("FLOOR", _utc(2024, 5, 1, 3), "DAY", _utc(2024, 4, 30, 16), PYTHON, "Asia/Shanghai"),
    _round("CEIL", _utc(2024, 5, 1, 3), "MONTH", _utc(2024, 5, 31, 16), PYTHON, "Asia/Shanghai"),
    # the day of Berlin on which the clocks are put forward has 23 hours
    _round("FLOOR", _utc(2024, 3, 31, 10), "DAY", _utc(2024, 3, 30, 23), PYTHON, "Europe/Berlin"),
    _round("CEIL", _utc(2024, 3, 31, 10), "DAY", _utc(2024, 3, 31, 22), PYTHON, "Europe/Berlin"),
    # the second 2:30 of the day on which they are put back stays in the second hour
    _round("FLOOR", _utc(2024, 10, 27, 1, 30), "HOUR", _utc(2024, 10, 27, 1), PYTHON, "Europe/Berlin"),
]


@corpus("example", EXAMPLES, 61)
def test_example(example: Example) -> None:
    example.check()


@given(st.datetimes(dt.datetime(1001, 1, 1), dt.datetime(2999, 12, 31)), st.sampled_from(list(TABLE)))
def test_rounding_gives_the_nearest_beginnings_of_the_unit(at: dt.datetime, unit: str) -> None:
    micros = np.asarray([micros_of(at)])
    low, high = (
        dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=int(rounded(micros, unit, up)[0])) for up in (0, 1)
    )
    assert low <= at <= high
    assert _begins(low, unit) and _begins(high, unit)
    if low != high:  # nothing begins between
        assert at not in (low, high)
        middle = low + (high - low) / 2
        assert int(rounded(np.asarray([micros_of(middle)]), unit, False)[0]) == micros_of(low)
    else:
        assert low == at


def _begins(at: dt.datetime, unit: str) -> bool:
    midnight = at.time() == dt.time(0)
    year_begins = midnight and (at.month, at.day) == (1, 1)
    return {
        "MILLISECOND": at.microsecond % 1000 == 0,
        "SECOND": at.microsecond == 0,
        "MINUTE": at.second == at.microsecond == 0,
        "HOUR": at.minute == at.second == at.microsecond == 0,
        "DAY": midnight,
        "WEEK": midnight and at.isoweekday() == 7,
        "MONTH": midnight and at.day == 1,
        "QUARTER": midnight and at.day == 1 and at.month in (1, 4, 7, 10),
        "YEAR": year_begins,
        "DECADE": year_begins and at.year % 10 == 0,
        "CENTURY": year_begins and at.year % 100 == 1,
        "MILLENNIUM": year_begins and at.year % 1000 == 1,
    }[unit]


def test_a_time_of_day_has_no_days() -> None:
    with pytest.raises(SignatureError, match=r"a unit of time, one of MICROSECOND, .*, HOUR, not DAY"):
        call("FLOOR", [Literal(t.TimeType(0, False), dt.time(1))], {"unit": "DAY"})
