from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, FLINK, JAVA, PYTHON, SOURCE, Example, of

from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import SignatureError, Surroundings, call
from millrace.relational.rex import Literal

STAMP, LTZ = t.TimestampType(3), t.LocalZonedTimestampType(3)
BIG = t.BigIntType()


def _at(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)


def _utc(*parts: int) -> dt.datetime:
    return _at(*parts).replace(tzinfo=dt.timezone.utc)


def _unix(text: str, pattern: str, gives: int, source: str = DOCS, zone: str = "Europe/Berlin") -> Example:
    return Example("UNIX_TIMESTAMP", [text, pattern], of(BIG, gives), source, zone=zone)


def _ltz(args: list[Any], digits: int, micros: int, source: str = SOURCE) -> Example:
    """With a format or precision that is constant, which says how many digits there are."""
    gives = of(t.LocalZonedTimestampType(digits), _utc(1970, 1, 1) + dt.timedelta(microseconds=micros))
    return Example("TO_TIMESTAMP_LTZ", args, gives, source, constant=(1,))


EXAMPLES = [
    Example("TO_TIMESTAMP", ["2023-01-01 10:20:30"], of(STAMP, _at(2023, 1, 1, 10, 20, 30)), DOCS),
    Example("TO_TIMESTAMP", ["1999-9-10 05:20:10"], _at(1999, 9, 10, 5, 20, 10), SOURCE),
    Example("TO_TIMESTAMP", ["1999-9-1"], _at(1999, 9, 1), SOURCE),
    Example("TO_TIMESTAMP", ["2023-01-01 10:20:30.123456789"], _at(2023, 1, 1, 10, 20, 30, 123000), SOURCE),
    Example("TO_TIMESTAMP", ["2023-01-01 10:20:30.98"], _at(2023, 1, 1, 10, 20, 30, 980000), SOURCE),
    Example("TO_TIMESTAMP", ["2023-02-30"], _at(2023, 2, 28), JAVA),
    Example("TO_TIMESTAMP", ["2023-02-32"], None, JAVA),
    Example("TO_TIMESTAMP", ["2023-01-01T10:20:30"], None, SOURCE),
    Example("TO_TIMESTAMP", ["no time"], None, SOURCE),
    Example("TO_TIMESTAMP", ["01/02/2023 13", "MM/dd/yyyy HH"], _at(2023, 1, 2, 13), JAVA),
    Example("TO_TIMESTAMP", ["20240229 010203", "yyyyMMdd HHmmss"], _at(2024, 2, 29, 1, 2, 3), JAVA),
    Example(
        "TO_TIMESTAMP",
        ["2024-02-29T01:02:03.456Z", "yyyy-MM-dd'T'HH:mm:ss.SSSX"],
        _at(2024, 2, 29, 1, 2, 3, 456000),
        JAVA,
    ),
    Example("TO_TIMESTAMP", ["05 Mar 2024 03:04 PM", "dd MMM yyyy hh:mm a"], _at(2024, 3, 5, 15, 4), JAVA),
    Example("TO_TIMESTAMP", ["12:30", "HH:mm"], _at(1970, 1, 1, 12, 30), SOURCE),
    Example("TO_TIMESTAMP", ["2023-1-2 3:4:5", "yyyy-MM-dd"], _at(2023, 1, 2, 3, 4, 5), SOURCE),
    Example("TO_TIMESTAMP", ["2023-13-01", "yyyy-MM-dd"], None, JAVA),
    Example("TO_TIMESTAMP", ["2023", "foo"], None, JAVA, raises="letter 'f' of the pattern 'foo'"),
    Example("TO_TIMESTAMP_LTZ", [1100], of(LTZ, _utc(1970, 1, 1, 0, 0, 1, 100000)), SOURCE),
    Example("TO_TIMESTAMP_LTZ", [of(BIG, 4001), 3], of(LTZ, _utc(1970, 1, 1, 0, 0, 4, 1000)), DOCS, constant=(1,)),
    Example(
        "TO_TIMESTAMP_LTZ", [100, 0], of(t.LocalZonedTimestampType(3), _utc(1970, 1, 1, 0, 1, 40)), FLINK, constant=(1,)
    ),
    Example("TO_TIMESTAMP_LTZ", [-1.5, 0], _utc(1969, 12, 31, 23, 59, 58, 500000), SOURCE, constant=(1,)),
    Example("TO_TIMESTAMP_LTZ", [Decimal("1.99"), 0], _utc(1970, 1, 1, 0, 0, 1), SOURCE, constant=(1,)),
    Example("TO_TIMESTAMP_LTZ", [of(BIG, 253402300800000)], None, SOURCE),
    Example("TO_TIMESTAMP_LTZ", [of(BIG, 2**63 - 1), 0], None, SOURCE, constant=(1,)),
    Example("TO_TIMESTAMP_LTZ", [of(BIG, -1), 3], _utc(1969, 12, 31, 23, 59, 59, 999000), PYTHON, constant=(1,)),
    Example("TO_TIMESTAMP_LTZ", [of(t.FloatType(), 1.5), 0], _utc(1970, 1, 1, 0, 0, 1, 500000), FLINK, constant=(1,)),
    Example("TO_TIMESTAMP", ["0000-01-01 00:00:00"], None, PYTHON),
    Example("TO_TIMESTAMP", ["2023-01-01 24:00:00", "yyyy-MM-dd HH:mm:ss"], _at(2023, 1, 2), JAVA),
    Example("UNIX_TIMESTAMP", ["1969-12-31 23:59:58.900", "yyyy-MM-dd HH:mm:ss.SSS"], -1, JAVA),
    Example("TO_TIMESTAMP_LTZ", ["2023-01-01 00:00:00"], _utc(2023, 1, 1), DOCS, zone="Asia/Tokyo"),
    Example("TO_TIMESTAMP_LTZ", ["2023-01-01T00:00", "yyyy-MM-dd'T'HH:mm"], _utc(2023, 1, 1), DOCS, zone="Asia/Tokyo"),
    Example("TO_TIMESTAMP_LTZ", ["2023-01-01", "yyyy-MM-dd", "Asia/Tokyo"], _utc(2022, 12, 31, 15), DOCS),
    Example(
        "TO_TIMESTAMP_LTZ",
        ["2024-03-31 02:30:00", "yyyy-MM-dd HH:mm:ss", "Europe/Berlin"],
        _utc(2024, 3, 31, 1, 30),
        JAVA,
    ),
    Example(
        "TO_TIMESTAMP_LTZ",
        ["2024-10-27 02:30:00", "yyyy-MM-dd HH:mm:ss", "Europe/Berlin"],
        _utc(2024, 10, 27, 0, 30),
        JAVA,
    ),
    Example("TO_TIMESTAMP_LTZ", ["no time"], None, SOURCE),
    _ltz(["1970-01-01 00:00:00.12345", "yyyy-MM-dd HH:mm:ss.SSSSS"], 5, 123450, FLINK),
    _ltz(["1970-01-01 00:00:00.12", "yyyy-MM-dd HH:mm:ss.SS"], 3, 120000, FLINK),
    _ltz(["1970-01-01 00:00:00.123456", "yyyy-MM-dd HH:mm:ss.SSSSSS", "UTC"], 6, 123456, FLINK),
    _ltz(["1970-01-01 00:00:00.123456789", "yyyy-MM-dd HH:mm:ss.SSSSSSSSS"], 9, 123456),
    _ltz(["1970-01-01 00:00:00.12345 SSSSSS", "yyyy-MM-dd HH:mm:ss.SSSSS 'SSSSSS'"], 5, 123450),
    _ltz([123456, 6], 6, 123456),
    _ltz([12345, 5], 5, 123450),
    _ltz([12, 1], 3, 1_200_000),
    _ltz([of(BIG, -1), 9], 9, -1),
    _ltz([of(BIG, 1_999), 9], 9, 1),
    _ltz([of(t.FloatType(), 100.01), 0], 3, 100_010_000, FLINK),
    _ltz([1.75, 1], 3, 175_000),
    _ltz([1.75, 6], 6, 1),
    _ltz([Decimal("1.75"), 1], 3, 100_000),
    Example("TO_DATE", ["2023-01-02"], of(t.DateType(), dt.date(2023, 1, 2)), DOCS),
    Example("TO_DATE", ["2017-12-12 09:30:00.0"], dt.date(2017, 12, 12), SOURCE),
    Example("TO_DATE", ["2017-5"], dt.date(2017, 5, 1), SOURCE),
    Example("TO_DATE", ["2017-02-30"], None, SOURCE),
    Example("TO_DATE", ["x"], None, SOURCE),
    Example("TO_DATE", ["02.01.2023", "dd.MM.yyyy"], dt.date(2023, 1, 2), DOCS),
    Example("TO_DATE", ["2023-01-32", "yyyy-MM-dd"], dt.date(2023, 2, 1), JAVA),
    Example("TO_DATE", ["20230102", "yyyyMMdd"], dt.date(2023, 1, 2), JAVA),
    Example("TO_DATE", ["x", "yyyy"], None, PYTHON),
    Example("UNIX_TIMESTAMP", ["1970-01-01 01:00:05"], of(BIG, 5), DOCS, zone="Europe/Berlin"),
    Example("UNIX_TIMESTAMP", ["x"], -(2**63), DOCS),
    _unix("1970-01-01 08:00:01.001", "yyyy-MM-dd HH:mm:ss.SSS", 25201),
    _unix("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS X", 1),
    _unix("1970-01-01 08:00:01.001 +0800", "yyyy-MM-dd HH:mm:ss.SSS", 25201),
    _unix("1970-01-01 08:00:01.001", "yyyy-MM-dd HH:mm:ss.SSS X", -(2**63)),
    # a clock that is put back shows 2:30 twice: java.util.Calendar takes the second time
    _unix("2024-10-27 02:30", "yyyy-MM-dd HH:mm", int(_utc(2024, 10, 27, 1, 30).timestamp()), JAVA),
    Example("FROM_UNIXTIME", [of(BIG, 44)], of(t.string(), "1970-01-01 00:00:44"), DOCS),
    Example("FROM_UNIXTIME", [of(BIG, 44)], "1970-01-01 09:00:44", DOCS, zone="Asia/Tokyo"),
    Example("FROM_UNIXTIME", [44, "HH:mm:ss X"], "16:00:44 -08", JAVA, zone="America/Los_Angeles"),
    Example("FROM_UNIXTIME", [of(BIG, -1), "yy/M/d"], "69/12/31", JAVA),
    Example("CONVERT_TZ", ["1970-01-01 00:00:00", "UTC", "America/Los_Angeles"], "1969-12-31 16:00:00", DOCS),
    Example("CONVERT_TZ", ["1970-01-01 00:00:00", "PST", "GMT-08:00"], "1970-01-01 00:00:00", JAVA),
    Example("CONVERT_TZ", ["2024-07-01 12:00:00", "Europe/Berlin", "+05:30"], "2024-07-01 15:30:00", PYTHON),
    Example("CONVERT_TZ", ["2024-07-01 12:00:00", "Mars/Base", "UTC"], "2024-07-01 12:00:00", JAVA),
    Example("CONVERT_TZ", ["x", "UTC", "UTC"], None, SOURCE),
]


