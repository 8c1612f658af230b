"""EXPLAIN in batch mode; what Spark says is a fixed text here."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.spark.tables import engine
from millrace.table import EnvironmentSettings, ExplainDetail, TableEnvironment


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    def explain(plan: Any, context: Any, mode: str) -> str:
        return f"== Physical Plan ==\nmode {mode}\n\n"

    monkeypatch.setattr(engine.execute, "explain", explain)
    monkeypatch.setattr(engine, "_context", lambda session: None)
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
    return made


PLAIN = """\
== Abstract Syntax Tree ==
Scan(default_catalog.default_database.t, [a])

== Optimized Physical Plan ==
Scan(default_catalog.default_database.t, [a])

== Plan of Spark ==
-- Physical Plan --
mode simple
"""


def test_our_plan_and_that_of_spark(environment: TableEnvironment) -> None:
    assert environment.explain_sql("SELECT a FROM t") == PLAIN


def test_costs_are_those_of_spark(environment: TableEnvironment) -> None:
    assert "mode cost" in environment.explain_sql("SELECT a FROM t", ExplainDetail.ESTIMATED_COST)


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        (ExplainDetail.CHANGELOG_MODE, "== Changelog Mode ==\nin batch mode every operator gives insertions only"),
        (ExplainDetail.PLAN_ADVICE, "[a])\n\nNo available advice... In batch mode"),
        (ExplainDetail.JSON_EXECUTION_PLAN, "== Physical Execution Plan ==\nbatch mode is no graph of operators"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_details_that_batch_mode_cannot_give_are_said(
    environment: TableEnvironment, detail: ExplainDetail, text: str
) -> None:
    assert text in environment.explain_sql("SELECT a FROM t", detail)
