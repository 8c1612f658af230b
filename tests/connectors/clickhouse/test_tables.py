"""Tables of ClickHouse: written, read, looked up, on a server of version 18.16."""

from __future__ import annotations

import random
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest
from tests.connectors.clickhouse.conftest import Store
from tests.connectors.stores.store_tables import StoreTables

from millrace.common.types import RowKind
from millrace.connectors.clickhouse.clickhouse_client import ClickHouseTable
from millrace.connectors.clickhouse.clickhouse_rows import ClickHouseChanges, Updates
from millrace.relational.rex import Field
from millrace.relational.rows import Rows, record_batch
from millrace.relational.types import IntType
from millrace.util.exceptions import TableException

STRANGE = ["it's", 'say "x"', "back\\slash", "a,b", "", " ", "%s", "\n\t\r\0", "ä€😀", "NULL", "\\N", "`", "[1]", "\\'"]

TYPES = {
    "UInt8": ("BOOLEAN", "TRUE", "1"),
    "Int8": ("TINYINT", "CAST(-128 AS TINYINT)", "-128"),
    "Int16": ("SMALLINT", "CAST(-32768 AS SMALLINT)", "-32768"),
    "UInt16": ("INT", "65535", "65535"),
    "Int32": ("INT", "-2147483648", "-2147483648"),
    "UInt32": ("BIGINT", "4294967295", "4294967295"),
    "Int64": ("BIGINT", "CAST('-9223372036854775808' AS BIGINT)", "-9223372036854775808"),
    "UInt64": ("DECIMAL(20, 0)", "CAST(18446744073709551615 AS DECIMAL(20, 0))", "18446744073709551615"),
    "Float32": ("FLOAT", "CAST(1.5 AS FLOAT)", "1.5"),
    "Float64": ("DOUBLE", "CAST(-1.25E300 AS DOUBLE)", "-1.25e300"),
    "Decimal(20, 3)": ("DECIMAL(20, 3)", "CAST(-12345678901234567.891 AS DECIMAL(20, 3))", "-12345678901234567.891"),
    "String": ("STRING", "'ä€😀'", "ä€😀"),
    "FixedString(4)": ("BYTES", "x'61626364'", "abcd"),
    "UUID": ("STRING", "'123e4567-e89b-12d3-a456-426614174000'", "123e4567-e89b-12d3-a456-426614174000"),
    "Enum8('a' = 1, 'b' = 2)": ("STRING", "'b'", "b"),
    "Date": ("DATE", "DATE '2024-02-29'", "2024-02-29"),
    "DateTime": ("TIMESTAMP(0)", "CAST(TIMESTAMP '1970-01-01 00:00:09' AS TIMESTAMP(0))", "1970-01-01 00:00:09"),
    "DateTime('Asia/Tokyo')": (
        "TIMESTAMP_LTZ(0)",
        "CAST(TO_TIMESTAMP_LTZ(9, 0) AS TIMESTAMP_LTZ(0))",
        "1970-01-01 09:00:09",
    ),
}


@pytest.mark.services
def test_values_come_back(tables: StoreTables, store: Store) -> None:
    there = ", ".join(f"c{number} Nullable({kind})" for number, kind in enumerate(TYPES))
    name = store.create(f"id Int32, {there}")
    declared = ", ".join(f"c{number} {kind}" for number, (kind, _, _) in enumerate(TYPES.values()))
    table = tables.over("clickhouse", f"id INT, {declared}", store.options(name))
    made = ", ".join(f"CAST({value} AS {kind})" for kind, value, _ in TYPES.values())
    nulls = ", ".join(f"CAST(NULL AS {kind})" for kind, _, _ in TYPES.values())
    tables.insert(f"INSERT INTO {table} VALUES (1, {made}), (2, {nulls})")
    stored = dict(zip(("1", "2"), store.run(f"SELECT * FROM {name} ORDER BY id")))
    for kind, found, (_, _, wanted) in zip(TYPES, stored["1"][1:], TYPES.values()):
        assert found == wanted, kind
    assert set(stored["2"][1:]) == {"\\N"}
    ((_, whole),) = tables.query(f"SELECT {made}")
    found_whole, found_empty = tables.rows(f"SELECT * FROM {table}")
    for kind, one, other in zip(TYPES, found_whole[1:], whole):
        assert one == other, kind
    assert set(found_empty[1:]) == {None}
    # What is written one way is read as a text, too.
    text = tables.over("clickhouse", "id INT, c6 STRING, c15 STRING, c16 STRING", store.options(name))
    assert tables.rows(f"SELECT * FROM {text} WHERE id = 1") == [
        (1, "-9223372036854775808", "2024-02-29", "1970-01-01 00:00:09")
    ]


