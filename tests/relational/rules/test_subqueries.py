"""Subqueries as joins: the shapes of the plans. That they mean the same is tested with whole queries against DuckDB,
in ``tests/table/sql/binding/test_standard_queries.py``."""

from __future__ import annotations

import textwrap

import pytest

from millrace.relational import nodes as n
from millrace.relational.functions.registry import call
from millrace.relational.nodes.rel import is_correlated, outer_refs
from millrace.relational.rex import AggCall, Literal, OuterRef, Ref, Rex, SortKey, Subquery
from millrace.relational.rules.plan_text import plan_text
from millrace.relational.rules.subqueries import join_lateral, unnest
from millrace.relational.types import BigIntType, BooleanType, DataType, IntType

INT, BIGINT = IntType(), BigIntType()


def _scan(name: str, *columns: str, data_type: DataType = INT) -> n.Scan:
    return n.Scan(("c", "d", name), tuple(n.Field(column, data_type) for column in columns))


T = _scan("t", "a", "b")
U = _scan("u", "x", "y")
STRICT_T = _scan("t", "a", "b", data_type=INT.not_null())
STRICT_U = _scan("u", "x", "y", data_type=INT.not_null())
A, B, X, Y = Ref(INT, 0), Ref(INT, 1), Ref(INT, 0), Ref(INT, 1)
OUTER_A, OUTER_B = OuterRef(INT, 0), OuterRef(INT, 1)


def _where(plan: n.Rel, condition: Rex) -> n.Rel:
    return n.Filter(plan, condition)


def _columns(plan: n.Rel, *expressions: Rex) -> n.Rel:
    fields = tuple(n.Field(f"e{at}", each.type) for at, each in enumerate(expressions))
    return n.Project(plan, expressions, fields)


def _total(plan: n.Rel, function: str, *args: Rex) -> n.Rel:
    result: DataType = BIGINT.not_null() if function == "COUNT" else INT
    return n.Aggregate(plan, (), (AggCall(function, args, result),), (n.Field("v", result),))


def _exists(plan: n.Rel, negated: bool = False) -> Subquery:
    return Subquery(BooleanType(False), "EXISTS", plan, negated=negated)


def _in(value: Rex, plan: n.Rel, negated: bool = False) -> Subquery:
    return Subquery(BooleanType(value.type.is_nullable), "IN", plan, (value,), negated)


def _scalar(plan: n.Rel) -> Subquery:
    return Subquery(plan.schema[0].type.nullable(), "SCALAR", plan)


