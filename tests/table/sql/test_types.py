"""Data types as text."""

from __future__ import annotations

import pytest
from tests.corpus import corpus

from millrace.relational import types as t
from millrace.table.sql.grammar.parser import parse_type
from millrace.table.sql.text import SqlParseError

DAY_TIME = t.DayTimeIntervalType.DayTimeResolution
YEAR_MONTH = t.YearMonthIntervalType.YearMonthResolution

TYPES = [
    ("BOOLEAN", t.BooleanType()),
    ("tinyint", t.TinyIntType()),
    ("SMALLINT", t.SmallIntType()),
    ("INT", t.IntType()),
    ("INTEGER NOT NULL", t.IntType(False)),
    ("BIGINT NULL", t.BigIntType()),
    ("FLOAT", t.FloatType()),
    ("DOUBLE", t.DoubleType()),
    ("DOUBLE PRECISION", t.DoubleType()),
    ("DECIMAL", t.DecimalType(10, 0)),
    ("DEC(5)", t.DecimalType(5, 0)),
    ("NUMERIC(38, 18)", t.DecimalType(38, 18)),
    ("CHAR", t.CharType(1)),
    ("CHARACTER(3)", t.CharType(3)),
    ("VARCHAR", t.VarCharType(t.MAX_LENGTH)),
    ("VARCHAR(20)", t.VarCharType(20)),
    ("CHARACTER VARYING (20)", t.VarCharType(20)),
    ("STRING", t.string()),
    ("BINARY(4)", t.BinaryType(4)),
    ("VARBINARY(4)", t.VarBinaryType(4)),
    ("BINARY VARYING(4)", t.VarBinaryType(4)),
    ("BYTES", t.VarBinaryType(t.MAX_LENGTH)),
    ("DATE", t.DateType()),
    ("TIME", t.TimeType(0)),
    ("TIME(3) WITHOUT TIME ZONE", t.TimeType(3)),
    ("TIMESTAMP", t.TimestampType(6)),
    ("TIMESTAMP(3) WITHOUT TIME ZONE", t.TimestampType(3)),
    ("TIMESTAMP(9) WITH TIME ZONE", t.ZonedTimestampType(9)),
    ("TIMESTAMP WITH LOCAL TIME ZONE", t.LocalZonedTimestampType(6)),
    ("TIMESTAMP_LTZ(3)", t.LocalZonedTimestampType(3)),
    ("INTERVAL YEAR", t.YearMonthIntervalType(YEAR_MONTH.YEAR)),
    ("INTERVAL YEAR(4) TO MONTH", t.YearMonthIntervalType(YEAR_MONTH.YEAR_TO_MONTH, 4)),
    ("INTERVAL MONTH", t.YearMonthIntervalType(YEAR_MONTH.MONTH)),
    ("INTERVAL DAY(3) TO SECOND(9)", t.DayTimeIntervalType(DAY_TIME.DAY_TO_SECOND, 3, 9)),
    ("INTERVAL HOUR TO MINUTE", t.DayTimeIntervalType(DAY_TIME.HOUR_TO_MINUTE)),
    ("INTERVAL SECOND", t.DayTimeIntervalType(DAY_TIME.SECOND)),
    ("ARRAY<INT NOT NULL>", t.ArrayType(t.IntType(False))),
    ("INT NOT NULL ARRAY NOT NULL", t.ArrayType(t.IntType(False), False)),
    ("MAP<STRING, ARRAY<ARRAY<INT>>>", t.MapType(t.string(), t.ArrayType(t.ArrayType(t.IntType())))),
    ("MULTISET<STRING>", t.MultisetType(t.string())),
    ("STRING MULTISET", t.MultisetType(t.string())),
    ("ROW<>", t.RowType([])),
    (
        "ROW<a INT, `b c` ROW<d STRING NOT NULL> 'a comment'>",
        t.RowType(
            [
                t.RowField("a", t.IntType()),
                t.RowField("b c", t.RowType([t.RowField("d", t.VarCharType(t.MAX_LENGTH, False))])),
            ]
        ),
    ),
    ("ROW(a INT) NOT NULL", t.RowType([t.RowField("a", t.IntType())], False)),
    ("STRUCTURED<'com.User', name STRING>", t.RowType([t.RowField("name", t.string())])),
    ("RAW('java.lang.Void', 'AEZl')", t.RawType()),
    ("NULL", t.NullType()),
    ("VARIANT", t.VariantType()),
    ("BITMAP", t.BitmapType()),
]


@corpus(("text", "expected"), TYPES, 49)
def test_types_are_read(text: str, expected: t.DataType) -> None:
    assert parse_type(text) == expected


@corpus("data_type", [expected for _, expected in TYPES if not isinstance(expected, t.RawType)], 48)
def test_the_text_of_a_type_is_read_as_the_type(data_type: t.DataType) -> None:
    assert parse_type(str(data_type)) == data_type


def test_comments_of_fields_are_kept() -> None:
    found = parse_type("ROW<a INT 'it''s'>")
    assert isinstance(found, t.RowType)
    assert found.fields[0].description == "it's"


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("CHAR(0)", "a length is from 1 to 2147483647, not 0", 5),
        ("VARBINARY(0)", "a length is from 1 to 2147483647, not 0", 10),
        ("DECIMAL(39)", "the precision of a DECIMAL is from 1 to 38, not 39", 1),
        ("ROW<a DECIMAL(5, 6)>", "the scale of a DECIMAL(5, ..) is from 0 to 5, not 6", 7),
        ("TIMESTAMP(10)", "the precision of TIMESTAMP is from 0 to 9, not 10", 1),
        ("ARRAY<STRNG>", "unknown data type 'STRNG', did you mean 'STRING'?", 7),
        ("ARRAY<cat.db.my_type>", "unknown data type 'cat.db.my_type'", 7),
        ("ARRAY INT", "expected '<', found 'INT'", 7),
        ("VARCHAR(1, 2)", "expected 1 number at most", 8),
        ("INTERVAL MONTH TO DAY", "expected MONTH, HOUR, MINUTE or SECOND, found 'DAY'", 19),
        ("INTERVAL SECOND TO HOUR", "there is no interval SECOND TO HOUR", 10),
        ("DECIMAL(x)", "expected a whole number, found 'x'", 9),
        ("INT INT", "expected the end of the statement, found 'INT'", 5),
        ("", "expected a data type, found the end of the statement", 1),
    ],
)
def test_types_that_are_none_say_why(text: str, message: str, column: int) -> None:
    with pytest.raises(SqlParseError) as error:
        parse_type(text)
    assert (error.value.message, error.value.column) == (message, column)
