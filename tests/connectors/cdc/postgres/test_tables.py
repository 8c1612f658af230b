"""``'connector' = 'postgres-cdc'``."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from typing import Any

import pytest
from tests.connectors.cdc.postgres.captured_tables import CapturedTables, table_of
from tests.connectors.cdc.postgres.capturing import Captured
from tests.connectors.jdbc.type_tables import VALUES

from millrace.connectors.jdbc.postgresql import postgresql_type

pytestmark = pytest.mark.services


@pytest.fixture
def tables(captured: Captured) -> CapturedTables:
    return CapturedTables(captured)


def test_an_aggregate_follows_the_table(captured: Captured, tables: CapturedTables) -> None:
    captured.run("CREATE TABLE orders (id INT PRIMARY KEY, who TEXT, amount NUMERIC(10, 2))")
    captured.run("INSERT INTO orders SELECT i, 'w' || i % 3, i FROM generate_series(1, 100) AS i")
    captured.run("ALTER TABLE orders REPLICA IDENTITY FULL")
    name = tables.over(
        "id INT, who STRING, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED",
        "orders",
        scan__incremental__snapshot__chunk__size="10",
    )

    def wanted() -> Counter[Any]:
        query = "SELECT who, count(*), sum(amount) FROM orders GROUP BY who"
        return Counter((who, int(count), round(float(total), 2)) for who, count, total in captured.run(query))

    def done(changes: Any) -> bool:
        return Counter((who, count, round(float(total), 2)) for who, count, total in table_of(changes)) == wanted()

    tables.until(
        f"SELECT who, COUNT(*), SUM(amount) FROM {name} GROUP BY who",
        done,
        (
            lambda: captured.run("UPDATE orders SET who = 'w9', amount = amount + 0.01 WHERE id % 7 = 0"),
            lambda: captured.run("DELETE FROM orders WHERE id > 60"),
            lambda: captured.run("UPDATE orders SET id = id + 1000 WHERE id < 10"),
        ),
    )


def test_upserts_do_without_old_rows(captured: Captured, tables: CapturedTables) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
    captured.run("INSERT INTO t SELECT i, 'a' FROM generate_series(1, 20) AS i")
    columns = "id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED"
    steps = (
        lambda: captured.run("UPDATE t SET v = 'b' WHERE id < 5"),
        lambda: captured.run("DELETE FROM t WHERE id = 7"),
        lambda: captured.run("UPDATE t SET id = 100 WHERE id = 8"),
    )

    def done(changes: Any) -> bool:
        return set(table_of(changes)) == set(captured.rows("t").values())

    name = tables.over(columns, "t", changelog_mode="upsert")
    tables.until(f"SELECT id, v FROM {name}", done, steps)
    name = tables.over(columns, "t", scan__startup__mode="committed-offset")
    with pytest.raises(Exception, match=r"old row of an? (UPDATE|DELETE).*REPLICA IDENTITY FULL.*'upsert'"):
        tables.until(f"SELECT id, v FROM {name}", lambda _: False)


def test_several_tables_by_pattern_with_metadata(captured: Captured, tables: CapturedTables) -> None:
    for number in (1, 2, 3):
        captured.run(f"CREATE TABLE t_{number} (more TEXT, id INT PRIMARY KEY)")
        captured.run(f"INSERT INTO t_{number} VALUES ('x', {number}), ('y', {number * 10})")
    name = tables.over(
        "id INT, `from` STRING METADATA FROM 'table_name' VIRTUAL, s STRING METADATA FROM 'schema_name' VIRTUAL, "
        "db STRING METADATA FROM 'database_name' VIRTUAL, at TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL, "
        "kind STRING METADATA FROM 'row_kind' VIRTUAL",
        "t_[12]",
        scan__read_changelog_as_append_only__enabled="true",
    )
    begin = dt.datetime.now(dt.timezone.utc)
    changes = tables.until(
        f"SELECT * FROM {name}", lambda found: len(found) == 5, (lambda: captured.run("DELETE FROM t_2 WHERE id = 2"),)
    )
    assert {kind for kind, _ in changes} == {0}
    *read, deleted = [row for _, row in changes]
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    assert sorted(row[0:2] for row in read) == [(1, "t_1"), (2, "t_2"), (10, "t_1"), (20, "t_2")]
    assert {row[2:] for row in read} == {(captured.schema, "postgres", epoch, "+I")}
    assert deleted[0:4] == (2, "t_2", captured.schema, "postgres")
    assert deleted[5] == "-D"
    assert abs(deleted[4] - begin) < dt.timedelta(minutes=10)


def test_columns_that_are_added_and_dropped(captured: Captured, tables: CapturedTables) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
    captured.run("INSERT INTO t VALUES (1, 'a')")
    steps = (
        lambda: captured.run("ALTER TABLE t ADD COLUMN n INT DEFAULT 5"),
        lambda: captured.run("INSERT INTO t VALUES (2, 'b', 7)"),
    )
    name = tables.over("id INT, v STRING", "t")
    found = tables.until(f"SELECT id, v FROM {name}", lambda changes: len(changes) == 2, steps)
    assert [row for _, row in found] == [(1, "a"), (2, "b")]
    name = tables.over("id INT, v STRING", "t", schema_change__mode="refuse", scan__startup__mode="committed-offset")
    captured.run("ALTER TABLE t DROP COLUMN n")
    captured.run("INSERT INTO t VALUES (3, 'c')")
    with pytest.raises(Exception, match=r"columns of .*\.t were changed.*refuse"):
        tables.until(f"SELECT id, v FROM {name}", lambda _: False)
    name = tables.over("id INT, v STRING", "t", scan__startup__mode="committed-offset")
    captured.run("ALTER TABLE t DROP COLUMN v")
    captured.run("INSERT INTO t VALUES (4)")
    with pytest.raises(Exception, match="has no column 'v'"):
        tables.until(f"SELECT id, v FROM {name}", lambda _: False)


def test_a_snapshot_is_a_table_that_ends(captured: Captured, tables: CapturedTables) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY, v TEXT)")
    captured.run("INSERT INTO t SELECT i, 'x' FROM generate_series(1, 100) AS i")
    name = tables.over(
        "id INT, v STRING", "t", scan__startup__mode="snapshot", scan__incremental__snapshot__chunk__size="7"
    )
    assert tables.rows(f"SELECT id FROM {name} WHERE id > 95") == [(number,) for number in range(96, 101)]
    assert tables.query(f"SELECT COUNT(*) FROM {name}")[-1][1] == (100,)
    assert not captured.slots()


def test_truncate_is_refused_or_left_out(captured: Captured, tables: CapturedTables) -> None:
    captured.run("CREATE TABLE t (id INT PRIMARY KEY)")
    captured.run("INSERT INTO t VALUES (1)")
    name = tables.over("id INT", "t")
    with pytest.raises(Exception, match=r"emptied by TRUNCATE.*skipped\.operations"):
        tables.until(f"SELECT id FROM {name}", lambda _: False, (lambda: captured.run("TRUNCATE t"),))
    name = tables.over("id INT", "t", scan__startup__mode="committed-offset", debezium__skipped__operations="t")
    insert = (lambda: captured.run("INSERT INTO t VALUES (2)"),)
    assert tables.until(f"SELECT id FROM {name}", lambda found: len(found) == 1, insert) == [(0, (2,))]


def test_every_type_is_the_same_from_the_table_and_from_the_log(captured: Captured, tables: CapturedTables) -> None:
    natives = list(VALUES["PostgreSQL"])
    columns = ", ".join(f"c{place} {native}" for place, native in enumerate(natives))
    captured.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    values = ", ".join(_sql(native) for native in natives)
    captured.run(f"INSERT INTO t VALUES (1, {values})")
    captured.run("INSERT INTO t VALUES (2)")
    declared = ", ".join(f"c{place} {postgresql_type(native)}" for place, native in enumerate(natives))
    name = tables.over(f"id INT, {declared}, PRIMARY KEY (id) NOT ENFORCED", "t", changelog_mode="upsert")
    names = ", ".join(f"c{place}" for place in range(len(natives)))
    again = (lambda: captured.run(f"INSERT INTO t SELECT id + 10, {names} FROM t"),)
    found = {row[0]: row[1:] for _, row in tables.until(f"SELECT * FROM {name}", lambda got: len(got) == 4, again)}
    assert [str(value) for value in found[1]] == [str(value) for value in found[11]]
    assert found[2] == found[12] == (None,) * len(natives)
    # ... and as the connector jdbc reads them.
    server = captured.server
    other = "j_types"
    tables.environment.execute_sql(
        f"CREATE TABLE {other} (id INT, {declared}) WITH ('connector' = 'jdbc', 'url' = '{server.jdbc_url}', "
        f"'username' = '{server.user}', 'password' = '{server.password}', 'table-name' = '{captured.schema}.t')"
    )
    read = {row[0]: row[1:] for row in tables.rows(f"SELECT * FROM {other} WHERE id = 1")}
    assert [str(value) for value in found[1]] == [str(value) for value in read[1]]


def _sql(native: str) -> str:
    """The value of the table of types as PostgreSQL writes it."""
    text = VALUES["PostgreSQL"][native]
    if native.endswith("[]"):
        return {
            "integer[]": "'{1,2,NULL}'::int[]",
            "text[]": "ARRAY['a,b', '\"', '\\', '', 'NULL', '{x}', ' ']",
            "numeric(8,2)[]": "ARRAY[1.25, -2.50]",
            "timestamp with time zone[]": "ARRAY[to_timestamp(0)]",
            "boolean[]": "ARRAY[TRUE, FALSE]",
            "bytea[]": "ARRAY['\\x00'::bytea, '\\xff'::bytea]",
        }[native]
    if text.startswith("x'"):
        return f"'\\x{text[2:-1]}'::bytea"
    if text.startswith("TO_TIMESTAMP_LTZ("):
        return f"to_timestamp({text[len('TO_TIMESTAMP_LTZ(') :].split(',')[0]} / 1000.0)"
    return text if text.startswith(("DATE", "TIME")) or text in ("TRUE", "FALSE") else f"({text})::{native}"
