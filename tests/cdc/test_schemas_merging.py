"""Types that have room for the values of two, and schemas for the tables of two."""

from __future__ import annotations

import pytest

from millrace.cdc.schema_evolution import merged, widest
from millrace.connectors.cdc.events import Column, TableSchema
from millrace.table.sql.grammar.parser import parse_type


@pytest.mark.parametrize(
    ("one", "two", "both"),
    [
        ("INT", "INT", "INT"),
        ("INT NOT NULL", "INT", "INT"),
        ("INT NOT NULL", "BIGINT NOT NULL", "BIGINT NOT NULL"),
        ("TINYINT", "SMALLINT", "SMALLINT"),
        ("INT", "DECIMAL(5, 2)", "DECIMAL(12, 2)"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 4)", "DECIMAL(12, 4)"),
        ("DECIMAL(38, 0)", "DECIMAL(10, 5)", "STRING"),
        ("FLOAT", "DOUBLE", "DOUBLE"),
        ("INT", "FLOAT", "DOUBLE"),
        ("BIGINT", "DOUBLE", "STRING"),
        ("DECIMAL(10, 2)", "DOUBLE", "STRING"),
        ("VARCHAR(5)", "VARCHAR(9)", "VARCHAR(9)"),
        ("CHAR(3)", "STRING", "STRING"),
        ("DATE", "TIMESTAMP(3)", "TIMESTAMP(3)"),
        ("TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6)"),
        ("INT", "STRING", "STRING"),
        ("BOOLEAN", "INT", "STRING"),
        ("BYTES", "VARBINARY(3)", "BYTES"),
    ],
)
def test_widest_type(one: str, two: str, both: str) -> None:
    a, b, found = (parse_type(each) for each in (one, two, both))
    assert widest(a, b) == widest(b, a) == found


def test_columns_of_both() -> None:
    def schema(**columns: str) -> TableSchema:
        return TableSchema(tuple(Column(name, parse_type(kind)) for name, kind in columns.items()), ("id",))

    one = schema(id="INT NOT NULL", a="INT", b="STRING")
    two = schema(id="BIGINT NOT NULL", c="INT NOT NULL", a="INT")
    assert merged(one, two) == schema(id="BIGINT NOT NULL", a="INT", b="STRING", c="INT")
    assert merged(one, one) == one
