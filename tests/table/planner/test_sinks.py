"""What is done to rows before a table gets them, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.table.planner.programs import insert, rows_of

from millrace.connectors.tables.values import clear_values, register_values
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, StreamTableEnvironment

ROWS: list[tuple[Any, ...]] = [(1, "abc"), (2, "abcdef"), (None, "x"), (2, "y")]


@pytest.fixture
def t_env() -> Iterator[StreamTableEnvironment]:
    environment = StreamTableEnvironment.create(StreamExecutionEnvironment(), EnvironmentSettings.in_streaming_mode())
    register_values("given", ROWS)
    environment.execute_sql("CREATE TABLE given (k INT, v STRING) WITH ('connector' = 'values')")
    yield environment
    clear_values()


def create(t_env: StreamTableEnvironment, table: str, columns: str) -> None:
    t_env.execute_sql(f"CREATE TABLE {table} ({columns}) WITH ('connector' = 'values')")


def test_null_in_a_column_that_is_not_null(t_env: StreamTableEnvironment) -> None:
    create(t_env, "strict", "k INT NOT NULL, v STRING")
    with pytest.raises(Exception, match="column k is NOT NULL, but a row has NULL there"):
        insert(t_env, "INSERT INTO strict SELECT k, v FROM given")
    t_env.get_config().set("table.exec.sink.not-null-enforcer", "DROP")
    insert(t_env, "INSERT INTO strict SELECT k, v FROM given")
    assert rows_of("strict") == [(1, "abc"), (2, "abcdef"), (2, "y")]


def test_a_primary_key_is_not_null(t_env: StreamTableEnvironment) -> None:
    """Rows without a key are dropped before rows of equal keys are told apart."""
    create(t_env, "keyed", "k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED")
    t_env.get_config().set("table.exec.sink.not-null-enforcer", "DROP")
    insert(t_env, "INSERT INTO keyed SELECT k, COUNT(*) FROM given GROUP BY k")
    assert rows_of("keyed") == [(1, 1), (2, 2)]


def lengths(t_env: StreamTableEnvironment, mode: str) -> list[tuple[Any, ...]]:
    """Rows of a table whose values do not keep to its own types, written into one with the same types."""
    for table in ("loose", "fixed"):
        create(t_env, table, "k CHAR(3), v VARCHAR(3)")
    register_values("loose", [("a", "abcdef")])
    t_env.get_config().set("table.exec.sink.type-length-enforcer", mode)
    insert(t_env, "INSERT INTO fixed SELECT k, v FROM loose")
    return rows_of("fixed")


@pytest.mark.parametrize(("mode", "row"), [("IGNORE", ("a", "abcdef")), ("TRIM_PAD", ("a  ", "abc"))])
def test_lengths(t_env: StreamTableEnvironment, mode: str, row: Sequence[str]) -> None:
    assert lengths(t_env, mode) == [row]


def test_a_wrong_length_is_an_error(t_env: StreamTableEnvironment) -> None:
    with pytest.raises(Exception, match=r"column k is CHAR\(3\), but a row has 'a' there"):
        lengths(t_env, "ERROR")
