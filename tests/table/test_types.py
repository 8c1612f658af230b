"""Data types: made, written as SQL, read again, and as Arrow types."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from millrace.table import DataTypes as D
from millrace.table.types import DataType, RowField, RowType, create_arrow_schema, from_arrow_type, to_arrow_type

TYPES: list[tuple[DataType, str]] = [
    (D.NULL(), "NULL"),
    (D.CHAR(3), "CHAR(3)"),
    (D.VARCHAR(10, False), "VARCHAR(10) NOT NULL"),
    (D.STRING(), "STRING"),
    (D.BOOLEAN(), "BOOLEAN"),
    (D.BINARY(4), "BINARY(4)"),
    (D.VARBINARY(4), "VARBINARY(4)"),
    (D.BYTES(), "BYTES"),
    (D.DECIMAL(10, 2), "DECIMAL(10, 2)"),
    (D.TINYINT(), "TINYINT"),
    (D.SMALLINT(), "SMALLINT"),
    (D.INT(False), "INT NOT NULL"),
    (D.BIGINT(), "BIGINT"),
    (D.FLOAT(), "FLOAT"),
    (D.DOUBLE(), "DOUBLE"),
    (D.DATE(), "DATE"),
    (D.TIME(3), "TIME(3)"),
    (D.TIMESTAMP(3), "TIMESTAMP(3)"),
    (D.TIMESTAMP_LTZ(3), "TIMESTAMP_LTZ(3)"),
    (D.TIMESTAMP_WITH_LOCAL_TIME_ZONE(), "TIMESTAMP_LTZ(6)"),
    (D.ARRAY(D.INT(False)), "ARRAY<INT NOT NULL>"),
    (D.MAP(D.STRING(False), D.ARRAY(D.INT())), "MAP<STRING NOT NULL, ARRAY<INT>>"),
    (D.MULTISET(D.STRING()), "MULTISET<STRING>"),
    (D.ROW([D.FIELD("a", D.INT()), D.FIELD("odd `name", D.STRING())]), "ROW<`a` INT, `odd ``name` STRING>"),
    (D.INTERVAL(D.DAY(), D.SECOND(3)), "INTERVAL DAY(2) TO SECOND(3)"),
    (D.INTERVAL(D.YEAR(4), D.MONTH()), "INTERVAL YEAR(4) TO MONTH"),
]


@pytest.mark.parametrize(("kind", "text"), TYPES, ids=[text for _, text in TYPES])
def test_text_both_ways(kind: DataType, text: str) -> None:
    assert str(kind) == text
    assert D.of(text) == kind


def test_rows_of_bare_types() -> None:
    assert D.ROW([D.INT(), D.STRING()]).field_names() == ["f0", "f1"]


def test_there_is_no_such_interval() -> None:
    with pytest.raises(ValueError, match="no interval MONTH TO DAY"):
        D.INTERVAL(D.MONTH(), D.DAY())


ARROW: list[tuple[DataType, Any]] = [
    (D.TINYINT(), pa.int8()),
    (D.BIGINT(), pa.int64()),
    (D.STRING(), pa.utf8()),
    (D.BYTES(), pa.binary()),
    (D.BINARY(4), pa.binary(4)),
    (D.DECIMAL(10, 2), pa.decimal128(10, 2)),
    (D.DATE(), pa.date32()),
    (D.TIME(0), pa.time32("s")),
    (D.TIME(3), pa.time32("ms")),
    (D.TIME(6), pa.time64("us")),
    (D.TIMESTAMP(3), pa.timestamp("ms")),
    (D.TIMESTAMP(9), pa.timestamp("ns")),
    (D.ARRAY(D.INT()), pa.list_(pa.int32())),
    (D.MAP(D.STRING(), D.INT()), pa.map_(pa.utf8(), pa.int32())),
    (D.ROW([D.FIELD("a", D.INT())]), pa.struct([("a", pa.int32())])),
]


@pytest.mark.parametrize(("kind", "arrow"), ARROW, ids=[str(each[0]) for each in ARROW])
def test_arrow(kind: DataType, arrow: Any) -> None:
    assert to_arrow_type(kind) == arrow
    assert from_arrow_type(arrow) == kind


def test_arrow_schema() -> None:
    schema = create_arrow_schema(["a", "b"], [D.INT(False), D.STRING()])
    assert schema == pa.schema([pa.field("a", pa.int32(), False), pa.field("b", pa.utf8())])


def test_a_row_type_is_built_before_it_is_used() -> None:
    built = RowType().add("a", D.INT()).add(RowField("b", D.STRING()))
    assert built == D.ROW([D.FIELD("a", D.INT()), D.FIELD("b", D.STRING())])


def test_a_row_type_in_use_gets_no_more_fields() -> None:
    used = RowType().add("a", D.INT())
    known = {D.ARRAY(used): 1}  # a hash of a type is one of its parts, too
    with pytest.raises(ValueError, match=r"ROW<`a` INT> is in use, so it gets no more fields"):
        used.add("b", D.STRING())
    assert known == {D.ARRAY(RowType().add("a", D.INT())): 1}


def test_copies_of_a_row_type_are_apart() -> None:
    first = RowType().add("a", D.INT())
    hash(first)
    for copied in (first.not_null(), pickle.loads(pickle.dumps(first))):
        assert copied.add("b", D.STRING()).field_names() == ["a", "b"]
    assert first.field_names() == ["a"]
