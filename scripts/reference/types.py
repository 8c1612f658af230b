"""``docs/sql/types.md``: data types with their counterparts."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.relational.type_table import arrow_type
from millrace.spark.tables.steps.spark_types import ddl, spark_type
from millrace.table.values.data_types import data_type_of


@dataclass(frozen=True)
class _Type:
    sql: str
    python: str
    values: str
    made: str
    """without ``DataTypes.``"""


_TYPES = (
    _Type("BOOLEAN", "bool", "TRUE, FALSE", "BOOLEAN()"),
    _Type("TINYINT", "int", "-128 to 127; whole numbers wrap around as in Java", "TINYINT()"),
    _Type("SMALLINT", "int", "-32,768 to 32,767", "SMALLINT()"),
    _Type("INT", "int", "-2^31 to 2^31 - 1", "INT()"),
    _Type("BIGINT", "int", "-2^63 to 2^63 - 1", "BIGINT()"),
    _Type("FLOAT", "float", "32 bits, about 7 digits", "FLOAT()"),
    _Type("DOUBLE", "float", "64 bits, about 16 digits", "DOUBLE()"),
    _Type("DECIMAL(10, 2)", "decimal.Decimal", "so many digits (38 at most), of which so many behind the point", "DECIMAL(10, 2)"),
    _Type("CHAR(3)", "str", "so many characters", "CHAR(3)"),
    _Type("VARCHAR(10)", "str", "so many characters at most", "VARCHAR(10)"),
    _Type("STRING", "str", "text, VARCHAR(2147483647)", "STRING()"),
    _Type("BINARY(3)", "bytes", "so many bytes", "BINARY(3)"),
    _Type("VARBINARY(10)", "bytes", "so many bytes at most", "VARBINARY(10)"),
    _Type("BYTES", "bytes", "VARBINARY(2147483647)", "BYTES()"),
    _Type("DATE", "datetime.date", "days", "DATE()"),
    _Type("TIME(0)", "datetime.time", "time of day, to microseconds at most", "TIME(0)"),
    _Type("TIMESTAMP(3)", "datetime.datetime", "date and time without zone, to microseconds at most (6)", "TIMESTAMP(3)"),
    _Type("TIMESTAMP_LTZ(3)", "datetime.datetime", "a moment, shown in the session's zone", "TIMESTAMP_LTZ(3)"),
    _Type("INTERVAL YEAR TO MONTH", "int", "months", "INTERVAL(DataTypes.YEAR(), DataTypes.MONTH())"),
    _Type("INTERVAL DAY TO SECOND", "datetime.timedelta", "a span, to microseconds", "INTERVAL(DataTypes.DAY(), DataTypes.SECOND())"),
    _Type("ARRAY<INT>", "list", "values of one type", "ARRAY(DataTypes.INT())"),
    _Type("MAP<STRING, INT>", "dict", "keys with values", "MAP(DataTypes.STRING(), DataTypes.INT())"),
    _Type("MULTISET<STRING>", "dict", "values with how often each is there", "MULTISET(DataTypes.STRING())"),
    _Type("ROW<a INT, b STRING>", "Row", "named values", 'ROW([DataTypes.FIELD("a", DataTypes.INT()), ..])'),
    _Type("VARIANT", "json.loads of it", "a value whose type is its own", ""),
    _Type("BITMAP", "bytes", "a set of whole numbers, as a Roaring bitmap", ""),
)  # fmt: skip

_HEAD = """# Data types

| SQL | values | Python | Arrow | Spark | `DataTypes.` |
|---|---|---|---|---|---|
{rows}

Every type has NULL, `None` in Python, unless it says `NOT NULL` (`DataTypes.INT().not_null()`). `DECIMAL`, `TIME`,
`TIMESTAMP` and the sized types have parameters; without them they are DECIMAL(10, 0), TIME(0), TIMESTAMP(6), CHAR(1).
Nothing is kept below a microsecond.

Other names: `INTEGER`, `DEC` and `NUMERIC` for DECIMAL, `DOUBLE PRECISION`, `TIMESTAMP .. WITHOUT TIME ZONE`,
`TIMESTAMP .. WITH LOCAL TIME ZONE`, `INT ARRAY`, `INT MULTISET`, `ROW(a INT)`.

A literal: `TRUE`, `1` (INT, or BIGINT), `1.5` (DECIMAL), `1E0` (DOUBLE), `'text'`, `x'4d'`, `DATE '2026-03-05'`,
`TIME '10:30:00'`, `TIMESTAMP '2026-03-05 10:30:00'`, `INTERVAL '1' DAY`, `INTERVAL '1-6' YEAR TO MONTH`,
`ARRAY[1, 2]`, `MAP['a', 1]`, `ROW(1, 'a')`, `NULL` (`CAST(NULL AS INT)` where its type matters). Casts:
[functions](../sql-functions.md#types-and-session).
"""


def page() -> str:
    """The whole text, without its first line."""
    return _HEAD.format(rows="\n".join(map(_row, _TYPES)))


def _row(each: _Type) -> str:
    data_type = data_type_of(each.sql)
    forms = (str(arrow_type(data_type)), ddl(spark_type(data_type)).replace("`", ""), each.made)
    arrow, spark, made = (f"`{form}`" if form else "" for form in forms)
    return f"| `{each.sql}` | {each.values} | `{each.python}` | {arrow} | {spark} | {made} |"
