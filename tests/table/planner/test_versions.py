"""What a temporal join reads: every version, though a batch has several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import pytest
from tests.table.planner.programs import changelog, final

from millrace.common.types import Row, RowKind
from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table import TableEnvironment
from millrace.table.planner.nodes.keyed_forms import versions


def at(minute: int) -> datetime:
    return datetime(2024, 1, 1, 10, minute)


def change(kind: RowKind, *values: object) -> Row:
    row = Row(*values)
    row.set_row_kind(kind)
    return row


RATES = [
    change(RowKind.INSERT, "EUR", 1, at(0)),
    change(RowKind.UPDATE_AFTER, "EUR", 2, at(10)),
    change(RowKind.DELETE, "EUR", 2, at(20)),
    change(RowKind.INSERT, "EUR", 3, at(30)),
]
PAID = [(minute, "EUR", at(minute)) for minute in (5, 10, 15, 20, 25, 35)]
TABLE = "ts TIMESTAMP(3), WATERMARK FOR ts AS ts"
LAST = "(SELECT *, ROW_NUMBER() OVER (PARTITION BY money ORDER BY ts DESC) AS r FROM offers)"


@pytest.fixture
def env(t_env: TableEnvironment) -> Iterator[TableEnvironment]:
    register_values("paid", PAID)
    register_values("rates", RATES)
    register_values("offers", [("EUR", 1, at(0)), ("EUR", 2, at(10)), ("EUR", 3, at(30))])
    t_env.execute_sql(f"CREATE TABLE paid (id INT, money STRING, {TABLE}) WITH ('connector' = 'values')")
    t_env.execute_sql(
        f"CREATE TABLE rates (money STRING, rate INT, {TABLE}, PRIMARY KEY (money) NOT ENFORCED) "
        "WITH ('connector' = 'values', 'changelog-mode' = 'I,UA,D')"
    )
    t_env.execute_sql(f"CREATE TABLE offers (money STRING, rate INT, {TABLE}) WITH ('connector' = 'values')")
    t_env.execute_sql(f"CREATE VIEW best AS SELECT money, rate, ts FROM {LAST} AS t WHERE r = 1")
    yield t_env
    clear_values()


@pytest.mark.parametrize(("table", "rates"), [("rates", [1, 2, 2, None, None, 3]), ("best", [1, 2, 2, 2, 2, 3])])
def test_each_row_meets_the_version_of_its_time(env: TableEnvironment, table: str, rates: list[int | None]) -> None:
    sql = f"SELECT p.id, r.rate FROM paid AS p LEFT JOIN {table} FOR SYSTEM_TIME AS OF p.ts AS r ON p.money = r.money"
    found = final(changelog(env.sql_query(sql)._plan))
    assert found == Counter(zip([row[0] for row in PAID], rates))


def test_only_by_event_time(env: TableEnvironment) -> None:
    for way, kept in (("ts DESC", 0), ("ts ASC", 1), ("PROCTIME() DESC", 1)):
        numbered = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY money ORDER BY {way}) AS r FROM offers"
        plan = env.sql_query(f"SELECT money, rate, ts FROM ({numbered}) AS t WHERE r = 1")._plan
        plan = optimise_streaming(plan, Surroundings(1))
        assert len(n.find(plan, n.Deduplicate)) == 1
        assert len(n.find(versions(plan), n.Deduplicate)) == kept
