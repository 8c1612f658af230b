"""``call`` by the name of one of Flink's function definitions is the method of an expression."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from tests.flink.asking import Asked, streamed
from tests.flink.suites import expressing
from tests.flink.suites.expressing import Tree
from tests.flink.suites.reading import columns_of, sets
from tests.flink.suites.running import SOURCE, _source, environment

from millrace.relational.nodes import Project
from millrace.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from millrace.table.expressions import call, col
from millrace.table.udf import udf

PARTS = ("functions", "expressions")
OTHERWISE = {"truncate"}
"""definitions whose plan says the same with another function"""
TREES, NAMES = 3, 130
"""trees of a name; names at least"""
_method = expressing.call


def by_name(name: str, args: list[Tree]) -> Any:
    if name in expressing.SPECIAL and name not in ("trim", "get", "log"):
        return _method(name, args)
    return call(name, *map(expressing.argument, args))


def trees() -> Iterator[tuple[TableEnvironment, bool, Tree]]:
    seen: Counter[str] = Counter()
    for cases in chain.from_iterable(map(sets, PARTS)):
        columns = [each for each in columns_of(cases) if len(each) == 3]
        tables = environment(())
        _source(tables, columns)
        for case in cases.cases:
            for tree in case.trees:
                name = tree.get("call", "")
                if case.fails or not name or name.startswith("java:") or seen[name] == TREES:
                    continue
                seen[name] += 1
                yield tables, bool(columns), tree


def planned(tables: TableEnvironment, has_columns: bool, tree: Tree) -> tuple[str, str]:
    """The type and the plan's expression."""
    table = tables.from_path(SOURCE) if has_columns else tables.from_elements([(1,)], ["a"])
    plan = table.select(expressing.expression(tree))._plan
    assert isinstance(plan, Project)
    return repr(plan.schema[0].type), repr(plan.expressions)


def test_a_call_by_name_is_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    names, wrong = set(), []
    for tables, has_columns, tree in trees():
        monkeypatch.setattr(expressing, "call", _method)
        try:
            wanted = planned(tables, has_columns, tree)
        except Exception:
            continue  # what the method refuses is looked at elsewhere
        monkeypatch.setattr(expressing, "call", by_name)
        found = planned(tables, has_columns, tree)
        names.add(tree["call"])
        same = found[0] == wanted[0] if tree["call"] in OTHERWISE else found == wanted
        if not same:
            wrong.append(f"{tree} is {found}, the method {wanted}")
    assert not wrong, "\n".join(wrong)
    assert len(names) >= NAMES


def rows(tables: TableEnvironment, table: Table) -> list[list[Any]]:
    return [row for _, row in streamed(Asked(tables, table._plan))]


@pytest.fixture
def tables() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def test_letters_of_a_name(tables: TableEnvironment) -> None:
    table = tables.from_elements([(1, "aXb")], ["n", "s"])
    chosen = table.select(call("EQUALS", col("n"), 1), call("regexpextract", col("s"), "[A-Z]"), call("minusPrefix", 3))
    assert chosen._plan.schema[1].type == DataTypes.STRING()
    assert rows(tables, chosen) == [[True, "X", -3]]


def test_aggregates_by_name(tables: TableEnvironment) -> None:
    table = tables.from_elements([("a", 1), ("a", 3)], ["k", "n"])
    chosen = table.group_by(col("k")).select(col("k"), call("varPop", col("n")), call("plus", col("n").sum, 1))
    assert rows(tables, chosen)[-1] == ["a", 1, 5]


def test_a_temporary_system_function_goes_first(tables: TableEnvironment) -> None:
    table = tables.from_elements([(1,)], ["n"])
    mine = udf(lambda a, b: a * 100 + b, result_type=DataTypes.BIGINT())
    tables.create_temporary_function("plus", mine)
    assert rows(tables, table.select(call("plus", col("n"), 2))) == [[3]]
    tables.drop_temporary_function("plus")
    tables.create_temporary_system_function("plus", mine)
    assert rows(tables, table.select(call("plus", col("n"), 2))) == [[102]]


def test_a_name_that_is_none(tables: TableEnvironment) -> None:
    with pytest.raises(Exception, match="unknown function equalz"):
        tables.from_elements([(1,)], ["n"]).select(call("equalz", col("n"), 1))