@corpus("example", EXAMPLES, 74)
def test_example(example: Example) -> None:
    example.check()


@given(
    st.datetimes(_at(1000, 1, 1), _at(9999, 12, 31)).map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    )
)
def test_what_python_writes_is_read(at: dt.datetime) -> None:
    plain = Example("TO_TIMESTAMP", [""])
    text = at.isoformat(" ", "milliseconds")
    assert plain.run(plain.call([0]), [[text]]) == [at]
    assert plain.run(plain.call([0]), [[text], ["x"], [None]]) == [at, None, None]  # not by Arrow's own cast
    formatted = Example("TO_TIMESTAMP", ["", "dd/MM/yyyy HH.mm.ss,SSS"])
    assert formatted.run(
        formatted.call([0]), [[at.strftime("%d/%m/%Y %H.%M.%S,") + f"{at.microsecond // 1000:03}", ""]]
    ) == [at]


@given(
    st.datetimes(_at(1975, 1, 1), _at(2035, 1, 1)).map(lambda at: at.replace(microsecond=0)),
    st.sampled_from(["UTC", "Asia/Tokyo", "America/New_York", "Europe/Berlin", "Asia/Kolkata"]),
)
def test_seconds_are_written_and_read_in_the_zone_of_the_session(at: dt.datetime, zone: str) -> None:
    instant = at.replace(tzinfo=dt.timezone.utc)
    seconds = int(instant.timestamp())
    write = Example("FROM_UNIXTIME", [of(BIG, seconds)], zone=zone)
    [text] = write.run(write.call([0]), [[seconds]])
    shown = instant.astimezone(ZoneInfo(zone))
    assert text == shown.strftime("%Y-%m-%d %H:%M:%S")
    read = Example("UNIX_TIMESTAMP", [text], zone=zone)
    [found] = read.run(read.call([0]), [[text]])
    second = int(shown.replace(fold=1).timestamp())
    assert found == max(seconds, second)


