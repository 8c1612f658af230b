"""Tables of HBase: written, read, looked up. What is in them is asked of the server by its own client."""

from __future__ import annotations

import random
import struct

import pytest
from tests.connectors.hbase.conftest import Families
from tests.connectors.stores.store_tables import StoreTables

from millrace.testing.services.server import free_ports
from millrace.util.exceptions import TableException

COLUMNS = "k STRING, f ROW<a INT, b STRING>, g ROW<c DOUBLE>"


def test_what_is_written_is_there_as_java_has_it(tables: StoreTables, families: Families) -> None:
    name = families.create("f", "g")
    table = tables.over("hbase-2.2", f"{COLUMNS}, PRIMARY KEY (k) NOT ENFORCED", families.options(name))
    tables.insert(
        f"INSERT INTO {table} VALUES ('x', ROW(7, 'seven'), ROW(CAST(1.5 AS DOUBLE))), "
        "('y', ROW(CAST(NULL AS INT), CAST(NULL AS STRING)), ROW(CAST(NULL AS DOUBLE)))"
    )
    assert families.all(name) == {
        b"x": {b"f:a": struct.pack(">i", 7), b"f:b": b"seven", b"g:c": struct.pack(">d", 1.5)},
        b"y": {b"f:a": b"", b"f:b": b"null", b"g:c": b""},
    }
    assert tables.rows(f"SELECT k, f.a, f.b, g.c FROM {table}") == [("x", 7, "seven", 1.5), ("y", None, None, None)]
    assert tables.rows(f"SELECT k FROM {table} WHERE f.a = 7") == [("x",)]
    assert tables.query(f"SELECT COUNT(*) FROM {table}")[-1][1] == (2,)


def test_every_type_comes_back(tables: StoreTables, families: Families) -> None:
    values = {
        "BOOLEAN": "TRUE",
        "TINYINT": "CAST(-128 AS TINYINT)",
        "SMALLINT": "CAST(-2 AS SMALLINT)",
        "BIGINT": "9223372036854775807",
        "FLOAT": "CAST(1.5 AS FLOAT)",
        "DECIMAL(20, 3)": "CAST(-12345678901234567.891 AS DECIMAL(20, 3))",
        "BYTES": "x'00ff'",
        "DATE": "DATE '1969-12-31'",
        "TIME(3)": "CAST(TIME '23:59:59.123' AS TIME(3))",
        "TIMESTAMP(3)": "TIMESTAMP '1500-01-01 00:00:00.001'",
        "TIMESTAMP_LTZ(3)": "TO_TIMESTAMP_LTZ(1001, 3)",
        "CHAR(3)": "CAST('ab' AS CHAR(3))",
    }
    fields = ", ".join(f"c{number} {kind}" for number, kind in enumerate(values))
    name = families.create("f")
    table = tables.over("hbase-2.6", f"k BIGINT, f ROW<{fields}>", families.options(name))
    made = ", ".join(f"CAST({value} AS {kind})" for kind, value in values.items())
    tables.insert(f"INSERT INTO {table} VALUES (-1, ROW({made}))")
    wanted = ", ".join(f"f.c{number}" for number in range(len(values)))
    assert tables.rows(f"SELECT {wanted} FROM {table}") == [tables.query(f"SELECT {made}")[0][1]]
    assert list(families.all(name)) == [b"\xff" * 8]


def test_nulls(tables: StoreTables, families: Families) -> None:
    name = families.create("f", "g")
    old = {b"f:a": struct.pack(">i", 1), b"f:b": b"old"}
    families.put(name, {b"x": old, b"y": {b"g:other": b"not declared"}})
    options = families.options(name, sink__ignore_null_value="true", null_string_literal="(none)")
    table = tables.over("hbase-2.2", COLUMNS, options)
    tables.insert(f"INSERT INTO {table} SELECT 'x', ROW(2, CAST(NULL AS STRING)), CAST(NULL AS ROW<c DOUBLE>)")
    assert families.all(name)[b"x"] == {b"f:a": struct.pack(">i", 2), b"f:b": b"old"}
    families.put(name, {b"x": {b"f:b": b"(none)"}})
    for wanted in ("k, f.b, g.c", "k, g.c, f.b"):  # a row is there by all its declared cells, whatever is wanted
        assert tables.rows(f"SELECT {wanted} FROM {table}") == [("x", None, None)]


def test_changes_leave_what_a_dictionary_would_have(tables: StoreTables, families: Families) -> None:
    name = families.create("f")
    table = tables.over("hbase-2.2", "k INT, f ROW<n BIGINT, total INT>", families.options(name))
    dice = random.Random(3)
    rows = [(dice.randrange(40), dice.randrange(-9, 10)) for _ in range(300)]
    values = ", ".join(f"({key}, {value})" for key, value in rows)
    grouped = f"SELECT k, COUNT(*) AS n, SUM(v) AS s FROM (VALUES {values}) AS t(k, v) GROUP BY k HAVING SUM(v) >= 0"
    tables.insert(f"INSERT INTO {table} SELECT k, ROW(n, s) FROM ({grouped})")
    wanted: dict[int, list[int]] = {}
    for key, value in rows:
        wanted.setdefault(key, []).append(value)
    expected = [(key, len(each), sum(each)) for key, each in sorted(wanted.items()) if sum(each) >= 0]
    assert tables.rows(f"SELECT k, f.n, f.total FROM {table}") == expected


