"""UNNEST and table functions of the user."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.tables.tabular import check, harness, less, schema

from millrace.common.types import Row
from millrace.relational.rex import Literal, Ref
from millrace.relational.types import (
    ArrayType,
    BigIntType,
    DataType,
    IntType,
    MapType,
    MultisetType,
    RowField,
    RowType,
    string,
)
from millrace.runtime.failure import OperatorError
from millrace.runtime.tables.joins.correlate import Correlate
from millrace.table.udf import TableFunction, udtf
from millrace.testing import Element

PAIR = RowType([RowField("a", BigIntType()), RowField("b", string())])
NUMBERS = ArrayType(BigIntType())


def unnest(data_type: DataType, produced: list[DataType], values: list[Any], **settings: Any) -> list[Any]:
    columns = schema(string(), data_type)
    config = Correlate(
        input=columns, function="UNNEST", args=(Ref(data_type, 1),), produced=schema(*produced), **settings
    )
    script = [Element(("+I", f"r{number}", value)) for number, value in enumerate(values)]
    return [(change[1], *change[3:]) for change in check(config, (columns,), script)]


CASES: dict[str, tuple[DataType, list[DataType], list[Any], list[Any]]] = {
    "array": (NUMBERS, [BigIntType()], [[1, None], None, [], [3]], [("r0", 1), ("r0", None), ("r3", 3)]),
    "array of rows": (
        ArrayType(PAIR),
        [BigIntType(), string()],
        [[(1, "x"), (2, None)], [(3, "z")]],
        [("r0", 1, "x"), ("r0", 2, None), ("r1", 3, "z")],
    ),
    "array of arrays": (ArrayType(NUMBERS), [NUMBERS], [[[1], [2, 3]]], [("r0", [1]), ("r0", [2, 3])]),
    "map": (
        MapType(string(), BigIntType()),
        [string(), BigIntType()],
        [{"a": 1, "b": None}, {}, None, {"c": 3}],
        [("r0", "a", 1), ("r0", "b", None), ("r3", "c", 3)],
    ),
    "multiset": (
        MultisetType(string()),
        [string()],
        [{"a": 2, "b": 1}, {"c": 1}],
        [("r0", "a"), ("r0", "a"), ("r0", "b"), ("r1", "c")],
    ),
    "multiset of rows": (MultisetType(PAIR), [BigIntType(), string()], [{(1, "x"): 2}], [("r0", 1, "x")] * 2),
}


@pytest.mark.parametrize("case", CASES)
def test_unnest(case: str) -> None:
    data_type, produced, values, expected = CASES[case]
    assert unnest(data_type, produced, values) == expected


@pytest.mark.parametrize("case", CASES)
def test_unnest_with_ordinality(case: str) -> None:
    data_type, produced, values, expected = CASES[case]
    seen: dict[str, int] = {}
    numbered = []
    for row in expected:
        seen[row[0]] = seen.get(row[0], 0) + 1
        numbered.append((*row, seen[row[0]]))
    assert unnest(data_type, [*produced, IntType()], values, ordinality=True) == numbered


def test_left_join_and_condition() -> None:
    values = [[1, 2], None, [5], [0]]
    condition = less(Ref(BigIntType(), 2), Literal(BigIntType(), 2))
    assert unnest(NUMBERS, [BigIntType()], values, left=True) == [
        ("r0", 1),
        ("r0", 2),
        ("r1", None),
        ("r2", 5),
        ("r3", 0),
    ]
    assert unnest(NUMBERS, [BigIntType()], values, condition=condition) == [("r0", 1), ("r3", 0)]
    assert unnest(NUMBERS, [BigIntType()], values, condition=condition, left=True) == [
        ("r0", 1),
        ("r1", None),
        ("r2", None),
        ("r3", 0),
    ]


def test_unnest_of_something_else() -> None:
    with pytest.raises(OperatorError, match="UNNEST takes an ARRAY, MAP or MULTISET, not STRING"):
        unnest(string(), [string()], ["a"])


INPUT = schema(BigIntType(), string())


def table(function: Any, *produced: DataType, left: bool = False, args: int = 2) -> Correlate:
    wrapper = udtf(function, result_types=list(produced))
    refs = (Ref(BigIntType(), 0), Ref(string(), 1))[:args]
    return Correlate(input=INPUT, function=wrapper.name, args=refs, produced=schema(*produced), left=left, udf=wrapper)


class Split(TableFunction):
    def open(self, function_context: Any) -> None:
        self.calls = function_context.get_metric_group().counter("calls")

    def eval(self, number: int, text: str | None) -> Any:
        self.calls.inc()
        for part in (text or "").split():
            yield part, number


SCRIPT = [
    Element((kind, number, text))
    for kind, number, text in [("+I", 1, "a b"), ("-U", 2, ""), ("+U", 3, "c"), ("+I", 4, None)]
]


def test_generators() -> None:
    expected = [("+I", 1, "a b", "a", 1), ("+I", 1, "a b", "b", 1), ("+U", 3, "c", "c", 3)]
    assert check(table(Split(), string(), BigIntType()), (INPUT,), SCRIPT) == expected
    left = check(table(Split(), string(), BigIntType(), left=True), (INPUT,), SCRIPT)
    assert left == [
        *expected[:2],
        ("-U", 2, "", None, None),
        expected[2],
        ("+I", 4, None, None, None),
    ]


FORMS: dict[str, Any] = {
    "list of tuples": lambda number, text: [(number, text)],
    "list of rows": lambda number, text: [Row(number, text)],
    "one tuple": lambda number, text: (number, text),
    "one row": lambda number, text: Row(number, text),
    "iterator": lambda number, text: iter([(number, text)]),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_results(form: str) -> None:
    found = check(table(FORMS[form], BigIntType(), string()), (INPUT,), SCRIPT[:2])
    assert found == [("+I", 1, "a b", 1, "a b"), ("-U", 2, "", 2, "")]


@pytest.mark.parametrize(
    ("function", "expected"),
    [(lambda number: range(number), [0]), (lambda number: number, [1]), (lambda number: None, [])],
)
def test_scalar_results(function: Any, expected: list[int]) -> None:
    found = check(table(function, BigIntType(), args=1), (INPUT,), SCRIPT[:1])
    assert [change[3] for change in found] == expected


def test_a_row_of_another_width() -> None:
    config = table(lambda number, text: (1, 2, 3), BigIntType())
    with harness(config, INPUT) as run, pytest.raises(OperatorError, match="rows of 1 columns, but gave"):
        run.process_element(SCRIPT[0].value)


def test_unknown_function() -> None:
    config = Correlate(input=INPUT, function="EXPLODE", args=(), produced=schema(string()))
    with pytest.raises(NotImplementedError, match=r"EXPLODE is not built in: make one with udtf\(\)"):
        harness(config, INPUT)
