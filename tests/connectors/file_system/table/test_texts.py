"""Which columns a text has."""

from __future__ import annotations

import pytest

from millrace.connectors.file_system.table.schema_inference import avro_columns, csv_columns, json_columns
from millrace.formats.csv_schema import CsvDialect
from millrace.relational.nodes import Field


def told(columns: list[Field]) -> list[str]:
    return [f"{each.name} {each.type}" for each in columns]


@pytest.mark.parametrize(
    ("text", "header", "expected"),
    [
        ("id,name\n1,Ada\n2,Ben\n", True, ["id BIGINT", "name STRING"]),
        ("1,Ada\n2,Ben\n", False, ["f0 BIGINT", "f1 STRING"]),
        ("a,b\nx,y\n", True, ["a STRING", "b STRING"]),
        ("x,y\nx,y\n", False, ["f0 STRING", "f1 STRING"]),
        ("a,b\n", False, ["f0 STRING", "f1 STRING"]),
        ("true,x\nfalse,y\n", False, ["f0 BOOLEAN", "f1 STRING"]),
        ('a,"b\nc"\n1,"x, y"\n', False, ["f0 STRING", "f1 STRING"]),
        ("n,zip,x\n1,007,1.5\n,010,-.5e3\n", True, ["n BIGINT", "zip STRING", "x DOUBLE"]),
        ("d,t,u\n2026-01-01,2026-01-01 10:00:00,2026-01-01 10:00:00.1234\n", True,
         ["d DATE", "t TIMESTAMP(3)", "u TIMESTAMP(6)"]),
        ("n\n1234567890123456789012\n", True, ["n DOUBLE"]),
        ("", False, []),
    ],
)  # fmt: skip
def test_csv(text: str, header: bool, expected: list[str]) -> None:
    columns, found = csv_columns(text, CsvDialect(), None)
    assert (told(columns), found) == (expected, header)


def test_csv_as_the_options_say() -> None:
    dialect = CsvDialect(column_separator=";", null_value="n/a", allow_comments=True)
    columns, _ = csv_columns("# made today\nx;x;\n1;n/a;3\n", dialect, True)
    assert told(columns) == ["x BIGINT", "x_1 STRING", "f2 BIGINT"]
    columns, _ = csv_columns("id;name\n1;Ada\n", dialect, False)
    assert told(columns) == ["f0 STRING", "f1 STRING"]


def test_json() -> None:
    text = b'{"a": 1, "b": [1.5], "t": "2026-01-01 10:00:00"}\n{"a": 2, "c": {"d": true}, "n": null}\n'
    assert told(json_columns(text)) == [
        "a BIGINT", "b ARRAY<DOUBLE>", "t STRING", "c ROW<`d` BOOLEAN>", "n STRING",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="changed from"):
        json_columns(b'{"a": 1}\n{"a": "x"}\n')


def test_avro() -> None:
    fields = [
        {"name": "n", "type": ["null", "long"]},
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "p", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "l", "type": {"type": "array", "items": {"type": "enum", "name": "e", "symbols": ["A"]}}},
        {"name": "m", "type": {"type": "map", "values": "int"}},
        {"name": "r", "type": {"type": "record", "name": "r", "fields": [{"name": "x", "type": "string"}]}},
    ]
    assert told(avro_columns({"type": "record", "name": "row", "fields": fields})) == [
        "n BIGINT", "t TIMESTAMP(3)", "p DECIMAL(9, 2)", "l ARRAY<STRING>", "m MAP<STRING NOT NULL, INT>",
        "r ROW<`x` STRING>",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="a union of 2 types"):
        avro_columns({"type": "record", "name": "row", "fields": [{"name": "u", "type": ["int", "string"]}]})
    with pytest.raises(ValueError, match="not a record"):
        avro_columns("string")
