"""The oldest descriptors write types without short names, as Flink's old properties have them."""

from __future__ import annotations

from millrace.table.catalogs.legacy_schema import Schema
from millrace.table.types import DataTypes


def test_types_as_properties() -> None:
    inner = DataTypes.ROW([DataTypes.FIELD("STRING", DataTypes.STRING()), DataTypes.FIELD("b", DataTypes.BYTES())])
    schema = Schema().field("a", DataTypes.ARRAY(DataTypes.STRING())).field("r", inner).field("n", DataTypes.INT())
    schema.field("t", "SQL_TIMESTAMP").field("v", "VARCHAR").field("d", "SQL_DATE").field("h", "SQL_TIME")
    found = schema.to_properties()
    assert [found[f"schema.{place}.data-type"] for place in range(7)] == [
        "ARRAY<VARCHAR(2147483647)>",
        "ROW<`STRING` VARCHAR(2147483647), `b` VARBINARY(2147483647)>",
        "INT",
        "TIMESTAMP(3)",
        "VARCHAR",
        "DATE",
        "TIME(0)",
    ]