@pytest.mark.services
def test_texts_and_arrays(tables: StoreTables, store: Store) -> None:
    name = store.create("id Int32, s String, a Array(Nullable(String)), n Array(Array(Int64)), b String")
    columns = "id INT, s STRING, a ARRAY<STRING>, n ARRAY<ARRAY<BIGINT>>, b BYTES"
    table = tables.over("clickhouse", columns, store.options(name))
    texts = {number: "'" + text.replace("'", "''") + "'" for number, text in enumerate(STRANGE)}
    lists = "ARRAY[ARRAY[CAST(1 AS BIGINT), CAST(-2 AS BIGINT)], ARRAY[CAST(3 AS BIGINT)]]"
    values = ", ".join(
        f"({number}, {text}, ARRAY[{text}, CAST(NULL AS STRING), {text}], {lists}, x'00ff5c09')"
        for number, text in texts.items()
    )
    tables.insert(f"INSERT INTO {table} VALUES {values}")
    wanted = [
        (number, text, (text, None, text), ((1, -2), (3,)), b"\x00\xff\\\t") for number, text in enumerate(STRANGE)
    ]
    assert tables.rows(f"SELECT * FROM {table}") == wanted
    lengths = store.run(f"SELECT length(s), length(a[1]), length(b) FROM {name} ORDER BY id")
    assert lengths == [(str(len(each.encode())), str(len(each.encode())), "4") for each in STRANGE]
    for number, text in texts.items():
        assert tables.rows(f"SELECT id FROM {table} WHERE s = {text}") == [(number,)], text


@pytest.mark.services
def test_changes_leave_what_a_dictionary_would_have(tables: StoreTables, store: Store) -> None:
    name = store.create("k Int64, s String, n Int64, total Int64", "MergeTree ORDER BY k")
    columns = "k BIGINT, s STRING, n BIGINT, total BIGINT, PRIMARY KEY (k, s) NOT ENFORCED"
    table = tables.over("clickhouse", columns, store.options(name))
    dice = random.Random(7)
    rows = [(dice.randrange(40), dice.randrange(-9, 10)) for _ in range(200)]
    for part in (rows[:120], rows):  # the second time replaces what the first wrote, and deletes some of it
        values = ", ".join(f"({key}, {value})" for key, value in part)
        grouped = f"SELECT k, COUNT(*), SUM(v) FROM (VALUES {values}) AS t(k, v) GROUP BY k HAVING SUM(v) >= 0"
        tables.insert(f"INSERT INTO {table} SELECT k, 'it''s', n, s FROM ({grouped}) AS x(k, n, s)")
    wanted: dict[int, list[int]] = {}
    for key, value in rows:
        wanted.setdefault(key, []).append(value)
    first: dict[int, int] = {}
    for key, value in rows[:120]:
        first[key] = first.get(key, 0) + value
    final = {key: (len(each), sum(each)) for key, each in wanted.items() if sum(each) >= 0}
    found = {int(row[0]): (int(row[2]), int(row[3])) for row in store.run(f"SELECT * FROM {name}")}
    assert {key: found[key] for key in final} == final
    assert len(found) == int(store.run(f"SELECT count() FROM {name}")[0][0])  # no key is there twice


@pytest.mark.services
def test_strategies(tables: StoreTables, store: Store) -> None:
    columns = "k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED"
    changes = "SELECT k, COUNT(*) FROM (VALUES {}) AS t(k) GROUP BY k"
    for strategy, wanted in (
        ("insert", [("1", "1"), ("1", "2")]),
        ("update", [("1", "2")]),
    ):
        name = store.create("k Int32, n Int64", "MergeTree ORDER BY k")
        table = tables.over("clickhouse", columns, store.options(name, sink__update_strategy=strategy))
        for values in ("(1)", "(1), (1)"):
            tables.insert(f"INSERT INTO {table} {changes.format(values)}")
        assert store.run(f"SELECT k, n FROM {name} ORDER BY n") == wanted
    merged = store.create("k Int32, n Int64", "ReplacingMergeTree(n) ORDER BY k")
    table = tables.over("clickhouse", columns, store.options(merged, sink__update_strategy="insert"))
    for values in ("(1)", "(1), (1)"):
        tables.insert(f"INSERT INTO {table} {changes.format(values)}")
    assert store.run(f"SELECT k, n FROM {merged} FINAL") == [("1", "2")]


