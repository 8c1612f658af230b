"""What MySQL does differently from MariaDB, against a server that speaks as it does."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.connectors.cdc.mysql.capturing import LogOf
from tests.connectors.cdc.mysql.fake_mysql import FakeMySql
from tests.connectors.cdc.mysql.mysql_log import FILE, SOURCE, MySqlLog, query, rows, table_map

from millrace.connectors.cdc.changes import Change, Chunk
from millrace.connectors.cdc.database import StartupOptions
from millrace.connectors.cdc.events import AddColumnEvent, TableId
from millrace.connectors.cdc.mysql.binlog_position import Position
from millrace.connectors.cdc.mysql.mysql_database import MySqlDatabase, MySqlSettings
from millrace.connectors.jdbc.dialect import Target
from millrace.connectors.stores import ConnectionFailed

PASSWORD = "Pass-Word-1234"
TABLE = TableId("", "shop", "t")
COLUMNS = [
    ("shop", "t", "id", "int unsigned", "NO", "", None),
    ("shop", "t", "doc", "json", "YES", "", None),
    ("shop", "t", "name", "varchar(20)", "YES", "", None),
]
MAP = table_map([(3, b""), (245, b"\4"), (15, b"\x50\0")], "1")
WIDER = table_map([(3, b""), (245, b"\4"), (15, b"\x50\0"), (8, b"")], "11")
DOCUMENT = bytes([0, 1, 0, 12, 0, 11, 0, 1, 0, 5, 7, 0]) + b"a"
"""{"a": 7}, in MySQL's own form"""


def image(number: int, name: str | None, more: int | None = None, width: int = 3) -> bytes:
    nulls = (0 if name is not None else 4) | (8 if width == 4 and more is None else 0)
    data = bytes([nulls]) + struct.pack("<I", number) + struct.pack("<I", len(DOCUMENT)) + DOCUMENT
    if name is not None:
        data += bytes([len(name.encode())]) + name.encode()
    return data + (struct.pack("<q", more) if more is not None else b"")


@pytest.fixture
def log() -> MySqlLog:
    """Seven transactions: what becomes of them is in ``EXPECTED``."""
    made = MySqlLog()
    made.rows(MAP, rows(30, 3, [image(4_000_000_000, "a"), image(1, None)]))
    made.compressed(MAP, rows(31, 3, [image(1, None), image(1, "ü")]))
    made.prepared(b"x1", False, MAP, rows(30, 3, [image(2, "x")]))
    made.rows(MAP, rows(30, 3, [image(3, "c")]))
    made.transaction(query("XA COMMIT X'7831',X'',1"))
    made.prepared(b"x2", True, MAP, rows(32, 3, [image(3, "c")]))
    made.prepared(b"x3", False, MAP, rows(30, 3, [image(9, "never")]))
    made.transaction(query("XA ROLLBACK X'7833',X'',1"))
    made.transaction(query("ALTER TABLE `t` ADD COLUMN n BIGINT UNSIGNED"))
    made.rows(WIDER, rows(30, 4, [image(5, "e", 6, 4)]))
    return made


TEXT = '{"a": 7}'
EXPECTED = [
    (None, (4_000_000_000, TEXT, "a")), (None, (1, TEXT, None)), ((1, TEXT, None), (1, TEXT, "ü")),
    (None, (3, TEXT, "c")), (None, (2, TEXT, "x")), ((3, TEXT, "c"), None), "AddColumnEvent", (None, (5, TEXT, "e", 6)),
]  # fmt: skip


@contextmanager
def mysql(log: MySqlLog, fast: bool = True, **answers: Any) -> Iterator[tuple[FakeMySql, MySqlDatabase]]:
    """A server with that log, and a capture of it."""
    gtids = f"{SOURCE}:1-{log.transactions}"
    known = {
        r"SELECT version\(\)": [("8.4.3",)],
        "server_uuid": [(answers.get("uuid", SOURCE),)],
        "SHOW GLOBAL VARIABLES": [("log_bin", "ON"), ("binlog_format", "ROW"), ("binlog_row_image", "FULL")],
        "SHOW BINARY LOG STATUS": answers.get("status", lambda: [(FILE, log.end, "", "", gtids)]),
        "SHOW BINARY LOGS": [(FILE, log.end, "No")],
        r"FROM information_schema\.collations": [(45, "utf8mb4"), (63, "binary")],
        r"table_type": [("shop", "t")],
        r"engine FROM": [("shop", "t", "InnoDB")],
        r"character_set_name IS NOT NULL": [("shop", "t", "name", "utf8mb4")],
        r"column_type": answers.get("columns", COLUMNS),
        "key_column_usage": [("shop", "t", "id")],
        r"FROM `shop`\.`t`": answers.get("rows", []),
    }
    server = FakeMySql(log, known, PASSWORD, fast)
    target = Target((("127.0.0.1", server.port),), "", "u", PASSWORD)
    try:
        yield server, MySqlDatabase(MySqlSettings(target, ("shop",), (r"shop\.t",), heartbeat=1.0))
    finally:
        server.close()


