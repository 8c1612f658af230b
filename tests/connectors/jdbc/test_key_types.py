"""Keys of every type that a database writes in a way of its own: a look-up finds the rows whose key a scan reads as
equal, and a sink changes and deletes these, whoever wrote them."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from tests.connectors.jdbc.databases import JdbcTables, Place
from tests.table.programs.running import changes_in

from millrace.connectors.jdbc.dialect import TableShape
from millrace.connectors.jdbc.jdbc_database import Database, parse_url
from millrace.relational.values import to_arrow


@dataclass(frozen=True)
class Key:
    """A key column.

    :ivar stored: literals of the database.
    :ivar others: what no row has, as literals of Millrace, though the database may take it for the same as a row's.
    """

    native: str
    declared: str
    stored: tuple[str, ...]
    others: tuple[str, ...] = ()


MARIADB = [
    Key("BIT(9)", "BYTES", ("b'0'", "b'100000001'", "b'111111111'"), ("x'00'", "x'ff'", "x'000101'", "x''")),
    Key("BIT(64)", "BYTES", ("b'1'", f"b'{'1' * 64}'"), (f"x'01{'00' * 8}'",)),
    Key("BIT(1)", "BOOLEAN", ("b'0'", "b'1'")),
    Key("BINARY(3)", "BYTES", ("x'01'", "x'010203'", "x'20'"), ("x'01'", "x''")),
    Key("VARBINARY(9)", "BYTES", ("x'01'", "x'0100'", "x''", "x'61'"), ("x'010000'", "x'41'")),
    Key("CHAR(5)", "CHAR(5)", ("'abc'", "'x '", "''"), ("'abd'",)),
    Key("CHAR(5) COLLATE utf8mb4_nopad_bin", "CHAR(5)", ("'abc'", "'x '", "''"), ("'abd'",)),
    Key("VARCHAR(5) COLLATE utf8mb4_nopad_bin", "CHAR(5)", ("'abc'", "'x    '", "''"), ("'abd'",)),
    Key("VARCHAR(5) COLLATE utf8mb4_bin", "STRING", ("'abc'", "'Abc'", "'1e1'", "''"), ("'10'",)),
    Key("ENUM('a', 'b', '2')", "STRING", ("'a'", "'2'"), ("'b'", "'1'", "''")),
    Key("TIME(3)", "TIME(3)", ("'23:59:59.123'", "'00:00:00'"), ("TIME '23:59:59'",)),
    Key("TIME", "TIME(0)", ("'23:59:59'", "'10:20:30'")),
    Key("DATETIME(6)", "TIMESTAMP(6)", ("'1500-01-01 00:00:00.000001'", "'2024-01-02'")),
    Key("DATETIME", "TIMESTAMP(0)", ("'2024-01-02 03:04:05'", "'2024-01-02'")),
    Key("TIMESTAMP(3) NULL", "TIMESTAMP_LTZ(3)", ("'2024-01-02 03:04:05.678'", "'2024-01-02'")),
    Key("DATE", "DATE", ("'1969-12-31'", "'2024-02-29'")),
    Key("YEAR", "INT", ("2024", "1901")),
    Key("DECIMAL(10,2)", "DECIMAL(10, 2)", ("1.5", "-0.01", "100"), ("1.51",)),
    Key(
        "DECIMAL(50,3)", "STRING", ("12345678901234567890123456789012345678901.5", "1.5"),
        ("'12345678901234567890123456789012345678902.500'", "'12345678901234567890123456789012345678901.501'"),
    ),
    Key("BIGINT", "STRING", ("9007199254740993", "9007199254740992"), ("'9007199254740994'", "'x'")),
    Key("INT UNSIGNED", "BIGINT", ("4294967295", "0"), ("-1",)),
    Key("BIGINT UNSIGNED", "DECIMAL(20, 0)", ("18446744073709551615", "18446744073709551614"), ("-1",)),
    Key("FLOAT", "FLOAT", ("0.1", "16777216")),
    Key("TINYINT(1)", "BOOLEAN", ("0", "1")),
]  # fmt: skip
POSTGRESQL = [
    Key("bit(9)", "STRING", ("B'000000000'", "B'100000001'"), ("'1'", "''")),
    Key("bit varying(9)", "STRING", ("B'1'", "B'01'"), ("'001'",)),
    Key("character(5)", "CHAR(5)", ("'abc'", "'x '"), ("'abd'",)),
    Key("bytea", "BYTES", ("'\\x01'", "'\\x0100'", "''"), ("x'00'",)),
    Key("time(3)", "TIME(3)", ("'23:59:59.123'", "'00:00:00'"), ("TIME '23:59:59'",)),
    Key("timestamp", "TIMESTAMP(6)", ("'1500-01-01 00:00:00.000001'", "'2024-01-02'")),
    Key("timestamptz", "TIMESTAMP_LTZ(3)", ("'2024-01-02 03:04:05.678+02'", "'2024-01-02'")),
    Key("numeric(10,2)", "DECIMAL(10, 2)", ("1.5", "-0.01", "100"), ("1.51",)),
    Key("numeric", "DECIMAL(20, 3)", ("1.50", "2", "-0.001"), ("1.51",)),
    Key("uuid", "STRING", ("'123e4567-e89b-12d3-a456-426614174000'",), ("'123e4567-e89b-12d3-a456-426614174001'",)),
    Key("real", "FLOAT", ("0.1", "16777216")),
    Key("boolean", "BOOLEAN", ("true", "false")),
    Key("varchar(5)", "STRING", ("'abc'", "'Abc'", "'x '", "'x'"), ("'abc '",)),
]  # fmt: skip
SQLITE = [
    Key("TIMESTAMP", "TIMESTAMP(6)", ("'2024-01-02T03:04:05.5'", "'2024-01-02 03:04'", "'1500-01-01 00:00:00.000001'")),
    Key("DATETIME", "TIMESTAMP_LTZ(3)", ("'2024-01-02T03:04:05Z'", "'2024-01-02 03:04:05.500+00:00'")),
    Key("TIME", "TIME(3)", ("'23:59:59.123'", "'10:20'", "'10:20:30.500000'"), ("TIME '23:59:59'",)),
    Key("DATE", "DATE", ("'1969-12-31'",)),
    Key("DECIMAL(10,2)", "DECIMAL(10, 2)", ("1.5", "-0.01", "100"), ("1.51",)),
    Key("TEXT", "DECIMAL(10, 2)", ("'1.5'", "'2.00'"), ("1.51",)),
    Key("TEXT", "CHAR(5)", ("'abc'", "'x'", "'y    '"), ("'abd'",)),
    Key("BLOB", "BYTES", ("x'01'", "x'0100'", "x''"), ("x'00'",)),
    Key("BOOLEAN", "BOOLEAN", ("0", "1")),
]
DUCKDB = [
    Key("TIME", "TIME(6)", ("'23:59:59.123'", "'10:20:00'"), ("TIME '23:59:59'",)),
    Key("TIMESTAMP", "TIMESTAMP(6)", ("'1500-01-01 00:00:00.000001'", "'2024-01-02'")),
    Key("TIMESTAMPTZ", "TIMESTAMP_LTZ(3)", ("'2024-01-02 03:04:05.678+02'", "'2024-01-02 00:00:00+00'")),
    Key("DECIMAL(10,2)", "DECIMAL(10, 2)", ("1.5", "-0.01", "100"), ("1.51",)),
    Key("HUGEINT", "STRING", ("170141183460469231731687303715884105727", "1"), ("'2'",)),
    Key("UBIGINT", "DECIMAL(20, 0)", ("18446744073709551615", "18446744073709551614"), ("-1",)),
    Key("VARCHAR", "CHAR(5)", ("'abc'", "'x '"), ("'abd'",)),
    Key("BLOB", "BYTES", ("'\\x01'", "'\\x01\\x00'", "''"), ("x'00'",)),
    Key("FLOAT", "FLOAT", ("0.1", "16777216")),
    Key("UUID", "STRING", ("'123e4567-e89b-12d3-a456-426614174000'",), ("'123e4567-e89b-12d3-a456-426614174001'",)),
]
KEYS = {"jdbc:mariadb:": MARIADB, "jdbc:postgresql:": POSTGRESQL, "jdbc:sqlite:": SQLITE, "jdbc:duckdb:": DUCKDB}
CACHE = {"lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "100"}
WAYS: dict[str, tuple[str, dict[str, str], int | None]] = {
    "one by one": ("", {}, 1),
    "many at once": ("", {}, None),
    "from the cache": ("", CACHE, 2),
    "asynchronous": ("/*+ LOOKUP('table' = 't', 'async' = 'true', 'output-mode' = 'allow_unordered') */", {}, 3),
    "all in memory": ("", {"lookup.cache": "FULL", "lookup.full-cache.periodic-reload.interval": "1 h"}, None),
}
"""way -> hint, options of the table, records of an epoch"""


def keys_of(place: Place) -> list[Key]:
    return next(keys for prefix, keys in KEYS.items() if place.url.startswith(prefix))


def filled(place: Place, keys: list[Key], primary: str = "") -> str:
    """A table with a column for each of the keys, and rows that the database wrote."""
    columns = ", ".join(f"c{number} {key.native}" for number, key in enumerate(keys))
    table = place.create(f"id INT, k INT, {columns}{primary}")
    for row in range(max(len(key.stored) for key in keys)):
        values = ", ".join(key.stored[row] if row < len(key.stored) else "NULL" for key in keys)
        place.run(f"INSERT INTO {table} VALUES ({row}, {row % 2}, {values})")
    return table


def read(programs: JdbcTables, source: str, columns: str) -> list[tuple[Any, ...]]:
    """The rows of a scan, with decimals as they are."""
    plan = programs.environment.sql_query(f"SELECT {columns} FROM {source}")._plan
    return [row for _, row in changes_in(programs._run([plan], 1).collected, plan.schema, tuple)]


@pytest.mark.parametrize("way", WAYS)
def test_a_look_up_finds_what_a_scan_reads_as_equal(place: Place, way: str) -> None:
    hint, options, records = WAYS[way]
    programs, keys = JdbcTables(), keys_of(place)
    declared = ", ".join(f"c{number} {key.declared}" for number, key in enumerate(keys))
    table = filled(place, keys)
    source = programs.over(place, table, f"id INT, k INT, {declared}")
    looked_up = programs.over(place, table, f"id INT, k INT, {declared}", **options)
    scanned = read(programs, source, "*")
    queries, wanted = [], set()
    for number, key in enumerate(keys):
        column = [(row[0], row[number + 2]) for row in scanned if row[number + 2] is not None]
        assert len(column) == len(key.stored)
        wanted |= {(number, one, other) for (one, a), (other, b) in itertools.product(column, column) if a == b}
        others = "".join(f" UNION ALL SELECT -1, 0, CAST({each} AS {key.declared})" for each in key.others)
        for both in ("", " AND t.k = v.k"):
            queries.append(
                f"SELECT {hint} {number} AS n, v.id, t.id FROM (SELECT id, k, c, PROCTIME() AS p FROM "
                f"(SELECT id, k, c{number} AS c FROM {source} WHERE c{number} IS NOT NULL{others})) AS v "
                f"JOIN {looked_up} FOR SYSTEM_TIME AS OF v.p AS t ON t.c{number} = v.c{both}"
            )
    found = programs.query(" UNION ALL ".join(queries), 1, epoch_records=records)
    counted = Counter(row for _, row in found)
    odd = {row: counted[row] for row in {*counted, *wanted} if counted[row] != 2 or row not in wanted}
    assert not odd, {row: (keys[row[0]].native, times) for row, times in odd.items()}


def test_a_sink_changes_and_deletes_rows_that_others_wrote(place: Place) -> None:
    programs, tried = JdbcTables(), 0
    for key in keys_of(place):
        if key.declared in ("STRING", "FLOAT") or key.native.startswith("VARCHAR"):
            continue
        table = place.create(f"c {key.native.replace(' NULL', '')} PRIMARY KEY, n INT")
        for number, literal in enumerate(key.stored):
            place.run(f"INSERT INTO {table} VALUES ({literal}, {number})")
        columns = f"c {key.declared}, n INT, PRIMARY KEY (c) NOT ENFORCED"
        source, sink = (programs.over(place, table, columns) for _ in range(2))
        programs.insert(f"INSERT INTO {sink} SELECT c, n + 10 FROM {source}")
        changed = sorted(row[0] for row in place.run(f"SELECT n FROM {table}"))
        assert changed == [number + 10 for number in range(len(key.stored))], key
        kind = programs.environment.sql_query(f"SELECT c FROM {source}")._plan.schema[0].type
        values = to_arrow([row[0] for row in read(programs, source, "c")], kind)
        database = Database(*parse_url(place.url, place.user, place.password, {}, 30))
        with closing(database()) as connection:
            database.dialect.delete(connection, TableShape(table, ("c", "n"), ("c",)), [values], [kind])
            connection.commit()
        assert place.run(f"SELECT n FROM {table}") == [], key
        tried += 1
    assert tried > 3
