"""Calls: which function a name means, how words of the syntax and defaults become options and arguments."""

from __future__ import annotations

import pytest
from tests.table.sql.sessions import Session

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import AggCall, Call, Rex, UdfCall
from millrace.table.sql.binding import UserFunction
from millrace.table.sql.binding.scope import Block, bind
from millrace.table.sql.grammar.parser import parse_expression

COLUMNS = (
    n.Field("i", t.IntType()),
    n.Field("s", t.string()),
    n.Field("ts", t.TimestampType(3)),
    n.Field("xs", t.ArrayType(t.IntType())),
)


def _bind(text: str, **functions: UserFunction) -> Rex:
    return bind(parse_expression(text), Block.of(COLUMNS, Session(functions=functions)))


def _user(kind: str = "SCALAR", system: bool = False) -> UserFunction:
    return UserFunction("mine", kind, "wrapper", t.BigIntType(), arguments=(t.BigIntType(),), system=system)


def test_a_call_of_a_users_function_casts_its_arguments() -> None:
    found = _bind("mine(i)", mine=_user())
    assert isinstance(found, UdfCall)
    assert (found.function, found.type) == ("wrapper", t.BigIntType())
    assert found.args[0].type == t.BigIntType()


def test_names_of_functions_have_no_case() -> None:
    assert isinstance(_bind("MINE(i)", mine=_user()), UdfCall)
    assert _bind("upper(s)") == _bind("UPPER(s)")


def test_a_built_in_function_goes_before_one_of_the_catalog() -> None:
    assert isinstance(_bind("abs(i)", abs=_user()), Call)
    assert isinstance(_bind("cat.db.abs(i)", abs=_user()), UdfCall)
    assert isinstance(_bind("abs(i)", abs=_user(system=True)), UdfCall)


def test_an_aggregate_of_the_user() -> None:
    session = Session(functions={"mine": _user("AGGREGATE")})
    session.declare("t", "k INT", "v INT")
    plan = session.bind("SELECT k, mine(DISTINCT v) FILTER (WHERE v > 1) AS m FROM t GROUP BY k")
    (aggregate,) = n.find(plan, n.Aggregate)
    (call,) = aggregate.aggregates
    assert isinstance(call, AggCall)
    assert (call.udf, call.distinct, call.type) == ("wrapper", True, t.BigIntType())
    assert call.filter is not None


OPTIONS = [
    ("EXTRACT(HOUR FROM ts)", "EXTRACT", 1, {"unit": "HOUR"}),
    ("TIMESTAMPADD(DAY, 2, ts)", "TIMESTAMPADD", 2, {"unit": "DAY"}),
    ("CEIL(ts TO DAY)", "CEIL TIME", 1, {"unit": "DAY"}),
    ("TRIM(LEADING 'x' FROM s)", "TRIM", 2, {"side": "LEADING"}),
    ("TRIM(s)", "TRIM", 1, {}),
    ("s IS JSON ARRAY", "IS JSON", 1, {"kind": "ARRAY"}),
    (
        "JSON_VALUE(s, '$.a' RETURNING INT DEFAULT 3 ON EMPTY ERROR ON ERROR)",
        "JSON_VALUE",
        3,
        {"returning": t.IntType(), "on_empty": "DEFAULT", "default_on_empty": 2, "on_error": "ERROR"},
    ),
    ("JSON_OBJECT(KEY 'a' VALUE i ABSENT ON NULL)", "JSON_OBJECT", 2, {"on_null": "ABSENT"}),
    ("xs[2]", "ITEM", 2, {}),
    ("(i, s)", "ROW", 2, {}),
    ("MAP['a', i]", "MAP", 2, {}),
    ("s LIKE 'a!%' ESCAPE '!'", "LIKE", 3, {}),
    ("i IN (1, 2, 3)", "IN", 4, {}),
    ("i = 1 OR i = 2 OR i = 3", "OR", 3, {}),
    ("CASE i WHEN 1 THEN 'a' WHEN 2 THEN 'b' END", "CASE", 5, {}),
]


@pytest.mark.parametrize(("text", "name", "count", "options"), OPTIONS, ids=[each[0] for each in OPTIONS])
def test_syntax(text: str, name: str, count: int, options: dict[str, object]) -> None:
    found = _bind(text)
    assert isinstance(found, Call)
    assert (found.function, len(found.args), dict(found.options)) == (name, count, options)


def test_the_string_of_trim_comes_first() -> None:
    assert _bind("TRIM(BOTH 'x' FROM s)").children[0] == _bind("s")


def test_between_is_two_comparisons() -> None:
    assert _bind("i BETWEEN 1 AND 3") == _bind("i >= 1 AND i <= 3")
    assert _bind("i NOT BETWEEN 1 AND 3") == _bind("NOT (i >= 1 AND i <= 3)")
    assert _bind("i BETWEEN SYMMETRIC 3 AND 1") == _bind("(i >= 3 AND i <= 1) OR (i >= 1 AND i <= 3)")


def test_conditions_of_programs_may_be_long() -> None:
    text = " OR ".join(f"i = {number}" for number in range(600))
    assert len(_bind(text).children) == 600


def test_rows_are_compared_field_by_field() -> None:
    assert _bind("(i, s) = (1, 'a')") == _bind("i = 1 AND s = 'a'")
    assert _bind("(i, s) IN ((1, 'a'), (2, 'b'))") == _bind("(i = 1 AND s = 'a') OR (i = 2 AND s = 'b')")


def test_a_cast_stays_where_the_type_is_the_same() -> None:
    found = _bind("CAST(ts AS TIMESTAMP(3))")
    assert isinstance(found, Call)
    assert found.function == "CAST"
    assert _bind("TRY_CAST(s AS INT NOT NULL)").type == t.IntType()
