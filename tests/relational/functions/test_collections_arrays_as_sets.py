from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, JAVA, SOURCE, Example, of

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

INTS = t.ArrayType(t.IntType())
ROWS = t.ArrayType(t.RowType([t.RowField("a", t.BooleanType()), t.RowField("b", t.DateType())]))
OLD, NEW = Row(a=True, b=dt.date(1990, 10, 14)), Row(a=True, b=dt.date(2022, 4, 20))
SOME = of(INTS, [1, 2, 2, None])
NAN = float("nan")

EXAMPLES = [
    Example("ARRAY_DISTINCT", [of(INTS, [None, 1, 2, 3, 4, 5, 4, 3, 2, 1, None])], [None, 1, 2, 3, 4, 5], SOURCE),
    Example("ARRAY_DISTINCT", [["Hello", "Hello", "Hello"]], ["Hello"], SOURCE),
    Example("ARRAY_DISTINCT", [of(ROWS, [NEW, OLD, OLD, OLD, None])], [NEW, OLD, None], SOURCE),
    Example("ARRAY_CONCAT", [of(INTS, [1, None]), of(INTS, [1])], of(INTS, [1, None, 1]), DOCS),
    Example("ARRAY_CONCAT", [of(INTS, [1])], [1], DOCS),
    Example("ARRAY_CONCAT", [of(INTS, [1]), of(INTS, []), of(INTS, [3])], [1, 3], DOCS),
    Example("ARRAY_UNION", [of(INTS, [1, 1, None]), of(INTS, [None, 2, 1])], [1, None, 2], DOCS),
    Example("ARRAY_UNION", [of(INTS, []), of(INTS, [])], [], DOCS),
    Example("ARRAY_UNION", [of(ROWS, [OLD]), of(ROWS, [OLD, NEW])], [OLD, NEW], DOCS),
    Example("ARRAY_EXCEPT", [of(INTS, [1, 2, 2]), of(INTS, [1])], [2], DOCS),
    Example("ARRAY_EXCEPT", [of(INTS, [None, None, 1]), of(INTS, [1])], [None], DOCS),
    Example("ARRAY_EXCEPT", [of(INTS, [1, 2]), of(INTS, [2, 1])], [], DOCS),
    Example("ARRAY_INTERSECT", [of(INTS, [3, 1, None, 3]), of(INTS, [None, 3])], [3, None], DOCS),
    Example("ARRAY_INTERSECT", [of(INTS, [1]), of(INTS, [2])], [], DOCS),
    Example("ARRAY_INTERSECT", [of(ROWS, [OLD, NEW]), of(ROWS, [NEW])], [NEW], DOCS),
    Example("ARRAY_MAX", [SOME], of(t.IntType(), 2), DOCS),
    Example("ARRAY_MAX", [of(INTS, [None])], None, SOURCE),
    Example("ARRAY_MAX", [[1.5, NAN, 3.0]], NAN, JAVA),
    Example("ARRAY_MIN", [SOME], 1, DOCS),
    Example("ARRAY_MIN", [of(INTS, [])], None, SOURCE),
    Example("ARRAY_MIN", [["b", "a"]], "a", DOCS),
    Example("ARRAY_SORT", [SOME], [None, 1, 2, 2], SOURCE),
    Example("ARRAY_SORT", [SOME, False], [2, 2, 1, None], SOURCE),
    Example("ARRAY_SORT", [SOME, True], [None, 1, 2, 2], SOURCE),
    Example("ARRAY_SORT", [SOME, True, True], [None, 1, 2, 2], SOURCE),
    Example("ARRAY_SORT", [SOME, True, False], [1, 2, 2, None], SOURCE),
    Example("ARRAY_SORT", [SOME, False, True], [None, 2, 2, 1], SOURCE),
    Example("ARRAY_SORT", [SOME, False, False], [2, 2, 1, None], SOURCE),
    Example("ARRAY_SORT", [["a", "cv", "dc", "rerer", "234", "12"]], ["12", "234", "a", "cv", "dc", "rerer"], SOURCE),
    Example(
        "ARRAY_SORT", [[dt.date(2022, 1, 2), dt.date(2012, 5, 16)]], [dt.date(2012, 5, 16), dt.date(2022, 1, 2)], SOURCE
    ),
    Example("ARRAY_SORT", [[1.0, NAN, -1.0]], [-1.0, 1.0, NAN], JAVA),
]


@corpus("example", EXAMPLES, 31)
def test_example(example: Example) -> None:
    example.check()


_ARRAYS = st.lists(st.none() | st.integers(-3, 3), max_size=6)


@given(_ARRAYS, _ARRAYS)
def test_sets_are_those_of_python(one: list[int | None], other: list[int | None]) -> None:
    expected = {
        "ARRAY_UNION": list(dict.fromkeys(one + other)),
        "ARRAY_EXCEPT": list(dict.fromkeys(each for each in one if each not in other)),
        "ARRAY_INTERSECT": list(dict.fromkeys(each for each in one if each in other)),
        "ARRAY_CONCAT": one + other,
    }
    for function, gives in expected.items():
        example = Example(function, [of(INTS, one), of(INTS, other)])
        assert example.run(example.call([0, 1]), [[one, other], [None, other]]) == [gives, None]


@given(_ARRAYS)
def test_maximum_and_minimum_are_the_ends_of_the_sorted_array(held: list[int | None]) -> None:
    present = sorted(each for each in held if each is not None)
    expected = {"ARRAY_MAX": present[-1:], "ARRAY_MIN": present[:1], "ARRAY_SORT": None}
    for function, gives in expected.items():
        example = Example(function, [of(INTS, held)])
        [found] = example.run(example.call([0]), [[held]])
        if gives is None:
            assert found == [None] * held.count(None) + present
        else:
            assert [found] == (gives or [None])


def test_rows_have_no_order() -> None:
    with pytest.raises(SignatureError, match="values with an order"):
        call("ARRAY_SORT", [Literal(ROWS, [])])


def test_arrays_of_different_things_do_not_join() -> None:
    with pytest.raises(SignatureError, match="common type"):
        call("ARRAY_UNION", [Literal(INTS, []), Literal(t.ArrayType(t.string()), [])])