CASES: dict[str, tuple[n.Rel, str]] = {
    "correlated EXISTS": (
        _where(T, _exists(_where(U, call("=", [X, OUTER_A])))),
        """
        Join(SEMI, (x = a))
          Scan(c.d.t, [a, b])
          Scan(c.d.u, [x, y])
        """,
    ),
    "NOT EXISTS with another condition": (
        _where(T, call("AND", [_exists(_where(U, call("<", [X, OUTER_A])), negated=True), call(">", [A, B])])),
        """
        Filter((a > b))
          Join(ANTI, (x < a))
            Scan(c.d.t, [a, b])
            Scan(c.d.u, [x, y])
        """,
    ),
    "EXISTS of its own asks whether there are rows": (
        _where(T, _exists(U)),
        """
        Join(SEMI, TRUE)
          Scan(c.d.t, [a, b])
          Filter(($n0 > 0))
            Aggregate(COUNT(*))
              Scan(c.d.u, [x, y])
        """,
    ),
    "IN": (
        _where(T, _in(A, _columns(U, X))),
        """
        Join(SEMI, (a = e0))
          Scan(c.d.t, [a, b])
          Project(x AS e0)
            Scan(c.d.u, [x, y])
        """,
    ),
    "NOT IN with NULLs": (
        _where(T, _in(A, _columns(U, X), negated=True)),
        """
        Join(ANTI, (a = e0), null aware)
          Scan(c.d.t, [a, b])
          Project(x AS e0)
            Scan(c.d.u, [x, y])
        """,
    ),
    "NOT IN without NULLs": (
        _where(STRICT_T, _in(Ref(INT.not_null(), 0), _columns(STRICT_U, Ref(INT.not_null(), 0)), negated=True)),
        """
        Join(ANTI, (a = e0))
          Scan(c.d.t, [a, b])
          Project(x AS e0)
            Scan(c.d.u, [x, y])
        """,
    ),
    "correlated NOT IN says which comparisons are unknown": (
        _where(T, _in(A, _columns(_where(U, call("=", [Y, OUTER_B])), X), negated=True)),
        """
        Join(ANTI, (IS NOT FALSE((a = e0)) AND (y = b)))
          Scan(c.d.t, [a, b])
          Project(x AS e0, y)
            Scan(c.d.u, [x, y])
        """,
    ),
    "MAX of nothing is NULL, as is a missing row": (
        _columns(T, A, _scalar(_total(_where(U, call("=", [Y, OUTER_A])), "MAX", X))),
        """
        Project(a AS e0, v AS e1)
          Join(LEFT, (y = a))
            Scan(c.d.t, [a, b])
            Project(v, y)
              Aggregate(keys=[y], MAX(x))
                Scan(c.d.u, [x, y])
        """,
    ),
    "COUNT of nothing is 0: it is completed for every outer value": (
        _columns(T, _scalar(_total(_where(U, call("=", [Y, OUTER_A])), "COUNT"))),
        """
        Project(v AS e0)
          Join(LEFT, IS NOT DISTINCT FROM(a$0, a$3))
            Scan(c.d.t, [a, b])
            Project(COALESCE(v, 0) AS v, a)
              Join(LEFT, (y = a))
                Aggregate(keys=[a])
                  Project(a)
                    Scan(c.d.t, [a, b])
                Aggregate(keys=[y], COUNT(*))
                  Scan(c.d.u, [x, y])
        """,
    ),
    "a query that may give several rows is checked": (
        _columns(T, _scalar(_columns(U, X))),
        """
        Project(e0)
          Join(INNER, TRUE)
            Scan(c.d.t, [a, b])
            Aggregate(SINGLE_VALUE(e0))
              Project(x AS e0)
                Scan(c.d.u, [x, y])
        """,
    ),
    "the latest row of each": (
        _columns(
            T,
            _scalar(
                n.Sort(_columns(_where(U, call("=", [Y, OUTER_A])), X), (SortKey(Ref(INT, 0), True, False),), 0, 1)
            ),
        ),
        """
        Project(e0)
          Join(LEFT, (y = a))
            Scan(c.d.t, [a, b])
            Rank(ROW_NUMBER, from=1, to=1, partition=[y], order=[e0 DESC])
              Project(x AS e0, y)
                Scan(c.d.u, [x, y])
        """,
    ),
    "EXISTS under OR counts": (
        _where(T, call("OR", [_exists(_where(U, call("=", [X, OUTER_A]))), call("=", [A, B])])),
        """
        Project(a, b)
          Filter((IS TRUE(($n0 > 0)) OR (a = b)))
            Join(LEFT, (x = a))
              Scan(c.d.t, [a, b])
              Aggregate(keys=[x], COUNT(*))
                Scan(c.d.u, [x, y])
        """,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_plan(name: str) -> None:
    plan, expected = CASES[name]
    found = unnest(plan)
    assert plan_text(found) == textwrap.dedent(expected).strip()
    assert [column.name for column in found.schema] == [column.name for column in plan.schema]


def test_a_subquery_that_occurs_twice_is_joined_once() -> None:
    value = _scalar(_total(U, "MAX", X))
    found = unnest(_columns(T, call("+", [A, value]), call("-", [A, value])))
    assert len(n.find(found, n.Join)) == 1


def test_lateral_keeps_the_columns_of_both() -> None:
    right = _where(U, call("=", [X, OUTER_A]))
    found = join_lateral(T, right, "LEFT", Literal(BooleanType(False), True))
    assert plan_text(found) == "Join(LEFT, (x = a))\n  Scan(c.d.t, [a, b])\n  Scan(c.d.u, [x, y])"


def test_outer_refs_are_found_through_nested_subqueries() -> None:
    inner = _where(U, call("=", [X, OuterRef(INT, 1, 2)]))
    middle = _where(T, _exists(inner))
    assert outer_refs(middle) == {1}
    assert is_correlated(middle)
    assert outer_refs(inner) == set()
    assert is_correlated(inner)
    assert not is_correlated(_where(U, call("=", [X, Y])))


def test_what_cannot_be_taken_out_is_named() -> None:
    joined = n.Join(T, _where(U, call("=", [X, OUTER_A])), "RIGHT", call("=", [A, Ref(INT, 2)]))
    with pytest.raises(NotImplementedError, match="a correlated subquery cannot have a RIGHT JOIN: use LEFT JOIN"):
        unnest(_where(T, _exists(joined)))


def test_a_subquery_in_another_node_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="a subquery cannot stand in Sort"):
        unnest(n.Sort(T, (SortKey(_scalar(_total(U, "MAX", X))),)))
