"""Values as RAND() of rows that are taken back: what would not find such a row again is refused or said.

What is not refused gives what a table without them gives.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.table.planner.programs import final

from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.relational.values import to_python
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.table.planner.plan import ChangelogError
from millrace.table.udf import udf
from millrace.testing.local import run_locally

STRATEGY = "table.optimizer.non-deterministic-update.strategy"
ROWS = [("abc"[n % 3], n % 4, n) for n in range(30)]
SUMS = "(SELECT k, m, SUM(n) AS s FROM numbers GROUP BY k, m)"
ANEW = f"(SELECT k, m, s, CAST(RAND() * 1000 AS INT) AS r FROM {SUMS})"

NUMBER = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY s, m)"

REFUSED = {
    "an aggregate": (f"SELECT k, SUM(r), MAX(s) FROM {ANEW} GROUP BY k", "Aggregate"),
    "a filter of an aggregate": (f"SELECT k, MAX(s) FILTER (WHERE r > 500) FROM {ANEW} GROUP BY k", "Aggregate"),
    "a group key": (f"SELECT r, MAX(s) FROM {ANEW} GROUP BY r", "Aggregate"),
    "a value computed of it": (f"SELECT k, MAX(z) FROM (SELECT k, r + s AS z FROM {ANEW}) GROUP BY k", "Aggregate"),
    "DISTINCT": (f"SELECT DISTINCT k, r, s FROM {ANEW}", "Aggregate"),
    "a join": (f"SELECT a.k, a.r, a.s, b.n FROM {ANEW} AS a JOIN numbers AS b ON a.k = b.k", "Join"),
    "the key of a join": (f"SELECT a.k, a.s, b.n FROM {ANEW} AS a JOIN numbers AS b ON a.r = b.n", "Join"),
    "a condition": (f"SELECT k, s FROM {SUMS} WHERE RAND() > 0.5", "Filter"),
    "a condition of such a column": (f"SELECT k, s FROM {ANEW} WHERE r > 500", "Filter"),
    "UUID": (
        f"SELECT k, COUNT(DISTINCT u), MAX(s) FROM (SELECT k, s, UUID() AS u FROM {SUMS}) GROUP BY k", "Aggregate"),
    "a function of the user": (
        f"SELECT k, SUM(z) FROM (SELECT k, COUNTED(s) AS z FROM {SUMS}) GROUP BY k", "Aggregate"),
    "the partition of Top-N": (
        f"SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY r ORDER BY s) AS p FROM {ANEW}) WHERE p < 3",
        "Rank"),
    "UNION": (f"SELECT k, r, s FROM {ANEW} UNION SELECT k, n, n FROM numbers", "SetOp"),
    "EXCEPT": (f"SELECT k, r, s FROM {ANEW} EXCEPT SELECT k, n, n FROM numbers", "SetOp"),
}  # fmt: skip
TAKEN = {
    "a column that nothing reads": (
        f"SELECT k, SUM(s) FROM {ANEW} GROUP BY k", f"SELECT k, SUM(s) FROM {SUMS} GROUP BY k"),
    "rows that only come": (
        "SELECT k, COUNT(r) FROM (SELECT k, RAND() AS r FROM numbers) GROUP BY k",
        "SELECT k, COUNT(n) FROM numbers GROUP BY k"),
    "an aggregate below": (
        "SELECT k, COUNT(r), SUM(c) FROM (SELECT k, m, MAX(r) AS r, COUNT(*) AS c FROM "
        "(SELECT k, m, RAND() AS r FROM numbers) GROUP BY k, m) GROUP BY k",
        "SELECT k, COUNT(*), SUM(c) FROM (SELECT k, m, COUNT(*) AS c FROM numbers GROUP BY k, m) GROUP BY k"),
    "Top-N": (
        f"SELECT k, m, s FROM (SELECT *, {NUMBER} AS p FROM {ANEW}) WHERE p < 3",
        f"SELECT k, m, s FROM (SELECT *, {NUMBER} AS p FROM {SUMS}) WHERE p < 3"),
}  # fmt: skip


@pytest.fixture
def t_env() -> Iterator[TableEnvironment]:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    register_values("numbers", ROWS)
    made.execute_sql("CREATE TABLE numbers (k STRING, m INT, n INT) WITH ('connector' = 'values', 'batch-size' = '1')")
    counted = udf(lambda s: s, result_type=DataTypes.INT(), deterministic=False)
    made.create_temporary_function("COUNTED", counted)
    yield made
    clear_values()


def table(t_env: TableEnvironment, query: str) -> Counter[tuple[Any, ...]]:
    return final(changes(t_env, query))


def changes(t_env: TableEnvironment, query: str) -> list[tuple[int, tuple[Any, ...]]]:
    session, env = t_env._session, StreamExecutionEnvironment()
    env.set_parallelism(2)
    plan = optimise_streaming(t_env.sql_query(query)._plan, surroundings_of(session))
    add_to_program([plan], env._program, options_of(session))
    columns = [column.type for column in plan.schema]
    batches = run_locally(env, epoch_records=3).collected
    return [
        (kind, tuple(row))
        for rows in batches
        for kind, row in zip(
            rows.kind_values().tolist(), zip(*(to_python(each, kind) for each, kind in zip(rows.columns, columns)))
        )
    ]


@pytest.mark.parametrize("what", REFUSED)
def test_what_would_not_be_found_again_is_refused(what: str, t_env: TableEnvironment) -> None:
    query, node = REFUSED[what]
    t_env.get_config().set(STRATEGY, "TRY_RESOLVE")
    with pytest.raises(ChangelogError, match=f"(?s)another value when a row is taken back.*{node} would not find"):
        table(t_env, query)


@pytest.mark.parametrize("what", ["an aggregate", "a join", "a condition"])
def test_otherwise_it_is_said(what: str, t_env: TableEnvironment, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        changes(t_env, REFUSED[what][0])
    assert any("another value when a row is taken back" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("strategy", ["IGNORE", "TRY_RESOLVE"])
@pytest.mark.parametrize("what", TAKEN)
def test_what_is_found_again_gives_what_it_gives_without(
    what: str, strategy: str, t_env: TableEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    query, plain = TAKEN[what]
    t_env.get_config().set(STRATEGY, strategy)
    with caplog.at_level(logging.WARNING):
        assert table(t_env, query) == table(t_env, plain)
    assert not any("taken back" in record.getMessage() for record in caplog.records)
