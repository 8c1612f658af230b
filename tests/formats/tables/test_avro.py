"""``avro`` for tables. fastavro with a schema written by hand is the oracle of the bytes."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import UTC, decode, decoded, encode, schema
from tests.ids import shown

from millrace.common.types import Row
from millrace.formats.tables.avro_format import RECORD, avro_columns, avro_schema
from millrace.relational import types as t
from millrace.util.exceptions import TableException

POINT = t.RowType([t.RowField("x", t.IntType()), t.RowField("label", t.string().not_null())])
MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
LOCAL_MICROS = {"type": "long", "logicalType": "local-timestamp-micros"}
NEW_TIMES = {"timestamp_mapping.legacy": "false"}
NOON = dt.datetime(2020, 12, 30, 12, 13, 14, 123_000)

# (type, Avro's type by Flink's table of types, value, what fastavro writes for it, options)
VALUES: list[tuple[t.DataType, Any, Any, Any, dict[str, str]]] = [
    (t.BooleanType(), "boolean", True, True, {}),
    (t.TinyIntType(), "int", -128, -128, {}),
    (t.SmallIntType(), "int", 300, 300, {}),
    (t.IntType(), "int", -(2**31), -(2**31), {}),
    (t.BigIntType(), "long", 2**63 - 1, 2**63 - 1, {}),
    (t.FloatType(), "float", 1.5, 1.5, {}),
    (t.DoubleType(), "double", -0.1, -0.1, {}),
    (t.CharType(3), "string", "abc", "abc", {}),
    (t.string(), "string", "ü😀", "ü😀", {}),
    (t.VarBinaryType(9), "bytes", b"\0\xff", b"\0\xff", {}),
    (t.DecimalType(10, 2), {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
     Decimal("-12.30"), Decimal("-12.30"), {}),
    (t.DateType(), {"type": "int", "logicalType": "date"}, dt.date(1969, 12, 31), dt.date(1969, 12, 31), {}),
    (t.TimeType(3), {"type": "int", "logicalType": "time-millis"}, dt.time(1, 2, 3, 4000), dt.time(1, 2, 3, 4000), {}),
    (t.TimestampType(3), MILLIS, NOON, NOON.replace(tzinfo=UTC), {}),
    (t.TimestampType(3), {"type": "long", "logicalType": "local-timestamp-millis"}, NOON, NOON, NEW_TIMES),
    (t.TimestampType(6), LOCAL_MICROS, NOON, NOON, NEW_TIMES),
    (t.LocalZonedTimestampType(3), MILLIS, NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC), NEW_TIMES),
    (t.LocalZonedTimestampType(6), {"type": "long", "logicalType": "timestamp-micros"}, NOON.replace(tzinfo=UTC),
     NOON.replace(tzinfo=UTC), NEW_TIMES),
    (t.ArrayType(t.IntType()), {"type": "array", "items": ["null", "int"]}, [1, None], [1, None], {}),
    (t.ArrayType(t.TimestampType(3).not_null()), {"type": "array", "items": MILLIS}, [NOON],
     [NOON.replace(tzinfo=UTC)], {}),
    (t.MapType(t.string(), t.BigIntType()), {"type": "map", "values": ["null", "long"]}, {"a": None}, {"a": None}, {}),
    (t.MultisetType(t.string()), {"type": "map", "values": ["null", "int"]}, {"a": 2}, {"a": 2}, {}),
    (POINT, {"type": "record", "name": f"{RECORD}_a", "fields": [
        {"name": "x", "type": ["null", "int"], "default": None}, {"name": "label", "type": "string"}]},
     Row(x=None, label="z"), {"x": None, "label": "z"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "avro", "value", "record", "options"), VALUES, ids=shown)
def test_every_type_there_and_back(
    kind: t.DataType, avro: Any, value: Any, record: Any, options: dict[str, str]
) -> None:
    columns = schema(a=kind, b=t.IntType().not_null())
    by_hand = {
        "type": "record", "name": RECORD,
        "fields": [{"name": "a", "type": ["null", avro], "default": None}, {"name": "b", "type": "int"}],
    }  # fmt: skip
    assert avro_schema(columns, options != NEW_TIMES) == by_hand
    written = []
    for each in ({"a": record, "b": 7}, {"a": None, "b": 8}):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(by_hand), each)
        written.append(stream.getvalue())
    assert encode("avro", columns, [(value, 7), (None, 8)], options) == written
    assert decode("avro", columns, written, options) == [(value, 7), (None, 8)]


def test_a_type_that_is_not_null_is_no_union() -> None:
    assert avro_schema(schema(a=t.string().not_null()))["fields"] == [{"name": "a", "type": "string"}]
    assert encode("avro", schema(a=t.string().not_null()), [("hi",)]) == [b"\x04hi"]
    with pytest.raises(ValueError, match="table shop: a row has no form"):
        encode("avro", schema(a=t.string().not_null()), [(None,)])


def test_json() -> None:
    columns = schema(a=t.IntType(), s=t.string().not_null(), t=t.TimestampType(3))
    rows = [(1, "x\ny", NOON), (None, "", None)]
    messages = encode("avro", columns, rows, {"encoding": "json"})
    # Avro's JSON names the branch of a union.
    assert [json.loads(each or b"") for each in messages] == [
        {"a": {"int": 1}, "s": "x\ny", "t": {"long": 1609330394123}},
        {"a": None, "s": "", "t": None},
    ]
    assert decode("avro", columns, messages, {"encoding": "json"}) == rows
    with pytest.raises(ValueError, match="message 1 is malformed"):
        decode("avro", columns, [*messages[:1], "{"], {"encoding": "json"})


def test_messages_without_value_give_no_row() -> None:
    found = decoded("avro", schema(a=t.IntType()), [None, b"\x02\x02", None])
    assert (found.messages.tolist(), found.rows.columns[0].to_pylist()) == ([1], [1])


@pytest.mark.parametrize("message", [b"", b"\x02", b"\x04\x02", b"\x02\x02\x00", b"\x02\xff\xff\xff\xff\xff\xff\xff"])
def test_malformed_messages(message: bytes) -> None:
    text = r"table shop: message 1 is malformed: not a record of the table's Avro schema: \w+ \w+ "
    with pytest.raises(ValueError, match=text):
        decode("avro", schema(a=t.IntType()), [b"\x00", message])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            t.TimestampType(6),
            r"column 'a': TIMESTAMP\(6\) has no form .*timestamp_mapping.legacy.*or use TIMESTAMP\(3\)",
        ),
        (t.LocalZonedTimestampType(3), "'avro.timestamp_mapping.legacy' = 'true', which is the default"),
        (t.TimeType(6), "use TIME"),
        (t.MapType(t.IntType(), t.IntType()), "keys in Avro are text"),
        (t.RawType(), "values of RAW"),
    ],
    ids=shown,
)
def test_types_without_form_are_refused_by_name(kind: t.DataType, text: str) -> None:
    with pytest.raises(TableException, match=text):
        decode("avro", schema(a=kind), [])
    with pytest.raises(TableException, match=text):
        encode("avro", schema(a=kind), [])


def test_names_that_avro_does_not_have() -> None:
    with pytest.raises(TableException, match="column 'a b': 'a b' is no name in Avro"):
        encode("avro", schema(**{"a b": t.IntType()}), [])


def test_records_of_other_writers() -> None:
    columns = schema(
        a=t.string(), b=t.TimestampType(3), c=t.LocalZonedTimestampType(3), d=t.DecimalType(5, 1), e=t.IntType()
    )
    other = {"a": "RED", "b": NOON.replace(microsecond=123_456, tzinfo=UTC), "c": NOON, "d": Decimal("1.25"), "x": 1}
    found = [column.to_pylist() for column in avro_columns([other], columns)]
    assert found == [["RED"], [NOON], [NOON.replace(tzinfo=UTC)], [Decimal("1.3")], [None]]
    with pytest.raises(ValueError, match="column 'e' of type INT: "):
        avro_columns([{"e": "x"}], columns)


PLAIN = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(),
    st.none() | st.binary(),
    st.none() | st.datetimes(),
    st.none() | st.dictionaries(st.text(max_size=3), st.none() | st.dates(), max_size=3),
    st.none() | st.decimals(min_value=-(10**20), max_value=10**20, places=9),
)


@given(st.lists(PLAIN, max_size=8))
def test_any_values_there_and_back(values: list[tuple[Any, ...]]) -> None:
    columns = schema(
        i=t.BigIntType(), s=t.string(), b=t.VarBinaryType(t.MAX_LENGTH), t=t.TimestampType(6),
        m=t.MapType(t.string(), t.DateType()), c=t.DecimalType(38, 9),
    )  # fmt: skip
    assert decode("avro", columns, encode("avro", columns, values, NEW_TIMES), NEW_TIMES) == values
