"""The types of each database: what the catalog takes them for, and values that go there and come back.

``python -m tests.connectors.jdbc.type_tables`` writes the tables of the guide; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from millrace.connectors.jdbc import duckdb, mysql, postgresql, sqlite

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "databases.md"

# type of the database -> a value, as Millrace's SQL writes it
VALUES: Mapping[str, Mapping[str, str]] = {
    "PostgreSQL": {
        "boolean": "TRUE",
        "smallint": "-32768",
        "integer": "2147483647",
        "bigint": "-9223372036854775807",
        "real": "1.5",
        "double precision": "-1.25E300",
        "numeric(10,2)": "-12345678.91",
        "numeric(38,0)": "99999999999999999999999999999999999999",
        "numeric": "12345.678901234567890123",
        "numeric(50,3)": "'12345678901234567890123456789012345678901.500'",
        "character(5)": "'abc  '",
        "character varying(20)": "'it''s \\'",
        "text": "'ä€😀'",
        "bytea": "x'00ff10'",
        "date": "DATE '1969-12-31'",
        "time(3) without time zone": "TIME '23:59:59.123'",
        "timestamp(6) without time zone": "TIMESTAMP '1500-01-01 00:00:00.000001'",
        "timestamp(3) with time zone": "TO_TIMESTAMP_LTZ(-1001, 3)",
        "uuid": "'123e4567-e89b-12d3-a456-426614174000'",
        "json": "'{\"a\": [1, null]}'",
        "jsonb": "'{\"a\": [1, null]}'",
        "inet": "'10.0.0.0/8'",
        "interval": "'1 mon 02:03:04'",
        "bit(3)": "'101'",
        "integer[]": "ARRAY[1, 2, CAST(NULL AS INT)]",
        "text[]": "ARRAY['a,b', '\"', '\\', '']",
        "numeric(8,2)[]": "ARRAY[1.25, -2.50]",
        "timestamp with time zone[]": "ARRAY[TO_TIMESTAMP_LTZ(0, 3)]",
        "boolean[]": "ARRAY[TRUE, FALSE]",
        "bytea[]": "ARRAY[x'00', x'ff']",
    },
    "MySQL and MariaDB": {
        "tinyint(1)": "TRUE",
        "tinyint(4)": "-128",
        "tinyint(3) unsigned": "255",
        "smallint(6)": "-32768",
        "smallint(5) unsigned": "65535",
        "mediumint(9)": "-8388608",
        "int(11)": "-2147483648",
        "int(10) unsigned": "4294967295",
        "bigint(20)": "-9223372036854775807",
        "bigint(20) unsigned": "18446744073709551615",
        "float": "1.5",
        "double": "-1.25E300",
        "decimal(10,2)": "-12345678.91",
        "decimal(38,0)": "99999999999999999999999999999999999999",
        "decimal(50,3)": "'12345678901234567890123456789012345678901.500'",
        "bit(1)": "TRUE",
        "bit(9)": "x'0101'",
        "year(4)": "2024",
        "char(5)": "'abc'",
        "varchar(20)": "'it''s \\'",
        "text": "'ä€😀'",
        "longtext": "'x'",
        "enum('a','b')": "'b'",
        "json": "'{\"a\": [1, null]}'",
        "varbinary(9)": "x'00ff10'",
        "blob": "x'00ff10'",
        "date": "DATE '1969-12-31'",
        "time(3)": "TIME '23:59:59.123'",
        "datetime(6)": "TIMESTAMP '1500-01-01 00:00:00.000001'",
        "timestamp(3)": "TO_TIMESTAMP_LTZ(1001, 3)",
        "uuid": "'123e4567-e89b-12d3-a456-426614174000'",
    },
    "SQLite": {
        "BOOLEAN": "TRUE",
        "INTEGER": "-9223372036854775807",
        "REAL": "-1.25E300",
        "DECIMAL(10,2)": "-12345678.91",
        "TEXT": "'ä€😀'",
        "VARCHAR(20)": "'it''s \\'",
        "BLOB": "x'00ff10'",
        "DATE": "DATE '1969-12-31'",
        "TIME": "TIME '23:59:59.123'",
        "TIMESTAMP": "TIMESTAMP '1500-01-01 00:00:00.000001'",
    },
    "DuckDB": {
        "BOOLEAN": "TRUE",
        "TINYINT": "-128",
        "UTINYINT": "255",
        "SMALLINT": "-32768",
        "USMALLINT": "65535",
        "INTEGER": "2147483647",
        "UINTEGER": "4294967295",
        "BIGINT": "-9223372036854775807",
        "UBIGINT": "18446744073709551615",
        "HUGEINT": "'-170141183460469231731687303715884105727'",
        "FLOAT": "1.5",
        "DOUBLE": "-1.25E300",
        "DECIMAL(10,2)": "-12345678.91",
        "DECIMAL(38,0)": "99999999999999999999999999999999999999",
        "VARCHAR": "'ä€😀 it''s \\'",
        "BLOB": "x'00ff10'",
        "DATE": "DATE '1969-12-31'",
        "TIME": "TIME '23:59:59.123'",
        "TIMESTAMP": "TIMESTAMP '1500-01-01 00:00:00.000001'",
        "TIMESTAMP_MS": "TIMESTAMP '1500-01-01 00:00:00.001'",
        "TIMESTAMP WITH TIME ZONE": "TO_TIMESTAMP_LTZ(-1001, 3)",
        "UUID": "'123e4567-e89b-12d3-a456-426614174000'",
        "JSON": "'{\"a\": [1, null]}'",
        "INTEGER[]": "ARRAY[1, 2, CAST(NULL AS INT)]",
        "VARCHAR[]": "ARRAY['a,b', '\"', '\\', '']",
        "DECIMAL(8,2)[]": "ARRAY[1.25, -2.50]",
    },
}
TYPE_OF = {
    "PostgreSQL": postgresql.postgresql_type,
    "MySQL and MariaDB": mysql.mysql_type,
    "SQLite": sqlite.sqlite_type,
    "DuckDB": duckdb.duckdb_type,
}
BEGIN, END = "<!-- types: begin -->", "<!-- types: end -->"


def tables() -> str:
    """The tables of the guide."""
    parts = []
    for database, values in VALUES.items():
        rows = [f"| `{native}` | `{TYPE_OF[database](native)}` |" for native in values]
        parts.append("\n".join([f"| {database} | Millrace |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def main() -> None:
    before, _, rest = GUIDE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    GUIDE.write_text(f"{before}{BEGIN}\n{tables()}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