def told(events: list[Any]) -> list[Any]:
    return [(each.before, each.after) if isinstance(each, Change) else type(each).__name__ for each in events]


@pytest.mark.parametrize("fast", [True, False])
def test_the_log_from_its_beginning(log: MySqlLog, fast: bool) -> None:
    with mysql(log, fast) as (_, database):
        database.check()
        reading = LogOf(database, database.prepare(StartupOptions.earliest(), [TABLE], "t"))
        found = reading.read(len(EXPECTED))
        assert told(found) == EXPECTED
        assert isinstance(found[6], AddColumnEvent)
        assert [each.mark.gtid for each in found if isinstance(each, Change)][-1] == f"{SOURCE}:{log.transactions}"


def test_going_on_behind_gtids(log: MySqlLog) -> None:
    """The transaction that is committed behind them was prepared before."""
    with mysql(log) as (server, database):
        position = database.prepare(StartupOptions.specific_offset(f"{SOURCE}:1-4"), [TABLE], "t")
        assert told(LogOf(database, position).read(4)) == EXPECTED[4:]
        assert f"{SOURCE}:1-4" in server.dumped


def test_gaps_in_gtids(log: MySqlLog) -> None:
    """Sources with several writers: what is behind the first missing transaction may be known all the same."""
    with mysql(log) as (_, database):
        position = database.prepare(StartupOptions.specific_offset(f"{SOURCE}:1:3-4"), [TABLE], "t")
        assert told(LogOf(database, position).read(5)) == [EXPECTED[2], *EXPECTED[4:]]


def test_another_server_takes_over(log: MySqlLog) -> None:
    """Its files have other names and places; GTIDs say where to go on."""
    with mysql(log) as (_, database):
        elsewhere = Position(0, 99, 5000, 0, "other.000099", "another-server", f"{SOURCE}:1-3")
        reading = LogOf(database, elsewhere)
        assert told(reading.read(5)) == EXPECTED[3:]
        assert reading.position.life == 1
        assert reading.position > elsewhere


def test_a_chunk_is_brought_to_where_the_log_is_behind_it() -> None:
    log = MySqlLog()
    log.rows(MAP, rows(30, 3, [image(0, "earlier")]))
    low = log.rows(MAP, rows(30, 3, [image(1, "a")]))
    log.rows(MAP, rows(31, 3, [image(1, "a"), image(1, "b")]), rows(30, 3, [image(2, "c")]))
    log.rows(MAP, rows(32, 3, [image(3, "d")]), rows(30, 3, [image(99, "outside")]))
    places = [(low, f"{SOURCE}:1"), (log.end, f"{SOURCE}:1-4")]

    def status() -> Any:
        place, gtids = places.pop(0) if len(places) > 1 else places[0]
        return [(FILE, place, "", "", gtids)]

    # The rows were read somewhere in between.
    there = [(1, TEXT, "a"), (3, TEXT, "d"), (4, TEXT, "e")]
    with mysql(log, status=status, rows=there) as (_, database):
        schema = database.tables()[TABLE]
        chunk = database.read_chunk(Chunk(TABLE, 0, "id", None, 50), schema)
        assert sorted(zip(*chunk.columns)) == [(1, TEXT, "b"), (2, TEXT, "c"), (4, TEXT, "e")]
        assert all(chunk.seen.contains(each.mark) for each in LogOf(database, Position(0, 7, low, 0, FILE)).read(5))


def test_a_wrong_password(log: MySqlLog) -> None:
    with mysql(log) as (server, database):
        server._password = b"other"
        with pytest.raises(ConnectionFailed, match="Access denied") as caught:
            database.check()
        assert PASSWORD not in str(caught.value)


def test_a_damaged_event(log: MySqlLog) -> None:
    place, data = log.events[3]
    log.events[3] = (place, data[:30] + bytes([data[30] ^ 1]) + data[31:])
    with mysql(log) as (_, database), pytest.raises(RuntimeError, match="its checksum is wrong"):
        LogOf(database, Position(0, 7, 4, 0, FILE)).read(1)