@pytest.mark.services
def test_parts_and_filters(tables: StoreTables, store: Store) -> None:
    name = store.create("id Int32, s String, e Enum8('x' = 1), d Date")
    store.run(
        f"INSERT INTO {name} VALUES " + ", ".join(f"({n}, 's{n}', 'x', '2024-01-0{n % 3 + 1}')" for n in range(1, 101))
    )
    parts = {"scan.partition.column": "id", "scan.partition.num": "7"}
    bounds = {"scan.partition.lower-bound": "1", "scan.partition.upper-bound": "100"}
    columns = "id INT, s STRING, e STRING, d DATE"
    table = tables.over("clickhouse", columns, store.options(name) | parts | bounds)
    assert tables.rows(f"SELECT id FROM {table}") == [(number,) for number in range(1, 101)]
    for condition, wanted in {
        "id > 98": [99, 100],
        "s = 's7'": [7],
        "s <> 's7' AND id < 9 AND id > 5": [6, 8],
        "e = 'no such word' OR id = 3": [3],
        "d = DATE '2024-01-02' AND id < 5": [1, 4],
        "s IN ('s1', 'it''s')": [1],
        "s IS NULL": [],
    }.items():
        assert [row[0] for row in tables.rows(f"SELECT id FROM {table} WHERE {condition}")] == wanted, condition
    assert tables.query(f"SELECT COUNT(*) FROM {table}")[-1][1] == (100,)


@pytest.mark.services
def test_look_ups(tables: StoreTables, store: Store) -> None:
    name = store.create("id Int64, name Nullable(String), v Int32")
    store.run(f"INSERT INTO {name} VALUES (1, 'a', 10), (2, 'b', 20), (2, 'it\\'s', 21), (3, NULL, 30)")
    table = tables.over("clickhouse", "id BIGINT, name STRING, v INT", store.options(name, lookup__cache="PARTIAL"))
    found = tables.joined("(1), (2), (3), (9), (1)", table, "r.id = l.k", "l.k, r.name, r.v")
    wanted = [(1, "a", 10), (1, "a", 10), (2, "b", 20), (2, "it's", 21), (3, None, 30), (9, None, None)]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    by_name = tables.joined("('a'), ('A'), ('it''s')", table, "r.name = l.k", "l.k, r.v", "")
    assert sorted(by_name) == [("a", 10), ("it's", 21)]


@pytest.mark.services
@pytest.mark.parametrize(
    ("updates", "ignore", "wanted"),
    [
        (Updates.UPDATE, False, [("1", "12"), ("3", "30")]),
        (Updates.UPDATE, True, [("1", "12"), ("2", "20"), ("3", "30")]),
        (Updates.INSERT, False, [("1", "10"), ("1", "12"), ("3", "30")]),
        (Updates.DISCARD, False, [("1", "10"), ("3", "30")]),
        (Updates.DISCARD, True, [("1", "10"), ("2", "20"), ("3", "30")]),
    ],
)
def test_changes_of_all_kinds(store: Store, updates: Updates, ignore: bool, wanted: list[tuple[str, str]]) -> None:
    name = store.create("k Int32, n Int32", "MergeTree ORDER BY k")
    store.run(f"INSERT INTO {name} VALUES (1, 10), (2, 20)")
    server = store.server
    table = ClickHouseTable(server.url, "default", name, server.user, server.password)
    columns = (Field("k", IntType()), Field("n", IntType()))
    kinds = [RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.INSERT, RowKind.DELETE]
    batch = record_batch([pa.array([1, 1, 3, 2], pa.int32()), pa.array([10, 12, 30, 20], pa.int32())], 4)
    rows = Rows(batch, np.array([kind.value for kind in kinds], np.uint8))
    with closing(table()) as connection:
        ClickHouseChanges(table, columns, ("k",), updates, ignore).apply(connection, [rows])
    assert store.run(f"SELECT k, n FROM {name} ORDER BY k, n") == wanted


READ, WRITE = "SELECT * FROM m", "INSERT INTO m VALUES (1, 'x')"


@pytest.mark.parametrize(
    ("statement", "columns", "options", "said"),
    [
        (READ, "id INT, v MAP<INT, INT>", {}, "ClickHouse is neither read nor written as MAP<INT, INT>"),
        (READ, "id INT", {"url": "jdbc:mysql://h"}, "'url' is clickhouse://host:port"),
        (READ, "id INT", {"url": "clickhouse://a:1,b:2"}, "'url' names one server"),
        (READ, "id INT", {"password": "x"}, "'password' needs 'username'"),
        (READ, "id INT", {"use-local": "true"}, "'use-local' is not possible"),
        (READ, "id INT", {"scan.partition.num": "1"}, "'scan.partition.num' needs 'scan.partition.column'"),
        (WRITE, "id INT, v STRING", {"sink.update-strategy": "x"}, "is one of update, insert, discard"),
        (WRITE, "id DOUBLE, v STRING, PRIMARY KEY (id) NOT ENFORCED", {}, "PRIMARY KEY 'id': keys of ClickHouse"),
    ],
)
def test_what_cannot_be(tables: StoreTables, statement: str, columns: str, options: dict[str, str], said: str) -> None:
    given = {"connector": "clickhouse", "url": "clickhouse://nowhere", "table-name": "t", **options}
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    tables.environment.execute_sql(f"CREATE TABLE m ({columns}) WITH ({shown})")
    with pytest.raises(TableException) as caught:
        tables.insert(statement) if statement == WRITE else tables.query(statement)
    assert said in str(caught.value)
