from __future__ import annotations

import datetime as dt
import time

import pytest

from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings, call, find_scalar
from millrace.relational.rex import Literal, Ref
from millrace.relational.values import to_arrow, to_python

NOW = dt.datetime(2024, 3, 5, 23, 4, 9, 123456, dt.timezone.utc)
MILLIS = NOW.replace(microsecond=123000)


def _around(zone: str = "UTC", watermark: int | None = None) -> Surroundings:
    return Surroundings(2, zone, int(NOW.timestamp()) * 1_000_000 + NOW.microsecond, watermark=watermark)


# expectations: plain Python's idea of the same instant in the zone
@pytest.mark.parametrize(
    ("function", "zone", "gives", "data_type"),
    [
        ("CURRENT_DATE", "UTC", dt.date(2024, 3, 5), t.DateType(False)),
        ("CURRENT_DATE", "Asia/Tokyo", dt.date(2024, 3, 6), t.DateType(False)),
        ("CURRENT_TIME", "UTC", dt.time(23, 4, 9), t.TimeType(0, False)),
        ("LOCALTIME", "Asia/Tokyo", dt.time(8, 4, 9), t.TimeType(0, False)),
        ("LOCALTIMESTAMP", "UTC", MILLIS.replace(tzinfo=None), t.TimestampType(3, False)),
        ("LOCALTIMESTAMP", "GMT-08:00", dt.datetime(2024, 3, 5, 15, 4, 9, 123000), t.TimestampType(3, False)),
        *(
            (name, zone, MILLIS, t.LocalZonedTimestampType(3, False))
            for name in ("CURRENT_TIMESTAMP", "NOW", "PROCTIME")
            for zone in ("UTC", "Asia/Tokyo")
        ),
    ],
)
def test_the_time_of_the_query(function: str, zone: str, gives: object, data_type: t.DataType) -> None:
    expression = call(function, [])
    assert expression.type == data_type
    described = find_scalar(function)
    assert described is not None and described.dynamic
    assert to_python(Evaluator([], _around(zone)).column(expression), data_type) == [gives, gives]


def test_the_time_of_a_row_is_not_that_of_the_query() -> None:
    described = find_scalar("CURRENT_ROW_TIMESTAMP")
    assert described is not None and not described.dynamic and not described.deterministic
    expression = call("CURRENT_ROW_TIMESTAMP", [])
    [found, _] = Evaluator([], _around()).column(expression).to_pylist()
    assert expression.type == t.LocalZonedTimestampType(3, False)
    assert abs(found.timestamp() - time.time()) < 60


@pytest.mark.parametrize(
    ("data_type", "watermark", "gives"),
    [
        (t.LocalZonedTimestampType(9), 1500, dt.datetime(1970, 1, 1, 0, 0, 1, 500000, dt.timezone.utc)),
        (t.TimestampType(6), 1500, dt.datetime(1970, 1, 1, 0, 0, 1, 500000)),
        (t.TimestampType(6), None, None),
    ],
)
def test_the_watermark_has_the_type_of_the_time_attribute(
    data_type: t.DataType, watermark: int | None, gives: object
) -> None:
    expression = call("CURRENT_WATERMARK", [Ref(data_type, 0)])
    assert expression.type == type(data_type)(3)
    columns = [to_arrow([None, None], data_type)]
    found = Evaluator(columns, _around("Asia/Tokyo", watermark)).column(expression)
    assert to_python(found, expression.type) == [gives, gives]


def test_a_source_watermark_is_not_computed() -> None:
    with pytest.raises(ValueError, match="can only stand in WATERMARK FOR"):
        Evaluator([], _around()).column(call("SOURCE_WATERMARK", []))


def test_days_since_now() -> None:
    days = call(
        "TIMESTAMPDIFF", [Literal(t.DateType(False), dt.date(2024, 3, 1)), call("CURRENT_DATE", [])], {"unit": "DAY"}
    )
    assert Evaluator([], _around()).column(days).to_pylist() == [4, 4]
