"""Events, and what makes other things of them."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import RowKind
from millrace.connectors.cdc.changes import Bounds, Chunking, Cut
from millrace.connectors.cdc.debezium_json import JsonDebeziumDeserializationSchema, encoder
from millrace.connectors.cdc.deserializers import RowDebeziumDeserializationSchema
from millrace.connectors.cdc.events import (
    Column,
    CreateTableEvent,
    DataChangeEvent,
    OperationType,
    RenameColumnEvent,
    SourceMetadata,
    TableId,
    TableSchema,
    changed,
)
from millrace.relational import types as t

TABLE = TableId("db", "public", "t")
SCHEMA = TableSchema((Column("id", t.IntType()), Column("price", t.DecimalType(5, 2))), ("id",))
NAMES = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1)
KINDS = st.sampled_from([t.IntType(), t.string(), t.DateType()])


@st.composite
def schemas(draw: Any) -> TableSchema:
    return TableSchema(tuple(Column(name, draw(KINDS)) for name in draw(NAMES)))


@given(schemas(), schemas())
def test_changes_between_schemas_lead_from_one_to_the_other(old: TableSchema, new: TableSchema) -> None:
    # Columns that stay are not moved by any database, so they have the order that they had.
    stay = [column for column in new.columns if column.name in old.names]
    order = sorted(stay, key=lambda column: old.names.index(column.name))
    moved = dict(zip((column.name for column in stay), order))
    new = TableSchema(tuple(moved.get(column.name, column) for column in new.columns))
    found = old
    for event in changed(TABLE, old, new):
        found = event.apply(found)
    assert found == new


def test_a_renamed_key_stays_the_key() -> None:
    found = RenameColumnEvent(TABLE, {"id": "number"}).apply(SCHEMA)
    assert (found.names, found.primary_key) == (("number", "price"), ("number",))


@given(st.integers(-1000, 1000), st.integers(0, 3000), st.integers(1, 3000), st.integers(1, 500), st.booleans())
def test_chunks_cover_every_value_once(least: int, width: int, rows: int, size: int, even: bool) -> None:
    greatest = least + width
    chunking = Chunking(size, 0.0, 1e9) if even else Chunking(size, 1e8, 1e9)
    cut: Cut | None = Cut.begin(TABLE, "id", Bounds(least, greatest, rows), chunking)
    chunks = []
    while cut is not None:
        chunk, cut = cut.next(lambda start, most: next_of(start, most, least, size))
        chunks.append(chunk)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    assert chunks[0].start is None
    assert chunks[-1].end is None
    assert all(one.end == other.start for one, other in pairwise(chunks))
    bounds = [chunk.end for chunk in chunks[:-1]]
    assert bounds == sorted(set(bounds))
    assert all(least < bound <= greatest for bound in bounds)


def next_of(start: Any, greatest: int, least: int, size: int) -> int | None:
    found = int((least if start is None else start) + size)
    return found if found <= greatest else None


def change(op: OperationType, before: Any = None, after: Any = None) -> DataChangeEvent:
    return DataChangeEvent(TABLE, op, before, after, SCHEMA, SourceMetadata(1_700_000_000_000, "0/10", False, 7))


def test_debezium_s_texts() -> None:
    schema = pickle.loads(pickle.dumps(JsonDebeziumDeserializationSchema().bound("postgresql")))
    (text,) = schema.deserialize(change(OperationType.UPDATE, (1, Decimal("1.00")), (1, Decimal("-2.50"))))
    found = json.loads(text)
    assert isinstance(found.pop("ts_ms"), int)
    assert found == {
        "before": {"id": 1, "price": "ZA=="},
        "after": {"id": 1, "price": "/wY="},
        "source": {
            "connector": "postgresql",
            "name": "postgresql_cdc_source",
            "ts_ms": 1_700_000_000_000,
            "snapshot": "false",
            "db": "db",
            "schema": "public",
            "table": "t",
            "txId": 7,
            "position": "0/10",
        },
        "op": "u",
        "transaction": None,
    }
    assert not list(schema.deserialize(CreateTableEvent(TABLE, SCHEMA)))
    numbers = JsonDebeziumDeserializationSchema(False, {"decimal.format": "NUMERIC"})
    (text,) = numbers.deserialize(change(OperationType.INSERT, None, (1, Decimal("123456789012345678901.50"))))
    assert '"price":123456789012345678901.50' in text
    with pytest.raises(ValueError, match=r"no setting 'x'"):
        JsonDebeziumDeserializationSchema(False, {"x": 1})


def test_values_in_debezium_s_texts() -> None:
    utc = dt.timezone(dt.timedelta(hours=1))
    for kind, value, wanted in (
        (t.DateType(), dt.date(1970, 1, 11), 10),
        (t.TimeType(3), dt.time(0, 0, 1, 500_000), 1500),
        (t.TimeType(6), dt.time(0, 0, 1, 500_000), 1_500_000),
        (t.TimestampType(3), dt.datetime(1970, 1, 1, 0, 0, 2), 2000),
        (t.TimestampType(6), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), -1),
        (t.LocalZonedTimestampType(6), dt.datetime(2024, 1, 2, 1, 0, 0, 5, utc), "2024-01-02T00:00:00.000005Z"),
        (t.VarBinaryType(9), b"\x00\xff", "AP8="),
        (t.DoubleType(), float("nan"), "nan"),
        (t.ArrayType(t.DateType()), [dt.date(1970, 1, 2), None], [1, None]),
    ):
        encode = encoder(Column("c", kind))
        assert encode is not None
        assert encode(value) == wanted
    any_scale = encoder(Column("c", t.DecimalType(38, 18), "numeric"))
    assert any_scale is not None
    assert any_scale(Decimal("1.500")) == {"scale": 1, "value": "Dw=="}


def test_rows_with_their_kinds() -> None:
    make = RowDebeziumDeserializationSchema().deserialize
    both = list(make(change(OperationType.UPDATE, (1, None), (1, Decimal(2)))))
    assert [row.get_row_kind() for row in both] == [RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER]
    assert [row["price"] for row in both] == [None, Decimal(2)]
    assert [row.get_row_kind() for row in make(change(OperationType.UPDATE, None, (1, None)))] == [RowKind.UPDATE_AFTER]
    assert [row.get_row_kind() for row in make(change(OperationType.DELETE, (1, None)))] == [RowKind.DELETE]
    assert [row.get_row_kind() for row in make(change(OperationType.READ, None, (1, None)))] == [RowKind.INSERT]
