from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, SOURCE, STANDARD, Example, null, of

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import SignatureError, Surroundings, call
from millrace.relational.rex import Literal
from millrace.relational.values import to_arrow, to_python

INTS = t.ArrayType(t.IntType())
TEXTS = t.ArrayType(t.string())
NESTED = t.ArrayType(INTS)
ROWS = t.ArrayType(t.RowType([t.RowField("a", t.BooleanType()), t.RowField("b", t.DateType())]))
MAPS = t.ArrayType(t.MapType(t.IntType(), t.string()))
BAG = t.MultisetType(t.string())
OLD, NEW = Row(a=True, b=dt.date(1990, 10, 14)), Row(a=True, b=dt.date(2022, 4, 20))
FIVE = of(INTS, [1, 2, 3, 4, 5])
EIGHT = of(INTS, [None, 1, 2, 3, 4, 5, 6, None])
NO_TEXTS = of(TEXTS, [])


def _slices(array: object, start: int, end: int | None, gives: list[int | None]) -> Example:
    return Example("ARRAY_SLICE", [array, start] if end is None else [array, start, end], of(INTS, gives), SOURCE)


EXAMPLES = [
    Example("ARRAY", [1, 2, 3], [1, 2, 3], DOCS, strict=False),
    Example("ARRAY", [null(t.IntType()), 2], [None, 2], PYTHON, strict=False),
    Example("ARRAY", ["a", "bc"], ["a", "bc"], PYTHON, strict=False),
    Example("CARDINALITY", [of(INTS, [4, None])], of(t.IntType(), 2), DOCS),
    Example("CARDINALITY", [of(INTS, [])], 0, DOCS),
    Example("CARDINALITY", [{"a": 1, "b": 2}], 2, DOCS),
    Example("CARDINALITY", [of(BAG, {"a": 2, "b": 1})], 3, STANDARD),
    Example("ITEM", [FIVE, 1], of(t.IntType(), 1), DOCS),
    Example("ITEM", [FIVE, 6], None, SOURCE),
    Example("ITEM", [of(NESTED, [[1], [2, 3]]), of(t.BigIntType(), 2)], of(INTS, [2, 3]), PYTHON),
    Example("ITEM", [{"a": 1, "b": 2}, "b"], 2, DOCS),
    Example("ITEM", [{"a": 1, "b": 2}, "c"], None, DOCS),
    Example("AT", [of(t.MapType(t.IntType(), t.string()), {7: "x"}), 7], "x", PYTHON),
    Example("ELEMENT", [of(INTS, [7])], of(t.IntType(), 7), DOCS),
    Example("ELEMENT", [of(INTS, [])], None, DOCS),
    Example("ELEMENT", [of(INTS, [1, 2])], None, DOCS, raises="of one element, not of 2"),
    Example("ARRAY_APPEND", [of(INTS, [1, 2]), null(t.IntType())], of(INTS, [1, 2, None]), SOURCE, strict=False),
    Example("ARRAY_APPEND", [of(TEXTS, ["Hello", "World"]), "!"], ["Hello", "World", "!"], SOURCE, strict=False),
    Example("ARRAY_APPEND", [null(INTS), 1], None, SOURCE, strict=False),
    Example("ARRAY_PREPEND", [of(INTS, [1, 2]), 0], [0, 1, 2], DOCS, strict=False),
    Example("ARRAY_PREPEND", [of(INTS, [1, 2]), null(t.IntType())], [None, 1, 2], DOCS, strict=False),
    Example("ARRAY_PREPEND", [null(INTS), 1], None, DOCS, strict=False),
    Example("ARRAY_CONTAINS", [of(INTS, [1, 2, 3]), 2], True, SOURCE, strict=False),
    Example("ARRAY_CONTAINS", [of(INTS, [1, 2, 3]), 42], False, SOURCE, strict=False),
    Example("ARRAY_CONTAINS", [null(INTS), null(t.IntType())], None, SOURCE, strict=False),
    Example("ARRAY_CONTAINS", [of(INTS, [1, None, 3]), null(t.IntType())], True, SOURCE, strict=False),
    Example("ARRAY_CONTAINS", [of(ROWS, [NEW, OLD, None]), of(ROWS.element_type, OLD)], True, SOURCE, strict=False),
    Example("ARRAY_CONTAINS", [of(ROWS, [NEW, OLD, None]), null(ROWS.element_type)], True, SOURCE, strict=False),
    Example("ARRAY_CONTAINS", [of(TEXTS, ["Hello"]), "Hello World"], False, SOURCE, strict=False),
    Example("ARRAY_POSITION", [of(INTS, [None, 1, 2, 2, None]), 2], of(t.IntType(), 3), SOURCE),
    Example("ARRAY_POSITION", [of(INTS, [None, 1]), null(t.IntType())], None, SOURCE),
    Example("ARRAY_POSITION", [of(NESTED, [[1, None, 3], [0], [1]]), of(INTS, [0])], 2, SOURCE),
    Example("ARRAY_POSITION", [of(MAPS, [None, {1: "a", 2: "b"}]), of(MAPS.element_type, {2: "b", 1: "a"})], 2, SOURCE),
    Example("ARRAY_POSITION", [of(INTS, [1]), 5], 0, DOCS),
    Example("ARRAY_REMOVE", [of(INTS, [1, 2, 2, None]), 2], [1, None], DOCS, strict=False),
    Example("ARRAY_REMOVE", [of(INTS, [1, None]), null(t.IntType())], [1], DOCS, strict=False),
    Example("ARRAY_REMOVE", [of(ROWS, [OLD, NEW]), of(ROWS.element_type, OLD)], [NEW], DOCS, strict=False),
    Example("ARRAY_REVERSE", [of(INTS, [1, 2, None])], [None, 2, 1], DOCS),
    Example("ARRAY_REVERSE", [of(INTS, [])], [], DOCS),
    Example("ARRAY_REVERSE", [of(ROWS, [OLD, None])], [None, OLD], DOCS),
    _slices(FIVE, -123, None, [1, 2, 3, 4, 5]),
    _slices(FIVE, 0, None, [1, 2, 3, 4, 5]),
    _slices(FIVE, -3, None, [3, 4, 5]),
    _slices(FIVE, 9, None, []),
    _slices(FIVE, -123, -231, []),
    _slices(FIVE, -5, -5, [1]),
    _slices(FIVE, -6, -5, [1]),
    _slices(FIVE, -7, -6, [1]),
    _slices(FIVE, 5, 6, [5]),
    _slices(FIVE, 20, 30, []),
    _slices(FIVE, -123, 123, [1, 2, 3, 4, 5]),
    _slices(EIGHT, 0, 8, EIGHT.value),
    _slices(EIGHT, 0, 9, EIGHT.value),
    _slices(EIGHT, 0, -1, EIGHT.value),
    _slices(EIGHT, 1, 0, [None]),
    _slices(EIGHT, -1, 15, [None]),
    _slices(EIGHT, 8, 15, [None]),
    Example("ARRAY_JOIN", [of(TEXTS, ["a", "b", None]), "+"], "a+b", SOURCE),
    Example("ARRAY_JOIN", [of(TEXTS, ["a", "b", None]), "+", " "], "a+b+ ", SOURCE),
    Example("ARRAY_JOIN", [of(TEXTS, [None, None, "1", None, None]), "+", "abc"], "abc+abc+1+abc+abc", SOURCE),
    Example("ARRAY_JOIN", [of(TEXTS, [None, "1", None]), "+", ""], "+1+", SOURCE),
    Example("ARRAY_JOIN", [NO_TEXTS, "+"], "", PYTHON),
    Example("SPLIT", ["1,2,3", ","], of(t.ArrayType(t.string()), ["1", "2", "3"]), DOCS),
    Example("SPLIT", ["123", ""], ["1", "2", "3"], DOCS),
    Example("SPLIT", ["123", "|"], ["123"], DOCS),
    Example("SPLIT", [",1,,2,", ","], ["", "1", "", "2", ""], DOCS),
]


