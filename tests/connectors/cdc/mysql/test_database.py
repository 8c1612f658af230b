"""Chunks and the log of a real MariaDB."""

from __future__ import annotations

import time
import uuid
from typing import Any

import pytest
from tests.connectors.cdc.mysql.capturing import SECONDS, LogOf, Server

from millrace.connectors.cdc.changes import Change, Chunk, Relation
from millrace.connectors.cdc.database import PositionLost, StartupOptions
from millrace.connectors.cdc.events import (
    AddColumnEvent,
    AlterColumnTypeEvent,
    CreateTableEvent,
    DropColumnEvent,
    DropTableEvent,
    RenameColumnEvent,
    TableId,
    TruncateTableEvent,
)
from millrace.connectors.cdc.mysql import binlog_reader
from millrace.relational import types as t

pytestmark = pytest.mark.services

TYPES = {
    "tinyint unsigned": "255", "tinyint(1)": "1", "smallint": "-32768", "mediumint": "-8388608",
    "mediumint unsigned": "16777215", "int unsigned": "4294967295", "bigint": "-9223372036854775808",
    "bigint unsigned": "18446744073709551615", "decimal(38,10)": "-1234567890123456789012345678.0123456789",
    "decimal(65,30)": "12345678901234567890123456789012345.123456789012345678901234567890",
    "decimal(5,5)": "-0.00001", "float": "1.2345678", "double": "1.2345678901234567", "bit(13)": "b'1000000000001'",
    "year": "2155", "date": "'1000-02-03'", "time": "'-00:00:01'", "time(3)": "'-12:34:56.789'",
    "time(6)": "'-838:59:58.000001'", "datetime": "'9999-12-31 23:59:59'",
    "datetime(6)": "'1000-01-01 00:00:00.000001'",
    "timestamp(4) NULL": "'2037-01-01 01:02:03.1234'", "timestamp NULL": "0", "enum('ä','b')": "'ä'",
    "set('x','y','z')": "'z,x'", "json": "'{\"a\": [1, null, \"ü\"]}'", "blob": "x'00ff'", "longtext": "'😀'",
    "text character set latin1": "'ü€'", "char(5)": "'ab '", "binary(5)": "x'0100'", "varbinary(300)": "x'0100'",
    "varchar(300)": "'😀'", "varchar(20) character set ucs2": "'ü'", "varchar(9) character set cp1251": "'я'",
    "uuid": "'123e4567-e89b-12d3-a456-426614174000'", "inet4": "'1.2.3.4'", "inet6": "'::ffff:1.2.3.4'",
    "point": "ST_GeomFromText('POINT(1 2)')", "int as (7) virtual": "default", "int as (8) stored": "default",
}  # fmt: skip
"""and a value of each, as SQL writes it"""


@pytest.fixture(params=[pytest.param(each, marks=pytest.mark.draw(2)) for each in ("FULL", "NO_LOG")])
def metadata(request: Any, server: Server) -> Any:
    """How much the log says of columns."""
    server.run(f"SET GLOBAL binlog_row_metadata = {request.param}")
    yield request.param
    server.run("SET GLOBAL binlog_row_metadata = FULL")


def rows_of(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*rows.columns))


def test_every_type_is_the_same_in_the_log_and_in_the_table(server: Server, metadata: str) -> None:
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(TYPES))
    table = server.create(f"id INT PRIMARY KEY, {columns}")
    log = LogOf(server.database(table))
    server.run(
        f"INSERT INTO {table.table} VALUES (1, {', '.join(TYPES.values())})",
        f"INSERT INTO {table.table} (id) VALUES (2)",
    )
    changes = log.read(2)
    rows = log.database.read_chunk(Chunk(table, 0), log.relations[0].schema)
    assert [change.after for change in changes] == rows_of(rows)
    for place, column in enumerate(log.relations[0].schema.columns):
        values = [change.after[place] for change in changes]
        # Spans of time are no times of a day.
        kind = t.string() if column.native.startswith("time(") or column.native == "time" else column.type
        made = log.database.column(values, column.native, kind, column.name)
        expected = [row[place] for row in rows_of(rows)]
        assert made.equals(log.database.column(expected, column.native, kind, column.name))
        assert made.null_count == (0 if "id" in column.name else 1) or column.native in ("timestamp", "int(11)")


