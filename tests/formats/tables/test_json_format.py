"""``json`` for tables: Flink's examples, every type there and back, malformed messages."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import DAY, MONTHS, UTC, context, decode, decoded, encode, schema
from tests.ids import shown

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.util.exceptions import TableException

POINT = t.RowType([t.RowField("x", t.IntType()), t.RowField("label", t.string())])

# (type, Python value, its JSON as Flink documents it)
VALUES: list[tuple[t.DataType, Any, str]] = [
    (t.BooleanType(), True, "true"),
    (t.TinyIntType(), -128, "-128"),
    (t.SmallIntType(), 32767, "32767"),
    (t.IntType(), -(2**31), "-2147483648"),
    (t.BigIntType(), 2**63 - 1, "9223372036854775807"),
    (t.FloatType(), 1.5, "1.5"),
    (t.DoubleType(), 1.0, "1.0"),
    (t.DoubleType(), 1e10, "1.0E10"),
    (t.DoubleType(), -0.0, "-0.0"),
    (t.DoubleType(), 123456.789, "123456.789"),
    (t.DecimalType(10, 2), Decimal("12.34"), "12.34"),
    (t.DecimalType(38, 0), Decimal("99999999999999999999999999999999999999"), "9" * 38),
    (t.CharType(3), "abc", '"abc"'),
    (t.string(), 'q"\\\n\u0001 ü 😀/', '"q\\"\\\\\\n\\u0001 ü 😀/"'),
    (t.string(), "", '""'),
    (t.VarBinaryType(t.MAX_LENGTH), b"\x00\xff\x10", '"AP8Q"'),
    (t.BinaryType(2), b"ab", '"YWI="'),
    (t.DateType(), dt.date(2020, 2, 29), '"2020-02-29"'),
    (t.TimeType(0), dt.time(12, 13, 14), '"12:13:14"'),
    (t.TimeType(3), dt.time(12, 13, 14, 120_000), '"12:13:14.12"'),
    (t.TimestampType(3), dt.datetime(2020, 12, 30, 12, 13, 14, 123_000), '"2020-12-30 12:13:14.123"'),
    (t.TimestampType(6), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), '"1969-12-31 23:59:59.999999"'),
    (t.TimestampType(0), dt.datetime(1, 1, 1), '"0001-01-01 00:00:00"'),
    (t.LocalZonedTimestampType(3), dt.datetime(2020, 12, 30, 12, 13, 14, tzinfo=UTC), '"2020-12-30 12:13:14Z"'),
    (MONTHS, 14, "14"),
    (DAY, dt.timedelta(days=1, milliseconds=5), "86400005"),
    (t.ArrayType(t.IntType()), [1, None, 3], "[1,null,3]"),
    (t.ArrayType(t.ArrayType(t.string())), [["a"], [], None], '[["a"],[],null]'),
    (t.MapType(t.string(), t.BigIntType()), {"a": 1, 'b"': None}, '{"a":1,"b\\"":null}'),
    (t.MultisetType(t.string()), {"a": 2}, '{"a":2}'),
    (POINT, Row(x=1, label=None), '{"x":1,"label":null}'),
    (t.ArrayType(POINT), [Row(x=1, label="a"), None], '[{"x":1,"label":"a"},null]'),
    (t.RowType([t.RowField("d", t.DateType()), t.RowField("m", t.MapType(t.string(), POINT))]),
     Row(d=dt.date(2020, 1, 2), m={"k": Row(x=5, label="z")}), '{"d":"2020-01-02","m":{"k":{"x":5,"label":"z"}}}'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "text"), VALUES, ids=shown)
def test_every_type_there_and_back(kind: t.DataType, value: Any, text: str) -> None:
    columns = schema(a=kind, b=t.IntType())
    messages = [f'{{"a":{text},"b":7}}'.encode(), b'{"a":null,"b":8}']
    assert encode("json", columns, [(value, 7), (None, 8)]) == messages
    assert decode("json", columns, messages) == [(value, 7), (None, 8)]


@pytest.mark.parametrize(("kind", "value", "text"), VALUES, ids=shown)
def test_one_by_one_reads_the_same_as_all_at_once(kind: t.DataType, value: Any, text: str) -> None:
    # A number in quotes is something that only the reader of single messages takes.
    messages = [f'{{"a":{text},"b":7}}', '{"a":null,"b":"8"}']
    assert decode("json", schema(a=kind, b=t.IntType()), messages) == [(value, 7), (None, 8)]


def test_iso_timestamps() -> None:
    columns = schema(a=t.TimestampType(3), b=t.LocalZonedTimestampType(3))
    rows = [(dt.datetime(2020, 12, 30, 12, 13, 14, 123_000), dt.datetime(2020, 12, 30, 12, 13, 14, tzinfo=UTC))]
    messages = [b'{"a":"2020-12-30T12:13:14.123","b":"2020-12-30T12:13:14Z"}']
    options = {"timestamp-format.standard": "ISO-8601"}
    assert encode("json", columns, rows, options) == messages
    assert decode("json", columns, messages, options) == rows
    with pytest.raises(ValueError, match=r"message 0 is malformed.*'a'.*2020-12-30 12:13:14"):
        decode("json", columns, ['{"a":"2020-12-30 12:13:14.123"}'], options)
    with pytest.raises(ValueError, match="not a timestamp in UTC"):
        decode("json", columns, ['{"b":"2020-12-30 12:13:14"}'])


def test_decimals_of_the_documentation() -> None:
    columns = schema(a=t.DecimalType(9, 6), b=t.DecimalType(20, 0), c=t.DecimalType(9, 9))
    row = (Decimal("123.456789"), Decimal("454621864049246170"), Decimal("0.000000027"))
    assert encode("json", columns, [row]) == [b'{"a":123.456789,"b":4.5462186404924617E+17,"c":2.7E-8}']
    plain = [b'{"a":123.456789,"b":454621864049246170,"c":0.000000027}']
    assert encode("json", columns, [row], {"encode.decimal-as-plain-number": "true"}) == plain
    assert decode("json", columns, plain) == [row]
    assert decode("json", columns, encode("json", columns, [row])) == [row]


def test_nulls_are_left_out_where_wanted() -> None:
    columns = schema(a=t.IntType(), b=POINT, c=t.ArrayType(t.IntType()))
    values = [(None, Row(x=None, label="x"), [None]), (None, None, None), (1, None, [])]
    assert encode("json", columns, values, {"encode.ignore-null-fields": "true"}) == [
        b'{"b":{"label":"x"},"c":[null]}', b"{}", b'{"a":1,"c":[]}'
    ]  # fmt: skip


def test_what_flink_converts() -> None:
    columns = schema(i=t.IntType(), d=t.DoubleType(), s=t.string(), b=t.BooleanType(), c=t.DecimalType(5, 2))
    message = '{"i":" 12 ","d":"1e3","s":{"k":[1,true,null,"x"]},"b":"TRUE","c":"1.005"}'
    assert decode("json", columns, [message]) == [(12, 1000.0, '{"k":[1,true,null,"x"]}', True, Decimal("1.01"))]
    assert decode("json", columns, ['{"i":1.9,"d":3,"s":false,"b":false,"c":123456}']) == [
        (1, 3.0, "false", False, None)
    ]


def test_columns_are_found_by_name_and_others_ignored() -> None:
    columns = schema(b=t.IntType(), a=t.string())
    assert decode("json", columns, ['{"x":{"a":[1]},"a":"y","b":1}', ' {"a":"z"} ', "{}"]) == [
        (1, "y"), (None, "z"), (None, None)
    ]  # fmt: skip


def test_an_array_is_several_rows() -> None:
    columns = schema(col1=t.BigIntType(), col2=t.string())
    messages = ['[{"col1":123,"col2":"a"},{"col1":456,"col2":"b"}]', '{"col1":1,"col2":"c"}', "[]"]
    found = decoded("json", columns, messages)
    assert found.messages.tolist() == [0, 0, 1]
    assert decode("json", columns, messages) == [(123, "a"), (456, "b"), (1, "c")]


def test_messages_without_value_give_no_row() -> None:
    found = decoded("json", schema(a=t.IntType()), [None, '{"a":1}', b"", '{"a":2}'])
    assert (len(found.rows), found.messages.tolist(), found.skipped) == (2, [1, 3], 0)


MALFORMED = [
    "{", "null", "5", '{"a":1} {"a":2}', '{"a":NaN}', '{"a":01}', "  ", '{"a":1', b'{"a":1,"b":"\xff"}', "[1]",
    '{"a":1}}', "[" * 100_000, '{"a":1,}',
]  # fmt: skip


@pytest.mark.parametrize("message", MALFORMED, ids=lambda each: repr(each[:20]))
def test_malformed_messages(message: bytes | str) -> None:
    columns = schema(a=t.IntType(), b=t.string())
    messages = ['{"a":1}', message, '{"a":2}']
    with pytest.raises(ValueError, match="table shop: message 1 is malformed"):
        decode("json", columns, messages)
    found = decoded("json", columns, messages, {"ignore-parse-errors": "true"})
    assert (found.skipped, found.messages.tolist()) == (1, [0, 2])
    assert decode("json", columns, messages, {"ignore-parse-errors": "true"}) == [(1, None), (2, None)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (t.IntType(), '"x"'), (t.IntType(), "2147483648"), (t.TinyIntType(), "1.5"), (t.BigIntType(), "1e999999999"),
        (t.BooleanType(), '"yes"'), (t.DoubleType(), "[]"), (t.DateType(), '"2020-02-30"'),
        (t.TimeType(), '"25:00:00"'),
        (t.TimestampType(3), '"2020-12-30"'), (t.TimestampType(3), '"2020-12-30 12:13:14Z"'),
        (t.VarBinaryType(9), '"?"'), (t.ArrayType(t.IntType()), "{}"), (POINT, "[]"), (POINT, '{"x":"y"}'),
        (t.MapType(t.string(), t.IntType()), "[]"), (t.DecimalType(5, 2), "true"),
    ],
    ids=shown,
)  # fmt: skip
def test_malformed_fields_are_errors_or_null(kind: t.DataType, text: str) -> None:
    columns = schema(a=kind, b=t.IntType())
    messages = ['{"b":1}', f'{{"a":{text},"b":2}}']
    with pytest.raises(ValueError, match="message 1 is malformed: field 'a'"):
        decode("json", columns, messages)
    lenient = decode("json", columns, messages, {"ignore-parse-errors": "true"})
    inner = Row(x=None, label=None) if text == '{"x":"y"}' else None
    assert lenient == [(None, 1), (inner, 2)]


def test_missing_fields_are_errors_where_wanted() -> None:
    columns, options = schema(a=t.IntType(), r=POINT), {"fail-on-missing-field": "true"}
    good = '{"a":null,"r":{"x":1,"label":null}}'
    assert decode("json", columns, [good], options) == [(None, Row(x=1, label=None))]
    with pytest.raises(ValueError, match=r"message 1 .*there is no field 'a'"):
        decode("json", columns, [good, '{"r":null}'], options)
    with pytest.raises(ValueError, match="field 'r': there is no field 'label'"):
        decode("json", columns, ['{"a":1,"r":{"x":1}}'], options)


def test_one_odd_message_among_many() -> None:
    messages = [f'{{"a":{number}}}' for number in range(2000)]
    messages[700] = '{"a":"700"}'
    messages[1500] = "oops"
    found = decoded("json", schema(a=t.IntType()), messages, {"ignore-parse-errors": "true"})
    expected = [number for number in range(2000) if number != 1500]
    assert (found.rows.columns[0].to_pylist(), found.messages.tolist(), found.skipped) == (expected, expected, 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [('{"a":"', '{"a":"x"}'), ('{"a":1}\n{"a":2}', ""), ('{"a":[', '{"b":1}]}'), ('{"a":"x"', ',"b":1}')],
)
def test_messages_do_not_run_into_each_other(first: str, second: str) -> None:
    with pytest.raises(ValueError, match="message 0 is malformed"):
        decode("json", schema(a=t.string(), b=t.string()), [first, second])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ignore-parse-errors": "maybe"}, "'json.ignore-parse-errors' is 'maybe', but has to be true or false"),
        ({"timestamp-format.standard": "ISO"}, "has to be SQL or ISO-8601"),
        ({"ignore-parse-errors": "true", "fail-on-missing-field": "true"}, "exclude each other"),
        (
            {"fail-on-mising-field": "true"},
            "no option 'json.fail-on-mising-field', did you mean 'json.fail-on-missing-field'",
        ),
    ],
)
def test_wrong_options(options: dict[str, str], text: str) -> None:
    with pytest.raises(TableException, match=text):
        decode("json", schema(a=t.IntType()), [], options)


def test_types_without_form_are_refused_by_name() -> None:
    from millrace.formats.tables.json_format import JsonFormatFactory

    for kind in (t.RawType(), t.MapType(t.IntType(), t.IntType()), t.ArrayType(t.RawType())):
        for make in (JsonFormatFactory().decoding, JsonFormatFactory().encoding):
            with pytest.raises(TableException, match="table shop: format 'json', column 'bad'"):
                make(context(schema(a=t.IntType(), bad=kind)))


def test_batches_without_rows() -> None:
    columns = schema(a=t.IntType(), p=POINT)
    assert encode("json", columns, []) == []
    assert decode("json", columns, []) == []
    assert decode("json", columns, [None]) == []


PLAIN = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.datetimes(),
    st.none() | st.lists(st.none() | st.booleans(), max_size=3),
    st.none() | st.dictionaries(st.text(max_size=3), st.none() | st.dates(), max_size=3),
    st.none() | st.decimals(min_value=-(10**20), max_value=10**20, places=9),
)


@given(st.lists(PLAIN, max_size=8))
def test_any_values_there_and_back(values: list[tuple[Any, ...]]) -> None:
    columns = schema(
        i=t.BigIntType(), s=t.string(), d=t.DoubleType(), t=t.TimestampType(6), a=t.ArrayType(t.BooleanType()),
        m=t.MapType(t.string(), t.DateType()), c=t.DecimalType(38, 9),
    )  # fmt: skip
    messages = encode("json", columns, values)
    assert decode("json", columns, messages) == values
    # The json module is the oracle of what is JSON at all.
    read = [json.loads(message or b"", parse_float=Decimal) for message in messages]
    assert [(each["i"], each["s"], each["a"]) for each in read] == [(row[0], row[1], row[4]) for row in values]
    assert [each["c"] for each in read] == [row[6] for row in values]
    assert [None if each["d"] is None else float(each["d"]) for each in read] == [row[2] for row in values]