def test_look_ups(tables: StoreTables, families: Families) -> None:
    name = families.create("f", "g")
    table = tables.over("hbase-2.2", COLUMNS, families.options(name, lookup__cache="PARTIAL"))
    tables.insert(f"INSERT INTO {table} VALUES ('x', ROW(1, 'one'), ROW(0.5)), ('y', ROW(2, 'two'), ROW(0.5))")
    found = tables.joined("('x'), ('z'), ('y'), ('x'), ('')", table, "r.k = l.k", "l.k, r.f.b")
    assert found == [("", None), ("x", "one"), ("x", "one"), ("y", "two"), ("z", None)]


def test_only_row_keys(tables: StoreTables, families: Families) -> None:
    name = families.create("f")
    families.put(name, {b"\x00\x00\x00\x07": {b"f:a": b"1"}, b"\x00\x00\x00\x08": {b"f:b": b"2"}})
    table = tables.over("hbase-2.2", "k INT", families.options(name))
    assert tables.rows(f"SELECT * FROM {table}") == [(7,), (8,)]


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ("k STRING, v INT, f ROW<a INT>", {}, "columns that are no ROW: k, v"),
        ("f ROW<a INT>", {}, "columns that are no ROW: none"),
        ("k STRING, f ROW<a ARRAY<INT>>", {}, "column 'f:a': HBase has no values of type ARRAY<INT>"),
        ("k STRING, f ROW<a TIMESTAMP(6)>", {}, "HBase keeps milliseconds"),
        ("k STRING, f ROW<a INT>", {"thrift.address": "nowhere"}, "'thrift.address' is 'host:port', not 'nowhere'"),
        ("k STRING, f ROW<a INT>", {"properties.hbase.security.authentication": "kerberos"}, "without Kerberos"),
        ("k STRING, f ROW<a INT>", {"thrift.transport": "x"}, "'thrift.transport' is one of buffered, framed"),
    ],
)
def test_what_cannot_be(tables: StoreTables, columns: str, options: dict[str, str], said: str) -> None:
    table = tables.over("hbase-2.2", columns, {"table-name": "t", "zookeeper.quorum": "z:2181", **options})
    with pytest.raises(TableException) as caught:
        tables.query(f"SELECT * FROM {table}")
    assert said in str(caught.value)


def test_what_cannot_be_written_or_looked_up(tables: StoreTables) -> None:
    where = {"table-name": "t", "zookeeper.quorum": "z:2181"}
    with pytest.raises(TableException, match="HBase has no rows without cells"):
        tables.insert(f"INSERT INTO {tables.over('hbase-2.2', 'k INT', where)} VALUES (1)")
    table = tables.over("hbase-2.2", "k INT, f ROW<a INT>", where)
    with pytest.raises(TableException, match="looked up by its row key 'k'"):
        tables.joined("(1)", table, "r.f = ROW(l.k)")


def test_nobody_listens(tables: StoreTables) -> None:
    (port,) = free_ports(1)
    where = {"table-name": "t", "zookeeper.quorum": "z", "thrift.address": f"127.0.0.1:{port}"}
    table = tables.over("hbase-2.2", "k STRING, f ROW<a INT>", {**where, "sink.max-retries": "0"})
    for statement in (f"SELECT * FROM {table}", f"INSERT INTO {table} VALUES ('x', ROW(1))"):
        said = tables.failure(statement)
        assert f"127.0.0.1:{port}, table t" in said
        assert "connect" in said.lower()


def test_a_table_that_is_not_there(tables: StoreTables, families: Families) -> None:
    table = tables.over("hbase-2.2", "k STRING, f ROW<a INT>", families.options("missing", sink__max_retries="0"))
    for statement in (f"SELECT * FROM {table}", f"INSERT INTO {table} VALUES ('x', ROW(1))"):
        said = tables.failure(statement)
        assert "table missing" in said
        assert "\tat" not in said


def test_a_family_that_is_not_there(tables: StoreTables, families: Families) -> None:
    name = families.create("f")
    table = tables.over("hbase-2.2", "k STRING, z ROW<a INT>", families.options(name, sink__max_retries="0"))
    said = tables.failure(f"INSERT INTO {table} VALUES ('x', ROW(1))")
    assert name in said
    assert "NoSuchColumnFamily" in said


def test_bytes_of_another_type(tables: StoreTables, families: Families) -> None:
    name = families.create("f")
    families.put(name, {b"x": {b"f:a": b"text"}, b"y": {b"f:a": b"a longer text"}})
    table = tables.over("hbase-2.2", "k STRING, f ROW<a INT>", families.options(name))
    said = tables.failure(f"SELECT * FROM {table}")
    assert "row b'y', column f:a: b'a longer text' is no INT" in said
    assert name in said


def test_an_empty_row_key(tables: StoreTables, families: Families) -> None:
    name = families.create("f")
    table = tables.over("hbase-2.2", "k STRING, f ROW<a INT>", families.options(name))
    assert "row key 'k' must not be empty" in tables.failure(f"INSERT INTO {table} VALUES ('', ROW(1))")