def test_what_changes_rows(server: Server, metadata: str) -> None:
    table = server.create("id INT PRIMARY KEY, a VARCHAR(9)")
    log = LogOf(server.database(table))
    name = table.table
    server.run(
        f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')",
        f"UPDATE {name} SET a = 'c' WHERE id = 1",
        f"UPDATE {name} SET id = 7 WHERE id = 2",
        f"DELETE FROM {name} WHERE id = 1",
        f"REPLACE INTO {name} VALUES (7, 'd')",
        f"INSERT INTO {name} VALUES (7, 'e') ON DUPLICATE KEY UPDATE a = 'f'",
        "BEGIN",
        f"INSERT INTO {name} VALUES (8, 'x')",
        "ROLLBACK",
    )
    found = [(each.op, each.before, each.after) for each in log.read(8)]
    assert found == [
        ("c", None, (1, "a")), ("c", None, (2, "b")), ("u", (1, "a"), (1, "c")), ("d", (2, "b"), None),
        ("c", None, (7, "b")), ("d", (1, "c"), None), ("u", (7, "b"), (7, "d")), ("u", (7, "d"), (7, "f")),
    ]  # fmt: skip


@pytest.mark.parametrize("searched", [False, True])
def test_prepared_transactions_happen_when_they_are_committed(server: Server, searched: bool) -> None:
    table = server.create("id INT PRIMARY KEY")
    other = server.create("id INT PRIMARY KEY")
    name = table.table
    log = LogOf(server.database(table))

    def prepare(xid: str, number: int) -> None:
        insert = f"INSERT INTO {name} VALUES ({number}), ({number + 1})"
        server.run(f"XA START '{xid}'", insert, f"XA END '{xid}'", f"XA PREPARE '{xid}'")

    first, second = f"{name}-1", f"{name}-2"
    prepare(first, 10)
    prepare(second, 20)
    if searched:
        # A capture that begins between the two only knows that something was committed.
        log = LogOf(server.database(table))
        server.run("FLUSH BINARY LOGS")
    server.run(
        f"INSERT INTO {other.table} VALUES (1)",
        f"INSERT INTO {name} VALUES (1)",
        f"XA ROLLBACK '{second}'",
        f"XA COMMIT '{first}'",
        f"XA START '{name}'", f"INSERT INTO {name} VALUES (2)", f"XA END '{name}'", f"XA COMMIT '{name}' ONE PHASE",
        f"INSERT INTO {name} VALUES (3)",
    )  # fmt: skip
    assert [change.after for change in log.read(5)] == [(1,), (10,), (11,), (2,), (3,)]


def test_compressed_events(server: Server) -> None:
    table = server.create("id INT PRIMARY KEY, a TEXT")
    log = LogOf(server.database(table))
    text = "x" * 5000
    server.run("SET GLOBAL log_bin_compress = 1")
    try:
        server.run(
            f"INSERT INTO {table.table} VALUES (1, '{text}')",
            f"UPDATE {table.table} SET a = CONCAT(a, 'y')",
            f"ALTER TABLE {table.table} ADD COLUMN b INT COMMENT '{'z' * 600}'",
            f"DELETE FROM {table.table}",
        )
    finally:
        server.run("SET GLOBAL log_bin_compress = 0")
    found = log.read(4)
    assert [each.op for each in found if isinstance(each, Change)] == ["c", "u", "d"]
    assert found[-1].before == (1, f"{text}y", None)
    assert isinstance(found[2], AddColumnEvent)


def test_columns_change(server: Server, metadata: str) -> None:
    table = server.create("id INT PRIMARY KEY, a VARCHAR(9), b INT")
    log = LogOf(server.database(table))
    name = table.table
    server.run(
        f"INSERT INTO {name} VALUES (1, 'a', 2)",
        f"ALTER TABLE {name} ADD COLUMN c BIGINT UNSIGNED DEFAULT 5 AFTER id",
        f"INSERT INTO {name} VALUES (2, 18446744073709551615, 'b', 3)",
        f"ALTER TABLE {name} DROP COLUMN b, CHANGE a d VARCHAR(20)",
        f"INSERT INTO {name} VALUES (3, 6, 'c')",
        f"ALTER TABLE {name} MODIFY d TEXT FIRST",
        f"INSERT INTO {name} VALUES ('d', 4, 7)",
        f"TRUNCATE TABLE {name}",
        f"DROP TABLE {name}",
    )
    found = log.read(9, lambda events: any(isinstance(each, DropTableEvent) for each in events))
    kinds = [type(each).__name__ if not isinstance(each, Change) else each.after for each in found]
    assert kinds == [
        (1, "a", 2), AddColumnEvent.__name__, (2, 18446744073709551615, "b", 3), DropColumnEvent.__name__,
        RenameColumnEvent.__name__, (3, 6, "c"), AlterColumnTypeEvent.__name__, ("d", 4, 7),
        TruncateTableEvent.__name__, DropTableEvent.__name__,
    ]  # fmt: skip
    schemas = [each.relation.schema for each in found if isinstance(each, Change)]
    assert [schema.names for schema in schemas] == [
        ("id", "a", "b"), ("id", "c", "a", "b"), ("id", "c", "d"), ("d", "id", "c"),
    ]  # fmt: skip


