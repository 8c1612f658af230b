"""What may go wrong with ClickHouse, and what is said then: never a password, always the place and the table."""

from __future__ import annotations

import threading

import pytest
from tests.connectors.clickhouse.conftest import Store
from tests.connectors.stores.store_tables import SECRET, StoreTables

from millrace.connectors.clickhouse.clickhouse_client import ClickHouseTable
from millrace.connectors.stores import Buffering, Retrying
from millrace.testing.services.server import free_ports

COLUMNS = "id INT, name STRING"
READ, WRITE = "SELECT * FROM {}", "INSERT INTO {} VALUES (1, 'x')"


def nowhere(port: int, **more: str) -> dict[str, str]:
    given = {"url": f"clickhouse://127.0.0.1:{port}", "table-name": "t", "username": "u", "password": SECRET}
    return {**given, "sink.max-retries": "0", **more}


@pytest.mark.parametrize("statement", [READ, WRITE])
def test_nobody_listens(tables: StoreTables, statement: str) -> None:
    (port,) = free_ports(1)
    said = tables.failure(statement.format(tables.over("clickhouse", COLUMNS, nowhere(port))))
    assert f"127.0.0.1:{port}, table default.t" in said
    assert "refused" in said


@pytest.mark.services
def test_a_wrong_password(tables: StoreTables, store: Store) -> None:
    options = store.options("t") | {"password": SECRET}
    for statement in (READ, WRITE):
        said = tables.failure(statement.format(tables.over("clickhouse", COLUMNS, options)))
        assert "Wrong password for user millrace" in said


@pytest.mark.services
@pytest.mark.parametrize("statement", [READ, WRITE])
def test_what_is_not_there(tables: StoreTables, store: Store, statement: str) -> None:
    said = tables.failure(statement.format(tables.over("clickhouse", COLUMNS, store.options("missing"))))
    assert "default.missing" in said
    assert "doesn't exist" in said
    database = store.options("t") | {"database-name": "nothing"}
    assert "nothing" in tables.failure(statement.format(tables.over("clickhouse", COLUMNS, database)))
    name = store.create("id Int32, other String")
    said = tables.failure(statement.format(tables.over("clickhouse", COLUMNS, store.options(name))))
    assert "there is no column 'name', there are id, other" in said
    assert name in said


@pytest.mark.services
@pytest.mark.parametrize(
    ("there", "declared", "value", "said"),
    [
        ("UInt8", "INT", "256", "UInt8 there, which has no 256"),
        ("Int8", "INT", "-129", "which has no -129"),
        ("Int32", "INT", "CAST(NULL AS INT)", "which has no NULL: declare it as Nullable"),
        ("UInt8", "STRING", "'x'", "UInt8 there, which cannot be written from STRING"),
        ("Decimal(9, 2)", "DECIMAL(9, 3)", "CAST(1.234 AS DECIMAL(9, 3))", "digits of DECIMAL(9, 3) would be cut"),
        ("DateTime", "TIMESTAMP(3)", "TIMESTAMP '2024-01-01 00:00:00.001'", "would cut 2024-01-01 00:00:00.001000"),
        ("DateTime", "TIMESTAMP(0)", "CAST(TIMESTAMP '1969-12-31 23:59:59' AS TIMESTAMP(0))", "is before 1970"),
        (
            "DateTime",
            "TIMESTAMP(0)",
            "CAST(TIMESTAMP '2107-01-01 00:00:00' AS TIMESTAMP(0))",
            "is before 1970 or after",
        ),
        ("Date", "DATE", "DATE '1969-12-31'", "which has no 1969-12-31"),
        ("FixedString(2)", "STRING", "'abc'", "a value has 3 bytes"),
        ("Array(Int8)", "ARRAY<INT>", "ARRAY[1, 200]", "an array of Int8 there, which has no 200"),
        ("Array(Int8)", "ARRAY<INT>", "ARRAY[1, CAST(NULL AS INT)]", "an array of Int8 there, which has no NULL"),
        ("Enum8('a' = 1)", "STRING", "'b'", "Unknown element 'b'"),
        ("Int32 MATERIALIZED 1", "INT", "1", "nothing can be written to it"),
    ],
)
def test_values_that_do_not_fit(
    tables: StoreTables, store: Store, there: str, declared: str, value: str, said: str
) -> None:
    name = store.create(f"id Int32, v {there}")
    table = tables.over("clickhouse", f"id INT, v {declared}", store.options(name))
    found = tables.failure(f"INSERT INTO {table} VALUES (1, {value})")
    assert said in found
    assert name in found
    assert store.run(f"SELECT count() FROM {name}") == [("0",)]


@pytest.mark.services
def test_types_that_are_not_what_is_declared(tables: StoreTables, store: Store) -> None:
    name = store.create("id Int64, s String")
    store.run(f"INSERT INTO {name} VALUES (3000000000, 'no number')")
    said = tables.failure(READ.format(tables.over("clickhouse", "id BIGINT, s INT", store.options(name))))
    assert "column 's' is String there, which cannot be read as INT" in said
    assert name in said
    said = tables.failure(READ.format(tables.over("clickhouse", "id INT", store.options(name))))
    assert "3000000000" in said


@pytest.mark.services
def test_a_server_that_is_killed_and_comes_back(tables: StoreTables, store: Store) -> None:
    name = store.create("id Int32")
    server = store.server
    table = ClickHouseTable(server.url, "default", name, server.user, server.password)
    retrying = Retrying(table, Buffering(retries=200, pause=0.005))

    def insert(number: int) -> None:
        retrying.run(lambda connection: connection.ask(f"INSERT INTO {name} VALUES ({number})"))

    insert(1)
    server.crash()
    back = threading.Thread(target=server.start_again)
    back.start()
    insert(2)
    back.join()
    retrying.close()
    assert store.run(f"SELECT id FROM {name} ORDER BY id") == [("1",), ("2",)]
