"""TABLESAMPLE draws rows."""

from __future__ import annotations

import pytest

from millrace.relational import nodes as n
from millrace.relational.nodes.rel import find
from millrace.relational.rex import rex_text
from millrace.table import EnvironmentSettings, TableEnvironment


@pytest.fixture(scope="module")
def tables() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'datagen')")
    return made


@pytest.mark.parametrize(
    ("clause", "condition"),
    [
        ("BERNOULLI (12.5)", "RAND() < 0.125"),
        ("SYSTEM (0) REPEATABLE (7)", "RAND(7) < 0.0"),
        ("BERNOULLI (50) REPEATABLE (-3)", "RAND(-3) < 0.5"),
    ],
)
def test_rows_are_drawn_one_by_one(clause: str, condition: str, tables: TableEnvironment) -> None:
    plan = tables.sql_query(f"SELECT * FROM t AS x TABLESAMPLE {clause} WHERE x.a > 0")._plan
    drawn = [each for each in find(plan, n.Filter) if isinstance(each.input, n.Scan)]
    assert [rex_text(each.condition, each.schema) for each in drawn] == [f"({condition})"]


def test_all_rows_are_no_sample(tables: TableEnvironment) -> None:
    plan = tables.sql_query("SELECT * FROM t TABLESAMPLE SYSTEM (100.0)")._plan
    assert not find(plan, n.Filter) and plan == tables.sql_query("SELECT * FROM t")._plan