def test_going_on_at_any_event_gives_the_same(server: Server, metadata: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = server.create("id INT PRIMARY KEY, a INT")
    log = LogOf(server.database(table))
    begin, relations = log.position, log.relations
    name = table.table
    server.run(
        "BEGIN",
        *(f"INSERT INTO {name} VALUES ({number}, 0), ({number + 100}, 1)" for number in range(4)),
        "COMMIT",
        f"ALTER TABLE {name} ADD COLUMN b INT FIRST",
        f"INSERT INTO {name} VALUES (5, 6, 7)",
    )
    wanted = [repr(each)[:60] if not isinstance(each, Change) else each.after for each in log.read(10)]
    monkeypatch.setattr(binlog_reader, "MOST", 1)
    found: list[Any] = []
    position, known = begin, relations
    while len(found) < len(wanted):
        one = LogOf(log.database, position)
        one.relations = known
        events = one.read(1)
        found += [repr(each)[:60] if not isinstance(each, Change) else each.after for each in events]
        for event in events:
            schema = event.relation.schema if isinstance(event, Change) else event.after(known[0].schema)
            known = [Relation(table, schema)]
        position = one.position
    assert found == wanted


def test_tables_that_take_the_place_of_others(server: Server, metadata: str) -> None:
    table = server.create("id INT PRIMARY KEY")
    name = table.table
    log = LogOf(server.database(table))
    server.run(
        f"CREATE TABLE {name}_new (id INT PRIMARY KEY, a INT)",
        f"RENAME TABLE {name} TO {name}_old, {name}_new TO {name}",
        f"INSERT INTO {name} VALUES (1, 2)",
    )
    found = log.read(2)
    assert isinstance(found[0], AddColumnEvent)
    assert found[1].after == (1, 2)
    server.run(f"RENAME TABLE {name} TO {name}_gone", f"CREATE TABLE {name} (x INT)", f"INSERT INTO {name} VALUES (3)")
    gone, made, row = log.read(3)
    assert isinstance(gone, DropTableEvent)
    assert isinstance(made, CreateTableEvent)
    assert row.after == (3,)


def test_places_to_begin_at(server: Server) -> None:
    table = server.create("id INT PRIMARY KEY")
    database = server.database(table)
    server.run("FLUSH BINARY LOGS")
    ((file, *_),) = server.run("SHOW MASTER STATUS")
    server.run(f"PURGE BINARY LOGS TO '{file}'", f"INSERT INTO {table.table} VALUES (1)")
    ((file, offset, *_),) = server.run("SHOW MASTER STATUS")
    ((gtids,),) = server.run("SELECT @@gtid_binlog_pos")
    server.run(f"INSERT INTO {table.table} VALUES (2)", "FLUSH BINARY LOGS", f"INSERT INTO {table.table} VALUES (3)")

    def begins(startup: StartupOptions) -> list[Any]:
        log = LogOf(database, database.prepare(startup, [table], "t"))
        return [each.after for each in log.read(1, lambda found: any(each.after == (3,) for each in found))]

    assert begins(StartupOptions.specific_offset(file, offset)) == [(2,), (3,)]
    assert begins(StartupOptions.specific_offset(gtids)) == [(2,), (3,)]
    assert (1,) in begins(StartupOptions.timestamp_millis(0))
    assert begins(StartupOptions.earliest())[-3:] == [(1,), (2,), (3,)]
    with pytest.raises(PositionLost, match=r"binlog\.000999.*new snapshot.*binlog_expire_logs_seconds"):
        database.prepare(StartupOptions.specific_offset("binlog.000999", 4), [table], "t")
    with pytest.raises(ValueError, match="committed-offset"):
        database.prepare(StartupOptions.committed_offset(), [table], "t")


def test_the_log_is_gone(server: Server) -> None:
    table = server.create("id INT PRIMARY KEY")
    database = server.database(table)
    position = database.prepare(StartupOptions.latest(), [table], "t")
    server.run("FLUSH BINARY LOGS", f"INSERT INTO {table.table} VALUES (1)")
    ((file, *_),) = server.run("SHOW MASTER STATUS")
    until = time.monotonic() + SECONDS
    while server.run("SHOW BINARY LOGS")[0][0] != file:  # the server keeps what a reader of another test has open
        server.run(f"PURGE BINARY LOGS TO '{file}'")
        assert time.monotonic() < until, "the server keeps its log"
        time.sleep(0.1)
    with pytest.raises(PositionLost, match=r"no longer has its log.*new snapshot"):
        database.resume(position, [table], "t")
    with pytest.raises(PositionLost, match=r"no longer has its log"):
        LogOf(database, position).read(1)


def test_a_connection_that_is_ended_is_made_again(server: Server) -> None:
    table = server.create("id INT PRIMARY KEY")
    log = LogOf(server.database(table))
    reader = log.database.open_log(log.position, log.relations, "t")
    found: list[Any] = []
    until = time.monotonic() + SECONDS
    number, killed = 0, set()
    try:
        while len(found) < 30:
            number += 1
            if number <= 30:
                server.run(f"INSERT INTO {table.table} VALUES ({number})")
            if number % 10 == 5:
                for process, *_, command in server.run("SELECT id, command FROM information_schema.processlist"):
                    if command == "Binlog Dump" and process not in killed:
                        killed.add(process)
                        server.run(f"KILL {process}")
            part = reader.read(0.05)
            found += part.events if part is not None else []
            assert time.monotonic() < until, f"{len(found)} changes came"
    finally:
        reader.close()
    assert [each.after for each in found] == [(number,) for number in range(1, 31)]
    assert len(killed) >= 3


def test_statements_in_the_place_of_rows(server: Server) -> None:
    table = server.create("id INT PRIMARY KEY")
    other = server.create("id INT PRIMARY KEY")
    log = LogOf(server.database(table))
    statement = "SET SESSION binlog_format = 'STATEMENT'"
    server.run(statement, f"INSERT INTO {other.table} VALUES (1)")
    server.run(f"INSERT INTO {table.table} VALUES (1)")
    assert [each.after for each in log.read(1)] == [(1,)]
    server.run(statement, f"UPDATE {table.table} SET id = 7")
    with pytest.raises(RuntimeError, match=rf"may have changed table millrace\.{table.table}.*binlog_format"):
        log.read(1)


def test_tables_that_are_made_later(server: Server) -> None:
    name = server.create("id INT PRIMARY KEY")
    database = server.database(TableId("", "millrace", f"{name.table}.*"), new_tables=True)
    log = LogOf(database)
    server.run(
        f"CREATE TABLE {name.table}_2 (x INT PRIMARY KEY, y TEXT)", f"INSERT INTO {name.table}_2 VALUES (1, 'a')"
    )
    made, row = log.read(2)
    assert isinstance(made, CreateTableEvent)
    assert made.schema.primary_key == ("x",)
    assert row.after == (1, "a")


def test_a_database_that_is_dropped(server: Server) -> None:
    name = server.create("id INT PRIMARY KEY").table
    server.run(f"CREATE DATABASE d_{name}", f"CREATE TABLE d_{name}.t (id INT PRIMARY KEY)")
    log = LogOf(server.database(TableId("", f"d_{name}", "t")))
    server.run(f"DROP DATABASE d_{name}")
    (gone,) = log.read(1)
    assert gone == DropTableEvent(TableId("", f"d_{name}", "t"))


@pytest.mark.parametrize("kind", ["VARCHAR(9) COLLATE utf8mb4_unicode_ci", "CHAR(9) COLLATE latin1_swedish_ci", "UUID"])
def test_texts_lie_in_the_chunks_that_the_server_says(server: Server, kind: str) -> None:
    texts = ["a", "B", "c", "Z", "öx", "", "10", "9", "E"]
    values = [str(uuid.uuid4()) for _ in range(20)] if kind == "UUID" else texts
    table = server.create(f"id {kind} PRIMARY KEY")
    server.run(f"INSERT INTO {table.table} VALUES {', '.join(f'({each!r})' for each in values)}")
    database = server.database(table)
    ((_, schema),) = database.tables().items()
    bounds = [row[0] for row in server.run(f"SELECT id FROM {table.table} ORDER BY id")][2::3]
    number = " + ".join(f"(id >= {bound!r})" for bound in bounds)
    wanted = dict(server.run(f"SELECT id, {number} FROM {table.table}"))
    found = database.locate(Relation(table, schema), "id", bounds, [*values, None])
    assert found == [*(wanted[each] for each in values), 0]
    assert len(set(found)) > 2
