"""CAST, TRY_CAST and TYPEOF."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, SOURCE, Example, null, of

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.functions.cast_values import explicit_cast
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import SignatureError, Surroundings, call
from millrace.relational.functions.text_values import CastError
from millrace.relational.rex import Call, Ref
from millrace.relational.values import to_arrow

TINY, SMALL, INT, BIG = t.TinyIntType(), t.SmallIntType(), t.IntType(), t.BigIntType()
FLOAT, DOUBLE, BOOL, STRING = t.FloatType(), t.DoubleType(), t.BooleanType(), t.string()
DATE, BYTES = t.DateType(), t.VarBinaryType(t.MAX_LENGTH)
UTC = dt.timezone.utc
MONTHS = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH)
SPAN = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)
MOMENT = dt.datetime(2021, 9, 24, 12, 34, 56, 123456)
BEFORE_1970 = dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
BERLIN = "Europe/Berlin"
PAIR = t.RowType([t.RowField("a", INT), t.RowField("b", STRING)])


def cast(value: Any, target: t.DataType, gives: Any, source: str = SOURCE, **more: Any) -> Example:
    return Example("CAST", [value], gives, source, cast=target, **more)


def fails(value: Any, target: t.DataType, message: str) -> list[Example]:
    """CAST fails, TRY_CAST gives NULL."""
    return [
        Example("CAST", [value], None, DOCS, cast=target, raises=message),
        Example("TRY_CAST", [value], None, DOCS, cast=target),
    ]


def time(precision: int) -> t.TimeType:
    return t.TimeType(precision)


def stamp(precision: int) -> t.TimestampType:
    return t.TimestampType(precision)


def instant(precision: int) -> t.LocalZonedTimestampType:
    return t.LocalZonedTimestampType(precision)


TO_TEXT = [
    cast(5, STRING, "5"),
    cast(of(BIG, -(2**63)), STRING, str(-(2**63))),
    cast(True, STRING, "TRUE"),
    cast(False, STRING, "FALSE"),
    cast(1.0, STRING, "1.0", JAVA),
    cast(1e10, STRING, "1.0E10", JAVA),
    cast(-0.0, STRING, "-0.0", JAVA),
    cast(0.001, STRING, "0.001", JAVA),
    cast(1.5e-5, STRING, "1.5E-5", JAVA),
    cast(1234567.125, STRING, "1234567.125", JAVA),
    cast(math.nan, STRING, "NaN", JAVA),
    cast(-math.inf, STRING, "-Infinity", JAVA),
    cast(5e-324, STRING, "4.9E-324", JAVA),
    cast(of(FLOAT, 0.1), STRING, "0.1", JAVA),
    cast(of(FLOAT, 3.4028234663852886e38), STRING, "3.4028235E38", JAVA),
    cast(Decimal("1.50"), STRING, "1.50"),
    cast(of(t.DecimalType(20, 10), Decimal("0.0000000001")), STRING, "0.0000000001"),
    cast(dt.date(2021, 9, 24), STRING, "2021-09-24"),
    cast(of(time(0), dt.time(12, 34, 56)), STRING, "12:34:56"),
    cast(of(time(3), dt.time(12, 34, 56, 120000)), STRING, "12:34:56.12"),
    cast(of(stamp(0), MOMENT.replace(microsecond=0)), STRING, "2021-09-24 12:34:56"),
    cast(of(stamp(3), MOMENT.replace(microsecond=100000)), STRING, "2021-09-24 12:34:56.100"),
    cast(of(stamp(6), MOMENT), STRING, "2021-09-24 12:34:56.123456"),
    cast(of(stamp(9), MOMENT), STRING, "2021-09-24 12:34:56.123456000"),
    cast(of(instant(3), MOMENT.replace(microsecond=0, tzinfo=UTC)), STRING, "2021-09-24 12:34:56.000"),
    cast(
        of(instant(0), MOMENT.replace(microsecond=0, tzinfo=UTC)), STRING, "2021-09-24 20:34:56", zone="Asia/Shanghai"
    ),
    cast(of(MONTHS, 84), STRING, "+7-00"),
    cast(of(MONTHS, -5), STRING, "-0-05"),
    cast(dt.timedelta(days=10, hours=4, milliseconds=7), STRING, "+10 04:00:00.007"),
    cast(dt.timedelta(seconds=-1), STRING, "-0 00:00:01.000"),
    cast("héllo", t.VarCharType(2), "hé"),
    cast("ab", t.CharType(4), "ab  "),
    cast("abcdef", t.CharType(4), "abcd"),
    cast(1234, t.VarCharType(2), "12"),
    cast(b"\x66\x6f\x6f", STRING, "foo"),
    cast([1, None, 3], STRING, "[1, NULL, 3]"),
    cast({"a": 1, "b": None}, STRING, "{a=1, b=NULL}"),
    cast(of(t.MultisetType(STRING), {"a": 2}), STRING, "{a=2}"),
    cast(of(PAIR, Row(1, None)), STRING, "(1, NULL)"),
    cast(of(t.ArrayType(PAIR), [Row(1, "x")]), STRING, "[(1, x)]"),
]
FROM_TEXT = [
    cast(" -12 ", INT, -12),
    cast("12.9", INT, 12),
    cast("+7", TINY, 7),
    *fails("300", TINY, "CAST failed: cannot read '300' as TINYINT. TRY_CAST gives NULL instead"),
    *fails("abc", INT, "cannot read 'abc' as INT"),
    *fails("", BIG, "cannot read '' as BIGINT"),
    *fails("0x1A", INT, "cannot read '0x1A' as INT"),
    *fails("1_0", INT, "cannot read '1_0' as INT"),
    cast("9223372036854775807", BIG, 2**63 - 1),
    cast(" 1e3 ", DOUBLE, 1000.0, JAVA),
    cast("1.5", DOUBLE, 1.5),
    cast("NaN", DOUBLE, math.nan, JAVA),
    cast("-Infinity", DOUBLE, -math.inf, JAVA),
    cast("0.1", FLOAT, 0.10000000149011612, JAVA),
    *fails("nan", DOUBLE, "cannot read 'nan' as DOUBLE"),
    *fails("1_0.5", DOUBLE, "cannot read"),
    cast("1.235", t.DecimalType(5, 2), Decimal("1.24")),
    cast("1e2", t.DecimalType(5, 2), Decimal("100.00")),
    cast(12345, t.DecimalType(5, 2), None),
    *fails("x", t.DecimalType(5, 2), "cannot read 'x' as DECIMAL(5, 2)"),
    cast("True", BOOL, True),
    cast("n", BOOL, False),
    cast("1", BOOL, True),
    *fails("maybe", BOOL, "cannot read 'maybe' as BOOLEAN"),
    cast("2021-9-4", DATE, dt.date(2021, 9, 4)),
    cast("2021-09-24 12:34:56", DATE, dt.date(2021, 9, 24)),
    *fails("2021-02-30", DATE, "cannot read '2021-02-30' as DATE"),
    cast("12:34:56.789", time(0), dt.time(12, 34, 56)),
    cast("12:34", time(0), dt.time(12, 34)),
    cast("2021-09-24 12:34:56.123456", stamp(3), MOMENT.replace(microsecond=123000)),
    cast("2021-09-24", stamp(6), dt.datetime(2021, 9, 24)),
    *fails("2021-09-24T12:34:56", stamp(6), "cannot read '2021-09-24T12:34:56' as TIMESTAMP(6)"),
    cast("2021-09-24 12:34:56", instant(3), dt.datetime(2021, 9, 24, 4, 34, 56, tzinfo=UTC), zone="Asia/Shanghai"),
    cast("foo", BYTES, b"foo"),
    cast("foo", t.BinaryType(5), b"foo\0\0"),
    cast("foo", t.VarBinaryType(2), b"fo"),
    cast("1-02", MONTHS, 14),
    cast("1 02:00:00.5", SPAN, dt.timedelta(days=1, hours=2, milliseconds=500)),
]
NUMBERS = [
    cast(1.5, BOOL, True),
    cast(of(FLOAT, 0.0), BOOL, False),
    cast(math.nan, BOOL, True, JAVA),
    cast(Decimal("0.0"), BOOL, False),
    cast("0x1.8p3", DOUBLE, 12.0, JAVA),
    cast(300, TINY, 44, JAVA),
    cast(of(BIG, 2**31), INT, -(2**31), JAVA),
    cast(-1, BIG, -1),
    cast(1.9, INT, 1, JAVA),
    cast(-1.9, INT, -1, JAVA),
    cast(1e20, INT, 2**31 - 1, JAVA),
    cast(-1e20, BIG, -(2**63), JAVA),
    cast(9.2e18, BIG, 9200000000000000000, JAVA),
    cast(math.nan, INT, 0, JAVA),
    cast(1e20, TINY, -1, JAVA),
    cast(1e300, FLOAT, math.inf, JAVA),
    cast(16777217, FLOAT, 16777216.0, JAVA),
    cast(Decimal("1.99"), INT, 1),
    cast(of(t.DecimalType(20, 0), Decimal(2**32 + 5)), INT, 5, JAVA),
    cast(Decimal("1.99"), DOUBLE, 1.99),
    cast(Decimal("1.25"), t.DecimalType(3, 1), Decimal("1.3")),
    cast(Decimal("-1.25"), t.DecimalType(3, 1), Decimal("-1.3")),
    cast(Decimal("99.99"), t.DecimalType(3, 1), None),
    cast(1000, t.DecimalType(3, 0), None),
    cast(1000, t.DecimalType(12, 1), Decimal("1000.0")),
    cast(1.005, t.DecimalType(5, 2), Decimal("1.01")),
    *fails(math.nan, t.DecimalType(5, 2), "cannot make a DECIMAL of NaN or Infinity"),
    cast(True, INT, 1),
    cast(True, t.DecimalType(3, 1), Decimal("1.0")),
    cast(False, DOUBLE, 0.0),
    cast(2, BOOL, True),
    cast(0, BOOL, False),
    cast(of(MONTHS, 14), INT, 14),
    cast(of(MONTHS, -128), TINY, -128),
    *fails(of(MONTHS, 128), TINY, "128 months are no TINYINT"),
    *fails(of(SPAN, dt.timedelta(hours=12)), TINY, "43200000 milliseconds are no TINYINT"),
    cast(of(SPAN, dt.timedelta(hours=12)), BIG, 43_200_000),
    cast(dt.timedelta(seconds=1), BIG, 1000),
    cast(of(BIG, 1500), SPAN, dt.timedelta(milliseconds=1500)),
]
TIMES = [
    cast(dt.date(2021, 9, 24), stamp(3), dt.datetime(2021, 9, 24)),
    cast(dt.date(2021, 9, 24), instant(3), dt.datetime(2021, 9, 23, 16, tzinfo=UTC), zone="Asia/Shanghai"),
    cast(MOMENT, DATE, dt.date(2021, 9, 24)),
    cast(MOMENT, time(3), dt.time(12, 34, 56, 123000)),
    cast(MOMENT, stamp(3), MOMENT.replace(microsecond=123000)),
    cast(MOMENT, stamp(9), MOMENT),
    cast(MOMENT, stamp(0), MOMENT.replace(microsecond=0)),
    cast(BEFORE_1970, stamp(3), BEFORE_1970.replace(microsecond=999000)),
    cast(BEFORE_1970.replace(tzinfo=UTC), instant(3), BEFORE_1970.replace(microsecond=999000, tzinfo=UTC)),
    # Berlin: 02:30 is skipped in March and comes twice in October. Java takes the time after the gap, and the first.
    cast(dt.datetime(2021, 3, 28, 2, 30), instant(3), dt.datetime(2021, 3, 28, 1, 30, tzinfo=UTC), JAVA, zone=BERLIN),
    cast(dt.datetime(2021, 10, 31, 2, 30), instant(3), dt.datetime(2021, 10, 31, 0, 30, tzinfo=UTC), JAVA, zone=BERLIN),
    cast(BEFORE_1970, DATE, dt.date(1969, 12, 31)),
    cast(MOMENT, instant(6), MOMENT.replace(tzinfo=UTC)),
    cast(MOMENT, instant(6), MOMENT.replace(hour=4, tzinfo=UTC), zone="Asia/Shanghai"),
    cast(MOMENT.replace(tzinfo=UTC), stamp(6), MOMENT.replace(hour=20), zone="Asia/Shanghai"),
    cast(MOMENT.replace(hour=20, tzinfo=UTC), DATE, dt.date(2021, 9, 25), zone="Asia/Shanghai"),
    cast(of(time(3), dt.time(1, 2, 3)), stamp(3), dt.datetime(1970, 1, 1, 1, 2, 3)),
]
NESTED = [
    cast([1, None], t.ArrayType(STRING), ["1", None]),
    cast({"1": 2}, t.MapType(INT, DOUBLE), {1: 2.0}),
    cast(of(PAIR, Row(1, "2")), t.RowType([t.RowField("x", STRING), t.RowField("y", BIG)]), Row(x="1", y=2)),
    *fails(["a"], t.ArrayType(INT), "cannot read 'a' as INT"),
]
# Values of the tests of Flink's cast rules.
FLINK = "Flink's tests of its cast rules"
OF_FLINK = [
    cast(of(t.DecimalType(20, 3), Decimal("3276913443134.87")), INT, -146603714, FLINK),
    cast(of(t.DecimalType(20, 3), Decimal("3276913443134.87")), DOUBLE, 3.27691344313487e12, FLINK),
    cast(of(t.DecimalType(30, 20), Decimal("123456789.123456789123456789")), DOUBLE, 1.2345678912345679e8, FLINK),
    cast(of(FLOAT, 9234567891.12), INT, 2147483647, FLINK),
    cast(of(FLOAT, 9234567891.12), BIG, 9234568192, FLINK),
    cast(of(FLOAT, 123.456), DOUBLE, 123.45600128173828, FLINK),
    cast("-3276913443134", BIG, -3276913443134, FLINK),
    cast("1.234", BIG, 1, FLINK),
    cast("123", DATE, dt.date(123, 1, 1), FLINK),
    *fails("2021/09/27", DATE, "cannot read '2021/09/27' as DATE"),
    *fails("123", stamp(6), "cannot read '123' as TIMESTAMP(6)"),
    *fails("2021-09-27", time(0), "cannot read '2021-09-27' as TIME(0)"),
    cast("23", time(0), dt.time(23), FLINK),
    cast(of(FLOAT, -123.456), STRING, "-123.456", FLINK),
    cast(of(MONTHS, 12334), STRING, "+1027-10", FLINK),
    cast(dt.timedelta(milliseconds=123456789), STRING, "+1 10:17:36.789", FLINK),
    cast(of(t.ArrayType(MONTHS), [-123, 123]), STRING, "[-10-03, +10-03]", FLINK),
    cast(of(t.ArrayType(INT), []), STRING, "[]", FLINK),
    cast(of(t.MapType(STRING, MONTHS), {"a": -123, "b": None}), STRING, "{a=-10-03, b=NULL}", FLINK),
    cast(of(time(5), dt.time(12, 34, 56, 123000)), STRING, "12:34:56.123", FLINK),
    cast(False, t.CharType(6), "FALSE ", FLINK),
    cast(of(BIG, 1234567891234), t.VarCharType(3), "123", FLINK),
    cast([-1, 2, 3], t.CharType(12), "[-1, 2, 3]  ", FLINK),
    cast(Decimal("9.870"), STRING, "9.870", FLINK),
]
TYPES = [
    Example("TYPEOF", ["abc"], "STRING NOT NULL", DOCS, strict=False, constant=(0,)),
    Example("TYPEOF", [null(t.DecimalType(5, 2))], "DECIMAL(5, 2)", DOCS, strict=False),
    Example("TYPEOF", [null(PAIR), True], "ROW<`a` INT, `b` STRING>", DOCS, strict=False),
]
EXAMPLES = [*TO_TEXT, *FROM_TEXT, *NUMBERS, *TIMES, *NESTED, *OF_FLINK, *TYPES]


@corpus("example", EXAMPLES, 183)
def test_example(example: Example) -> None:
    example.check()


REFUSED = [
    (INT, stamp(3), "INT cannot be CAST to TIMESTAMP(3): use TO_TIMESTAMP(FROM_UNIXTIME(numeric))"),
    (BIG, instant(3), "use TO_TIMESTAMP_LTZ(numeric, precision)"),
    (stamp(3), BIG, "use UNIX_TIMESTAMP(CAST(timestamp AS STRING))"),
    (DATE, INT, "DATE cannot be CAST to INT"),
    (t.ArrayType(INT), INT, "ARRAY<INT> cannot be CAST to INT"),
    (t.DateType(), BOOL, "DATE cannot be CAST to BOOLEAN"),
]


@pytest.mark.parametrize("refused", REFUSED, ids=str)
def test_casts_that_do_not_exist(refused: tuple[t.DataType, t.DataType, str]) -> None:
    source, target, message = refused
    with pytest.raises(SignatureError) as raised:
        explicit_cast(Ref(source, 0), target)
    assert message in str(raised.value)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from([TINY, SMALL, INT]))
def test_whole_numbers_keep_their_lowest_bits(value: int, target: t.IntegralType) -> None:
    size = target.bits // 8
    wanted = int.from_bytes((value % 2**64).to_bytes(8, "little")[:size], "little", signed=True)
    cast(of(BIG, value), target, wanted).check()


@given(st.floats(), st.sampled_from([INT, BIG]))
def test_doubles_are_cut_off_and_kept_within_bounds(value: float, target: t.IntegralType) -> None:
    most = 2 ** (target.bits - 1)
    wanted = 0 if math.isnan(value) else max(-most, min(most - 1, math.trunc(max(-1e30, min(1e30, value)))))
    cast(value, target, wanted).check()


@given(st.floats(allow_nan=False))
def test_doubles_survive_being_text(value: float) -> None:
    cast(value, STRING, None).run(explicit_cast(Ref(DOUBLE, 0), STRING), [[value]])
    (text,) = cast(value, STRING, None).run(explicit_cast(Ref(DOUBLE, 0), STRING), [[value]])
    cast(text, DOUBLE, value).check()


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9))
def test_decimals_are_rounded_half_up(value: Decimal) -> None:
    rounded = value.copy_abs() * 100 + Decimal("0.5")
    wanted = Decimal(math.floor(rounded)).copy_sign(value) / 100 if value else Decimal(0)
    fits = abs(wanted) < 10**6
    cast(of(t.DecimalType(16, 6), value), t.DecimalType(8, 2), wanted if fits else None).check()


@given(st.datetimes())
def test_timestamps_survive_being_text(value: dt.datetime) -> None:
    cast(value, STRING, value.isoformat(" ", "microseconds")).check()
    cast(value.isoformat(" ", "microseconds"), stamp(6), value).check()


def test_an_error_about_a_value_names_its_column_and_row() -> None:
    kinds = [t.IntType(), t.string(), t.string()]
    given = [Ref(kind, at) for at, kind in enumerate(kinds)]
    columns = [to_arrow(values, kind) for values, kind in zip([[1, 2], ["5", "x"], ["a", "b"]], kinds)]
    cast = Call(t.IntType(), "CAST", (given[1],), (("column", "amount"),))
    with pytest.raises(CastError) as raised:
        Evaluator(columns, Surroundings(2)).column(call("+", [given[0], cast]))
    assert str(raised.value) == (
        "CAST of column 'amount' failed: cannot read 'x' as INT. TRY_CAST gives NULL instead (in the row 2, 'x', 'b')"
    )


def test_a_number_without_digits_enough_gives_null_and_a_text_is_an_error() -> None:
    target = t.DecimalType(3, 1)
    number, text = Ref(t.IntType(False), 0), Ref(t.string().not_null(), 0)
    assert explicit_cast(number, target).type == target
    numbers = Evaluator([to_arrow([123], t.IntType())], Surroundings(1)).column(explicit_cast(number, target))
    assert numbers.to_pylist() == [None]
    assert explicit_cast(text, target).type == target.not_null()
    column = to_arrow(["12", "123456"], t.string())
    with pytest.raises(CastError, match=r"'123456' has too many digits for DECIMAL\(3, 1\).*in the row '123456'"):
        Evaluator([column], Surroundings(2)).column(explicit_cast(text, target))
    found = Evaluator([column], Surroundings(2)).column(explicit_cast(text, target, True)).to_pylist()
    assert found == [Decimal("12.0"), None]
