"""Values as the SQL gateway writes them, in both formats of rows, and the results of statements of other kinds."""

# ruff: noqa: E501  statements are as long as they are

from __future__ import annotations

from collections.abc import Iterator

from tests.flink.rest.ask import GATEWAY, Ask
from tests.flink.rest.asks.gateway import ended, opened, result, submitted, with_rows

BATCH = {"execution.runtime-mode": "batch", "table.local-time-zone": "UTC"}
VALUES = {
    "boolean": "TRUE, CAST(NULL AS BOOLEAN)",
    "integers": "CAST(1 AS TINYINT), CAST(2 AS SMALLINT), 3, CAST(4 AS BIGINT), 9223372036854775807",
    "decimals": "CAST(1.50 AS DECIMAL(10, 2)), CAST(-1 AS DECIMAL(38, 18)), 0.1",
    "floats": "CAST(1.5 AS FLOAT), CAST(1e100 AS DOUBLE), CAST(1 AS DOUBLE), CAST(0.1 AS DOUBLE)",
    "texts": "'a', CAST('b' AS CHAR(3)), CAST('c' AS VARCHAR(3)), 'quote '' and \"', 'ü'",
    "bytes": "x'0a0b', CAST(x'0a' AS BYTES)",
    "dates": "DATE '2020-01-02', TIME '03:04:05', CAST(TIME '03:04:05' AS TIME(0))",
    "timestamps": "TIMESTAMP '2020-01-02 03:04:05.678', TIMESTAMP '2020-01-02 03:04:05', CAST('2020-01-02 03:04:05.123456' AS TIMESTAMP(6))",
    "instants": "TO_TIMESTAMP_LTZ(1000, 3), TO_TIMESTAMP_LTZ(1, 0)",
    "intervals": "INTERVAL '1' DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 02:03:04.567' DAY TO SECOND",
    "arrays": "ARRAY[1, 2], ARRAY['a', CAST(NULL AS STRING)], ARRAY[ARRAY[1]]",
    "maps": "MAP['a', 1], MAP[1, ARRAY['x']]",
    "rows": "ROW(1, 'y'), CAST(ROW(1, 'y') AS ROW<n INT, s STRING>), ROW(ROW(1), DATE '2020-01-02')",
    "json": "JSON_OBJECT('a' VALUE 1), JSON_ARRAY(1, 'b')",
    "nulls": "CAST(NULL AS INT), CAST(NULL AS ARRAY<INT>), CAST(NULL AS TIMESTAMP(3)), CAST(NULL AS BYTES)",
}  # fmt: skip
STATEMENTS = {
    "explain": "EXPLAIN SELECT 1",
    "show_tables": "SHOW TABLES",
    "show_catalogs": "SHOW CATALOGS",
    "show_databases": "SHOW DATABASES",
    "show_current": "SHOW CURRENT DATABASE",
    "show_functions": "SHOW USER FUNCTIONS",
    "show_modules": "SHOW MODULES",
    "show_views": "SHOW VIEWS",
    "show_jars": "SHOW JARS",
    "show_create": "SHOW CREATE TABLE made",
    "show_columns": "SHOW COLUMNS FROM made",
    "describe": "DESCRIBE made",
    "set": "SET 'my.own' = 'value'",
    "set_alone": "SET",
    "reset": "RESET 'my.own'",
    "reset_alone": "RESET",
    "use_database": "USE default_database",
    "use_catalog": "USE CATALOG default_catalog",
    "create_database": "CREATE DATABASE IF NOT EXISTS other",
    "create_view": "CREATE TEMPORARY VIEW seen AS SELECT n FROM few",
    "create_function": "CREATE TEMPORARY FUNCTION f AS 'nothing.Here'",
    "alter": "ALTER TABLE made RENAME TO renamed",
    "drop_view": "DROP TEMPORARY VIEW seen",
    "drop": "DROP TABLE renamed",
    "drop_again": "DROP TABLE IF EXISTS renamed",
    "statement_set": "EXECUTE STATEMENT SET BEGIN INSERT INTO sink1 SELECT n FROM few; INSERT INTO sink2 SELECT n FROM few; END",
}  # fmt: skip
BEFORE = (
    "CREATE TABLE made (n INT COMMENT 'a number', s STRING NOT NULL, PRIMARY KEY (n) NOT ENFORCED) WITH ('connector' = 'blackhole')",
    "CREATE TABLE few (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')",
    "CREATE TABLE sink1 (n INT) WITH ('connector' = 'blackhole')",
    "CREATE TABLE sink2 (n INT) WITH ('connector' = 'blackhole')",
)  # fmt: skip


def asks() -> Iterator[Ask]:
    yield opened("/v2", "values", "a session for values", {"properties": BATCH})
    for row_format in ("JSON", "PLAIN_TEXT"):
        for name, expressions in VALUES.items():
            called = f"{name}_{row_format.lower()}"
            yield submitted("/v2", "values", called, f"SELECT {expressions}")
            yield ended("/v2", "values", called)
            yield with_rows(result("/v2", "values", called, "0", row_format=row_format))
    for at, statement in enumerate(BEFORE):
        yield submitted("/v2", "values", f"before_{at}", statement)
        yield ended("/v2", "values", f"before_{at}")
    for name, statement in STATEMENTS.items():
        yield submitted("/v2", "values", name, statement)
        yield ended("/v2", "values", name)
        yield result("/v2", "values", name, "0")
    yield from _changes()


def _changes() -> Iterator[Ask]:
    """A changelog with all kinds of change."""
    yield opened("/v2", "changes", "a session for changes", {"properties": {"execution.runtime-mode": "streaming"}})
    query = "SELECT k, SUM(n) FROM (VALUES ('a', 1), ('a', 2), ('b', 5)) AS t (k, n) GROUP BY k"
    for row_format in ("JSON", "PLAIN_TEXT"):
        name = f"changes_{row_format.lower()}"
        yield submitted("/v2", "changes", name, query)
        yield ended("/v2", "changes", name)
        yield with_rows(result("/v2", "changes", name, "0", row_format=row_format))
    yield Ask(GATEWAY, "DELETE", "/v2/sessions/{session_handle}", "values", {"session_handle": "@kept.session_values"})
