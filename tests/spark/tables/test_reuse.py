"""What a query needs twice is computed once: Spark finds that two exchanges are of the same rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import INT, STRING, agg, at, fn, group, project, values

from millrace.relational import nodes as n
from millrace.relational.rules.optimizer import REUSE_PLANS
from millrace.spark.tables.execute import explain
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.sql_text import spark_text

ROWS = [(f"key {index % 7}", index) for index in range(50)]


def counted(by_python: bool) -> n.Rel:
    """Rows by key, of a table that is made anew."""
    table = values({"k": STRING, "v": INT}, *ROWS)
    key = at(table, "k")
    made = fn("INITCAP", key) if by_python else fn("UPPER", key)
    assert (spark_text(made) is None) is by_python
    keys = project(table, k=key, made=made)
    return group(keys, ["k", "made"], rows=agg("COUNT"))


def beside_the_most(by_python: bool) -> n.Rel:
    """Keys with the highest count."""
    left, right = counted(by_python), counted(by_python)
    most = group(right, [], most=agg("MAX", at(right, "rows")))
    condition = fn("=", at(left, "rows"), at(most, "most", len(left.schema)))
    joined = n.Join(left, most, "INNER", condition)
    return project(joined, k=at(joined, "k"), rows=at(joined, "rows"))


@pytest.mark.parametrize("by_python", [False, True], ids=["Spark", "Python"])
def test_what_a_query_needs_twice_is_computed_once(run: Run, context: Context, by_python: bool) -> None:
    plan = beside_the_most(by_python)
    found = Counter(key for key, _ in ROWS)
    most = max(found.values())
    assert run(plan) == sorted((key, rows) for key, rows in found.items() if rows == most)
    assert "ReusedExchange" in explain(plan, context, "simple")
    around = context.surroundings
    apart = replace(context, surroundings=replace(around, configuration={**around.configuration, REUSE_PLANS: "false"}))
    if by_python:
        assert "ReusedExchange" not in explain(plan, apart, "simple")
