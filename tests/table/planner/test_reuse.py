"""Statement sets: what several INSERTs read and compute alike is one operator, and each table has its rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.table.planner.programs import insert, rows_of

from millrace.connectors.tables.values_table import clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, StreamTableEnvironment

ROWS = [("a", 1, "x"), ("b", 2, "y"), ("a", 3, "z"), ("b", 4, "x"), ("c", 5, "y")]
NAMES = "INSERT INTO names SELECT DISTINCT k FROM given WHERE n > 1"
SUMS = "INSERT INTO sums SELECT k, SUM(n) FROM given GROUP BY k"
HISTORY = "INSERT INTO history SELECT k, SUM(n) FROM given GROUP BY k"


@pytest.fixture
def t_env() -> Iterator[StreamTableEnvironment]:
    environment = StreamTableEnvironment.create(StreamExecutionEnvironment(), EnvironmentSettings.in_streaming_mode())
    register_values("given", ROWS)
    for columns, options in [
        ("given (k STRING, n INT, t STRING)", ""),
        ("names (k STRING)", ""),
        ("sums (k STRING, s INT, PRIMARY KEY (k) NOT ENFORCED)", ", 'sink-changelog-mode' = 'I,UA,D'"),
        ("history (k STRING, s INT)", ""),
    ]:
        environment.execute_sql(f"CREATE TABLE {columns} WITH ('connector' = 'values'{options})")
    yield environment
    clear_values()


def how_many(names: list[str], kind: str) -> int:
    return sum(name.startswith(kind) for name in names)


def test_a_table_is_read_once(t_env: StreamTableEnvironment) -> None:
    names = insert(t_env, NAMES, SUMS)
    assert how_many(names, "TableSourceScan") == 1
    assert rows_of("names") == [("a",), ("b",), ("c",)]
    assert rows_of("sums") == [("a", 4), ("b", 6), ("c", 5)]


def test_an_aggregate_for_sinks_with_and_without_old_rows(t_env: StreamTableEnvironment) -> None:
    names = insert(t_env, SUMS, HISTORY)
    assert how_many(names, "GlobalGroupAggregate") == 1
    assert rows_of("sums") == rows_of("history") == [("a", 4), ("b", 6), ("c", 5)]


@pytest.mark.parametrize(
    ("key", "scans", "aggregates"),
    [("table.optimizer.reuse-sub-plan-enabled", 3, 2), ("table.optimizer.reuse-source-enabled", 2, 1)],
)
def test_nothing_is_shared_if_asked_for(t_env: StreamTableEnvironment, key: str, scans: int, aggregates: int) -> None:
    t_env.get_config().set(key, "false")
    names = insert(t_env, "INSERT INTO names SELECT t FROM given", SUMS, HISTORY)
    assert how_many(names, "TableSourceScan") == scans
    assert how_many(names, "GlobalGroupAggregate") == aggregates
    assert rows_of("names") == [("x",), ("x",), ("y",), ("y",), ("z",)]
    assert rows_of("sums") == rows_of("history")
