"""Rows as Avro records, against fastavro itself."""

from __future__ import annotations

import datetime as dt
import io
import json
import pickle
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from millrace.common import Row, Types
from millrace.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema

SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "place", "type": {"type": "record", "name": "Place", "fields": [{"name": "x", "type": "double"}]}},
        {"name": "others", "type": {"type": "array", "items": "Place"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}},
    ],
}
RECORD = {
    "id": 1, "name": None, "place": {"x": 0.5}, "others": [{"x": 1.5}, {"x": 2.5}], "counts": {"a": 3}, "kind": "B",
    "day": dt.date(2024, 5, 6), "price": Decimal("1.20"),
}  # fmt: skip
ROW = Row(1, None, Row(x=0.5), [Row(x=1.5), Row(x=2.5)], {"a": 3}, "B", dt.date(2024, 5, 6), Decimal("1.20"))


def written(record: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(SCHEMA), record)
    return stream.getvalue()


@pytest.mark.parametrize("value", [ROW, tuple(ROW), RECORD])
def test_writing(value: Any) -> None:
    schema = pickle.loads(pickle.dumps(AvroRowSerializationSchema(avro_schema_string=json.dumps(SCHEMA))))
    assert schema.serialize(value) == written(RECORD)


def test_reading() -> None:
    schema = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=json.dumps(SCHEMA))))
    row = schema.deserialize(written(RECORD))
    assert list(row) == list(ROW)
    assert row["place"]["x"] == 0.5
    place = Types.ROW_NAMED(["x"], [Types.DOUBLE()])
    assert schema.get_produced_type() == Types.ROW_NAMED(
        list(RECORD),
        [Types.LONG(), Types.STRING(), place, Types.LIST(place), Types.MAP(Types.STRING(), Types.INT()),
         Types.STRING(), Types.SQL_DATE(), Types.BIG_DEC()],
    )  # fmt: skip


@pytest.mark.parametrize("message", [b"", b"\x02", written(RECORD) + b"x"])
def test_messages_that_are_no_record(message: bytes) -> None:
    with pytest.raises(ValueError, match="no record of the Avro schema"):
        AvroRowDeserializationSchema(avro_schema_string=json.dumps(SCHEMA)).deserialize(message)


def test_rows_without_a_form() -> None:
    schema = AvroRowSerializationSchema(avro_schema_string=json.dumps(SCHEMA))
    with pytest.raises(ValueError, match="has 1 fields, the Avro schema has 8"):
        schema.serialize((1,))
    with pytest.raises(ValueError, match="has no form in the Avro schema"):
        schema.serialize({**RECORD, "id": "one"})


@pytest.mark.parametrize("make", [AvroRowSerializationSchema, AvroRowDeserializationSchema])
def test_what_is_refused(make: Any) -> None:
    with pytest.raises(NotImplementedError, match="record_class, which is Java's; nearest: avro_schema_string"):
        make("com.example.Order")
    with pytest.raises(TypeError, match="needs avro_schema_string"):
        make()
    with pytest.raises(ValueError, match="is no Avro schema"):
        make(avro_schema_string='{"type": "recrd"}')
    with pytest.raises(TypeError, match="takes the schema of a record"):
        make(avro_schema_string='{"type": "string"}')
