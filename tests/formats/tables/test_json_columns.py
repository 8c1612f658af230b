"""Reading JSON all at once gives what reading message by message gives, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.formats.tables.json_reading import JsonColumns, JsonValues, decoded
from millrace.formats.text_columns import SQL
from millrace.relational import types as t
from millrace.relational.type_table import arrow_type

ROW = t.RowType([t.RowField("x", t.IntType()), t.RowField("s", t.string())])
COLUMNS: list[tuple[str, t.DataType]] = [
    ("i", t.IntType()),
    ("d", t.DoubleType()),
    ("s", t.string()),
    ("b", t.BooleanType()),
    ("c", t.DecimalType(6, 2)),
    ("day", t.DateType()),
    ("clock", t.TimeType(3)),
    ("ts", t.TimestampType(3)),
    ("a", t.ArrayType(t.BigIntType())),
    ("r", ROW),
    ("rows", t.ArrayType(ROW)),
]
NUMBERS = st.sampled_from(["0", "-1", "1.5", "1e2", "2147483648", "1e999", "0.005", "12345678901234567890", "-0", "01"])
TEXTS = st.sampled_from(
    ["x", "", " 5 ", "7", "+7", "0x1F", "1_0", "TRUE", "false", "NaN", "1.005", "2020-02-29", "2020-02-30", "20200229",
     "2020-W01-1",
     "12:13:14", "12:13:14.1239", "24:00:00", "12:13", "2020-12-30 12:13:14.9999", "2020-12-30T12:13:14", "0000-01-01",
     "2020-12-30 12:13:14Z", "9999-12-31 23:59:59.9999999", "1969-12-31 23:59:59.0005"]
).map(json.dumps) | st.text(max_size=3).map(json.dumps) | st.just('"\\ud800"')  # fmt: skip
SCALARS = st.sampled_from(["null", "true", "false"]) | NUMBERS | TEXTS


def object_of(fields: dict[str, str]) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}"


ROWS = st.fixed_dictionaries({}, optional={"x": SCALARS, "s": SCALARS, "z": SCALARS}).map(object_of)
LISTS = st.lists(SCALARS | ROWS, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
ANYTHING = SCALARS | ROWS | LISTS
OBJECTS = st.fixed_dictionaries({}, optional={name: ANYTHING for name, _ in COLUMNS}).map(object_of)
MESSAGES = OBJECTS | st.builds(lambda text, at: text[:at], OBJECTS, st.integers(0, 40)) | ANYTHING


def one_by_one(messages: list[str], columns: list[tuple[str, t.DataType]]) -> list[pa.Array] | None:
    reader = JsonValues(columns, SQL, False, False)
    try:
        rows = [reader.row(decoded(message.encode())) for message in messages]
    except ValueError:
        return None
    turned = list(zip(*rows)) if rows else [()] * len(columns)
    return [pa.array(values, arrow_type(kind)) for values, (_, kind) in zip(turned, columns)]


def all_at_once(messages: list[str], columns: list[tuple[str, t.DataType]]) -> list[pa.Array] | None:
    return JsonColumns(columns, SQL, False).read(pa.array([message.encode() for message in messages], pa.binary()))


@given(st.lists(MESSAGES, max_size=3))
def test_what_is_read_all_at_once_is_right(messages: list[str]) -> None:
    found = all_at_once(messages, COLUMNS)
    if found is not None:
        expected = one_by_one(messages, COLUMNS)
        assert expected is not None, "message by message they are malformed"
        assert [column.to_pylist() for column in found] == [column.to_pylist() for column in expected]


@given(st.sampled_from(COLUMNS), st.lists(ANYTHING, min_size=1, max_size=3))
def test_what_is_read_all_at_once_is_right_for_each_type(column: tuple[str, t.DataType], values: list[str]) -> None:
    messages = [object_of({column[0]: value}) for value in values]
    found = all_at_once(messages, [column])
    if found is not None:
        expected = one_by_one(messages, [column])
        assert expected is not None, "message by message they are malformed"
        assert found[0].to_pylist() == expected[0].to_pylist()


@pytest.mark.parametrize(
    "message",
    [
        '{"i":1,"d":1.5,"s":"x","b":true,"c":1.5,"day":"2020-02-29","clock":"12:13:14","a":[1,null],"r":{"x":1}}',
        '{"i":"1","d":"1e3","b":"TRUE","c":"1.5","a":["1"],"r":{"x":"5"},"rows":[{"x":"7","s":null},null]}',
        '{"other":{"deep":[1,"2"]}, "s" : "blanks"}',
    ],
)
def test_what_is_usual_is_read_all_at_once(message: str) -> None:
    messages = [message, '{"s":"another"}', message]
    found = all_at_once(messages, COLUMNS)
    expected = one_by_one(messages, COLUMNS)
    assert found is not None and expected is not None
    assert [column.to_pylist() for column in found] == [column.to_pylist() for column in expected]


def test_what_it_leaves_to_others() -> None:
    columns: list[tuple[str, Any]] = [("m", t.MapType(t.string(), t.string()))]
    assert all_at_once(['{"m":{"a":"b"}}'], columns) is None
    assert all_at_once(['{"i":1}', '{"i":"1"}'], COLUMNS) is None
    assert JsonColumns(COLUMNS, SQL, True).read(pa.array([b'{"i":1}'], pa.binary())) is None
