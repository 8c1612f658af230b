"""Conditions as expressions and SQL text: the same matches as with functions, computed on columns."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.cep import CEP, MalformedPatternException, Pattern
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.types import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.failure import JobFailedError
from millrace.table.expressions import col
from millrace.testing.local import run_locally

ROW = Types.ROW_NAMED(["name", "price"], [Types.STRING(), Types.INT()])
ROWS = [Row(name="a", price=20), Row(name="b", price=3), Row(name="a", price=None), Row(name="b", price=30)]


def matches(pattern: Pattern, elements: list[Any], type_info: TypeInformation | None) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = CEP.pattern(env.from_collection(elements, type_info), pattern).in_processing_time()
    return list(run_locally(stream.select(lambda match: list(match.values()))).collected)


@pytest.mark.parametrize("kind", ["expressions", "text", "functions"])
def test_all_forms_of_conditions_give_the_same(kind: str) -> None:
    forms: dict[str, list[Any]] = {
        "expressions": [col("name") == "a", col("price") > 10, col("name") == "b", col("price") < 5],
        "text": ["name = 'a'", "price > 10", "name = 'b'", "price < 5"],
        "functions": [
            lambda row: row.name == "a",
            lambda row: row.price is not None and row.price > 10,
            lambda row: row.name == "b",
            lambda row: row.price is not None and row.price < 5,
        ],
    }
    a, dear, b, cheap = forms[kind]
    pattern = Pattern.begin("a").where(a).where(dear).followed_by_any("b").where(b).or_(cheap)
    assert matches(pattern, ROWS, ROW) == [[[ROWS[0]], [ROWS[1]]], [[ROWS[0]], [ROWS[3]]]]


def test_fields_of_tuples_and_single_values_are_called_f0_and_so_on() -> None:
    pairs = [(1, "x"), (2, "y")]
    kind = Types.TUPLE([Types.INT(), Types.STRING()])
    assert matches(Pattern.begin("a").where("f0 > 1 AND f1 = 'y'"), pairs, kind) == [[[(2, "y")]]]
    assert matches(Pattern.begin("a").where("f0 > 1"), [1, 2], Types.INT()) == [[[2]]]


def test_elements_without_fields_are_refused() -> None:
    with pytest.raises(MalformedPatternException, match=r"where\(\) of pattern 'a'.*declare the type"):
        matches(Pattern.begin("a").where("x > 1"), [object], None)


def test_one_that_fails_names_the_event_and_the_line() -> None:
    rows = [Row(name="a", price=2), Row(name="b", price=0)]
    with pytest.raises(JobFailedError, match=r"(?s)CepOperator.*test_expressions\.py.*price=0.*division by zero"):
        matches(Pattern.begin("a").where("10 / price > 1"), rows, ROW)


def test_unknown_fields_are_named() -> None:
    with pytest.raises(Exception, match="cost"):
        matches(Pattern.begin("a").where("cost > 1"), ROWS, ROW)