@corpus("example", EXAMPLES, 66)
def test_example(example: Example) -> None:
    example.check()


@pytest.mark.parametrize("example", [example for example in EXAMPLES if not example.raises], ids=str)
def test_slices_of_columns(example: Example) -> None:
    """What lies before and behind a slice of a column does not matter."""
    values = example.values()
    nulls = [None] * len(values)
    rows = [nulls, [value.value for value in values], nulls]
    columns = [to_arrow([row[index] for row in rows], value.type)[1:2] for index, value in enumerate(values)]
    called = example.call(range(len(values)))
    assert example.agrees(to_python(Evaluator(columns, Surroundings(1)).column(called), called.type)[0])


_ARRAYS = st.lists(st.none() | st.integers(-3, 3), max_size=6)


@given(_ARRAYS, st.integers(-3, 3))
def test_searching_is_that_of_lists(held: list[int | None], needle: int) -> None:
    expected = {
        "ARRAY_CONTAINS": needle in held,
        "ARRAY_POSITION": held.index(needle) + 1 if needle in held else 0,
        "ARRAY_REMOVE": [each for each in held if each != needle],
        "ITEM": held[needle - 1] if 1 <= needle <= len(held) else None,
    }
    for function, gives in expected.items():
        example = Example(function, [of(INTS, held), needle], strict=False)
        assert example.run(example.call([0, 1]), [[held, needle], [None, 1], [held, needle]])[::2] == [gives, gives]


@given(_ARRAYS)
def test_removing_all_elements_leaves_nothing(held: list[int | None]) -> None:
    left = held
    for value in Counter(held):
        example = Example("ARRAY_REMOVE", [of(INTS, left), of(t.IntType(), value)])
        [left] = example.run(example.call([0, 1]), [[left, value]])
    assert left == []


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("ARRAY_CONTAINS", [Literal(INTS, [1]), Literal(t.BooleanType(), True)]),
        ("ARRAY_CONTAINS", [Literal(INTS, [1]), Literal(t.BigIntType(), 1)]),
        ("ARRAY_APPEND", [Literal(TEXTS, ["a"]), Literal(t.IntType(), 1)]),
        ("ITEM", [Literal(INTS, [1]), Literal(t.IntType(), 0)]),
        ("ARRAY_JOIN", [Literal(INTS, [1]), Literal(t.string(), "+")]),
    ],
)
def test_what_does_not_fit_is_refused(function: str, args: list[Literal]) -> None:
    with pytest.raises(SignatureError, match=function):
        call(function, args)


def test_an_array_has_the_common_type_of_its_values() -> None:
    values = [Literal(t.IntType(False), 1), Literal(t.BigIntType(True), None)]
    assert call("ARRAY", values).type == t.ArrayType(t.BigIntType(True), False)