def test_unix_timestamp_without_arguments_is_now() -> None:
    before = int(time.time())
    found = Evaluator([], Surroundings(2)).column(call("UNIX_TIMESTAMP", [])).to_pylist()
    assert len(found) == 2 and before <= found[0] <= time.time() + 1


def test_other_precisions_are_refused() -> None:
    with pytest.raises(SignatureError, match=r"a precision of 0 \(seconds\) to 9 \(nanoseconds\), not 10"):
        call("TO_TIMESTAMP_LTZ", [Literal(BIG, 1), Literal(t.IntType(), 10)])


def test_a_zone_that_is_written_must_be_one() -> None:
    with pytest.raises(SignatureError, match="no time zone 'Mars/Base'"):
        call("TO_TIMESTAMP_LTZ", [Literal(t.string(), each) for each in ("2023-01-01", "yyyy-MM-dd", "Mars/Base")])


@pytest.mark.parametrize(
    "args",
    [
        [t.NullType()],
        [t.NullType(), t.IntType()],
        [t.NullType(), t.string()],
        [t.string(), t.NullType()],
        [t.BigIntType(), t.NullType()],
        [t.NullType(), t.NullType(), t.string()],
    ],
    ids=str,
)
def test_a_bare_null_gives_null(args: list[t.DataType]) -> None:
    values = {t.NullType: None, t.IntType: 3, t.BigIntType: 3}
    made = call("TO_TIMESTAMP_LTZ", [Literal(each, values.get(type(each), "UTC")) for each in args])
    assert made.type.is_same(LTZ.nullable())
    assert Evaluator([], Surroundings(1)).column(made).to_pylist() == [None]


def test_unknown_zones_among_the_data_give_null() -> None:
    example = Example("TO_TIMESTAMP_LTZ", ["2023-01-01", "yyyy-MM-dd", "UTC"])
    rows = [["2023-01-01", "yyyy-MM-dd", zone] for zone in ("Asia/Tokyo", "Mars/Base", "")]
    assert example.run(example.call([2]), rows) == [_utc(2022, 12, 31, 15), None, None]
