"""``'connector' = 'mysql-cdc'``."""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.connectors.cdc.mysql.capturing import Server
from tests.connectors.cdc.postgres.captured_tables import CapturedTables, table_of
from tests.connectors.tables.message_tables import MessageTables

pytestmark = pytest.mark.services

SECRET = "Pass-Word-1234"
COLUMNS = "id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED"


class MySqlTables(CapturedTables):
    def __init__(self, server: Server) -> None:
        MessageTables.__init__(self)
        self.server = server

    def over(self, columns: str, table: str, **options: str) -> str:
        server = self.server.server
        given = {
            "connector": "mysql-cdc", "hostname": "127.0.0.1", "port": str(server.port), "username": server.user,
            "password": server.password, "database-name": server.database, "table-name": table,
            "heartbeat.interval": "1 s",
        }  # fmt: skip
        given |= {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
        name = f"m_{uuid.uuid4().hex[:10]}"
        texts = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        self.environment.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({texts})")
        return name

    def failure(self, name: str) -> str:
        with pytest.raises(Exception, match=r".") as caught:
            self.until(f"SELECT * FROM {name}", lambda _: False)
        return str(caught.value)


@pytest.fixture
def tables(server: Server) -> MySqlTables:
    return MySqlTables(server)


@pytest.mark.parametrize("mode", ["all", "upsert"])
def test_an_aggregate_follows_the_table(server: Server, tables: MySqlTables, mode: str) -> None:
    orders = server.create("id INT PRIMARY KEY, who VARCHAR(9), amount DECIMAL(10, 2)").table
    rows = ", ".join(f"({number}, 'w{number % 3}', {number})" for number in range(1, 101))
    server.run(f"INSERT INTO {orders} VALUES {rows}")
    name = tables.over(
        "id INT, who STRING, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED",
        orders,
        scan__incremental__snapshot__chunk__size="10",
        changelog_mode=mode,
    )

    def done(changes: Any) -> bool:
        query = f"SELECT who, count(*), sum(amount) FROM {orders} GROUP BY who"
        here, there = table_of(changes), Counter(server.run(query))
        return Counter({(*row[:2], float(row[2])): count for row, count in there.items()}) == Counter(
            {(*row[:2], round(row[2], 2)): count for row, count in here.items()}
        )

    tables.until(
        f"SELECT who, COUNT(*), SUM(amount) FROM {name} GROUP BY who",
        done,
        (
            lambda: server.run(f"UPDATE {orders} SET who = 'w9', amount = amount + 0.01 WHERE id % 7 = 0"),
            lambda: server.run(f"DELETE FROM {orders} WHERE id > 60"),
            lambda: server.run(f"UPDATE {orders} SET id = id + 1000 WHERE id < 10"),
            lambda: server.run(f"ALTER TABLE {orders} ADD COLUMN x INT FIRST, ADD COLUMN y INT"),
            lambda: server.run(f"INSERT INTO {orders} VALUES (1, 61, 'w1', 1.5, 2)"),
        ),
    )


def test_several_tables_by_pattern_with_metadata(server: Server, tables: MySqlTables) -> None:
    prefix = server.create("id INT PRIMARY KEY").table
    for number in (1, 2, 3):
        server.run(
            f"CREATE TABLE {prefix}_{number} (more TEXT, id INT PRIMARY KEY)",
            f"INSERT INTO {prefix}_{number} VALUES ('x', {number})",
        )
    name = tables.over(
        "id INT, t STRING METADATA FROM 'table_name' VIRTUAL, db STRING METADATA FROM 'database_name' VIRTUAL, "
        "at TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL, kind STRING METADATA FROM 'row_kind' VIRTUAL",
        f"{prefix}_[12]",
    )
    begun = dt.datetime.now(dt.timezone.utc).replace(microsecond=0)
    changes = tables.until(
        f"SELECT id, t, db, at, kind FROM {name}",
        lambda found: len(found) >= 3,
        (lambda: server.run(f"DELETE FROM {prefix}_2", f"DELETE FROM {prefix}_3"),),
    )
    found = {row[:3] + row[4:]: row[3] for _, row in changes}
    assert set(found) == {
        (1, f"{prefix}_1", "millrace", "+I"), (2, f"{prefix}_2", "millrace", "+I"),
        (2, f"{prefix}_2", "millrace", "-D"),
    }  # fmt: skip
    assert found[1, f"{prefix}_1", "millrace", "+I"].timestamp() == 0
    assert found[2, f"{prefix}_2", "millrace", "-D"].timestamp() >= begun.timestamp()


def test_times_in_the_zone_of_the_server(server: Server, tables: MySqlTables) -> None:
    table = server.create("id INT PRIMARY KEY, a TIMESTAMP(3) NULL, b DATETIME, c TIME, d DATE").table
    values = "'2024-07-01 12:00:00.5', '2024-07-01 12:00:00', '-25:00:00', '0000-00-00'"
    server.run("SET sql_mode = ''", f"INSERT INTO {table} VALUES (1, {values})")
    columns = "id INT, a TIMESTAMP_LTZ(3), b TIMESTAMP(0), c STRING, d DATE"
    plain = tables.over(columns, table)
    instant = dt.datetime(2024, 7, 1, 12, 0, 0, 500_000, dt.timezone.utc)

    def row(columns: str, name: str) -> tuple[Any, ...]:
        return tables.until(f"SELECT {columns} FROM {name}", bool)[0][1]

    found = row("a, b, c, d", plain)
    assert found[0].timestamp() == instant.timestamp()
    assert found[1:] == (dt.datetime(2024, 7, 1, 12), "-25:00:00", None)
    other = tables.over(
        "id INT, a TIMESTAMP(3), b TIMESTAMP_LTZ(0), d STRING", table, server_time_zone="America/New_York"
    )
    found = row("a, b, d", other)
    assert found[0] == dt.datetime(2024, 7, 1, 8, 0, 0, 500_000)
    assert found[1].timestamp() == dt.datetime(2024, 7, 1, 16, tzinfo=dt.timezone.utc).timestamp()
    assert found[2] == "0000-00-00"
    texts = tables.over("id INT, c TIME", table)
    assert "-25:00:00" in tables.failure(texts)


def test_where_to_begin(server: Server, tables: MySqlTables) -> None:
    table = server.create("id INT PRIMARY KEY, v TEXT").table
    server.run(f"INSERT INTO {table} VALUES (1, 'a')")
    ((file, place, *_),) = server.run("SHOW MASTER STATUS")
    ((gtids,),) = server.run("SELECT @@gtid_binlog_pos")
    server.run(f"INSERT INTO {table} VALUES (2, 'b')")
    mode = {"scan__startup__mode": "specific-offset"}
    offset = "scan__startup__specific-offset__"
    for options in (
        {**mode, f"{offset}file": file, f"{offset}pos": str(place)},
        {**mode, f"{offset}gtid-set": gtids},
    ):
        name = tables.over(COLUMNS, table, **options)
        assert table_of(tables.until(f"SELECT * FROM {name}", bool)) == Counter([(2, "b")])
    name = tables.over(COLUMNS, table, scan__startup__mode="snapshot")
    assert sorted(tables.query(f"SELECT * FROM {name}")) == [(0, (1, "a")), (0, (2, "b"))]


WRONG = [
    ({"server-id": "9-3"}, "server-id"),
    ({"server-time-zone": "Nowhere"}, "no time zone"),
    ({"scan.startup.mode": "committed-offset"}, "is one of"),
    ({"scan.startup.mode": "timestamp"}, "scan.startup.timestamp-millis"),
    ({"scan.startup.mode": "specific-offset"}, "gtid-set"),
    ({"scan.newly-added-table.enabled": "true", "scan.binlog.newly-added-table.enabled": "true"}, "take one"),
    ({"jdbc.properties.nonsense": "1"}, "nonsense"),
    ({"scan.startup.modus": "initial"}, "scan.startup.mode"),
    ({"table-name": "("}, "no regular expression"),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=[next(iter(each)) + said for each, said in WRONG])
def test_options_that_are_wrong(tables: MySqlTables, options: dict[str, str], said: str) -> None:
    name = tables.over(
        COLUMNS, "t", **{key.replace("-", "_").replace(".", "__"): text for key, text in options.items()}
    )
    assert said in tables.failure(name)


@pytest.fixture
def settings(server: Server) -> Iterator[Any]:
    """Changes settings of the server for a while."""
    before: dict[str, str] = {}

    def set_to(name: str, value: str) -> None:
        ((_, before[name]),) = server.run(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
        server.run(f"SET GLOBAL {name} = '{value}'")

    yield set_to
    for name, value in before.items():
        server.run(f"SET GLOBAL {name} = '{value}'")


def test_servers_that_are_not_set_up(server: Server, tables: MySqlTables, settings: Any) -> None:
    table = server.create("id INT PRIMARY KEY, v TEXT").table
    name = tables.over(COLUMNS, table)
    settings("binlog_row_image", "MINIMAL")
    assert "SET GLOBAL binlog_row_image = 'FULL'" in tables.failure(name)
    settings("binlog_format", "STATEMENT")
    assert "SET GLOBAL binlog_format = 'ROW'" in tables.failure(name)


def test_a_log_that_is_not_whole(server: Server, tables: MySqlTables) -> None:
    table = server.create("id INT PRIMARY KEY, v TEXT, w INT").table
    server.run(f"INSERT INTO {table} VALUES (1, 'a', 2)")
    name = tables.over(COLUMNS, table)

    def change() -> None:
        server.run("SET SESSION binlog_row_image = 'MINIMAL'", f"UPDATE {table} SET v = 'b'")

    with pytest.raises(Exception, match=r"binlog_row_image other than FULL"):
        tables.until(f"SELECT * FROM {name}", lambda _: False, (change,))


def test_who_may_not(server: Server, tables: MySqlTables) -> None:
    table = server.create("id INT PRIMARY KEY, v TEXT").table
    user = f"u{uuid.uuid4().hex[:8]}"
    server.run(f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY '{SECRET}'", f"GRANT SELECT ON *.* TO {user}@'127.0.0.1'")
    name = tables.over(COLUMNS, table, username=user, password=SECRET)
    steps = [
        ("GRANT BINLOG MONITOR ON *.* TO", "BINLOG MONITOR"),
        ("GRANT REPLICATION SLAVE ON *.* TO", "REPLICATION SLAVE"),
    ]
    for said, right in steps:
        message = tables.failure(name)
        assert said in message
        assert SECRET not in message
        server.run(f"GRANT {right} ON *.* TO {user}@'127.0.0.1'")
    server.run(f"INSERT INTO {table} VALUES (1, 'a')")
    assert tables.until(f"SELECT * FROM {name}", bool)[0][1] == (1, "a")
    wrong = tables.failure(tables.over(COLUMNS, table, username=user, password=SECRET + "x"))
    assert "Access denied" in wrong
    assert SECRET not in wrong


def test_tables_that_are_not_there(tables: MySqlTables) -> None:
    assert "no table in a database like millrace" in tables.failure(tables.over(COLUMNS, "not_there"))


def test_types_of_a_table(server: Server, tables: MySqlTables) -> None:
    table = server.create(
        "id INT PRIMARY KEY, a BIGINT UNSIGNED, b BIT(1), c TINYINT(1), d YEAR, e ENUM('x','y'), f JSON, "
        "g VARBINARY(9), h FLOAT, i DECIMAL(50, 3), j CHAR(5), k BIT(9)"
    ).table
    row = "18446744073709551615, 1, 0, 2024, 'y', '[1]', x'00ff', 1.2345678, 1.5, 'ab', b'100000001'"
    name = tables.over(
        "id INT, a DECIMAL(20, 0), b BOOLEAN, c BOOLEAN, d INT, e STRING, f STRING, g BYTES, h FLOAT, i STRING, "
        "j CHAR(5), k BYTES",
        table,
        scan__startup__mode="latest-offset",
    )
    insert = (lambda: server.run(f"INSERT INTO {table} VALUES (1, {row})"),)
    wanted = "id, CAST(a AS STRING), b, c, d, e, f, g, h, i, j, k"
    ((_, found),) = tables.until(f"SELECT {wanted} FROM {name}", bool, insert)
    assert found == (
        1, "18446744073709551615", True, False, 2024, "y", "[1]", b"\x00\xff", pytest.approx(1.2345678), "1.500",
        "ab   ", b"\x01\x01",
    )  # fmt: skip
