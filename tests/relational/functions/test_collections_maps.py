from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, SOURCE, Example, null, of

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

MAP = t.MapType(t.string(), t.IntType())
INTS = t.ArrayType(t.IntType())
DATES = t.MapType(t.DateType(), t.TimeType(0))

EXAMPLES = [
    Example("MAP", [null(t.string()), 1], None, PYTHON, raises="a key of a MAP cannot be NULL"),
    Example("MAP_FROM_ARRAYS", [of(INTS, [1, 2]), ["a", "b"]], {1: "a", 2: "b"}, DOCS),
    Example("MAP_FROM_ARRAYS", [of(INTS, []), of(INTS, [])], {}, PYTHON),
    Example(
        "MAP_FROM_ARRAYS", [of(INTS, [1]), of(INTS, [1, 2])], None, DOCS, raises="as many keys as values, not 1 and 2"
    ),
    Example("MAP_UNION", [of(MAP, {"a": 1, "b": 2}), of(MAP, {"b": 3})], of(MAP, {"a": 1, "b": 3}), DOCS),
    Example("MAP_UNION", [of(MAP, {"a": 1}), of(MAP, {"a": None}), of(MAP, {"c": 3})], {"a": None, "c": 3}, DOCS),
    Example("MAP_UNION", [of(MAP, {"a": 1})], {"a": 1}, DOCS),
    Example("MAP_KEYS", [of(MAP, {"a": 1, "b": None})], of(t.ArrayType(t.string()), ["a", "b"]), DOCS),
    Example("MAP_KEYS", [of(MAP, {})], [], DOCS),
    Example("MAP_KEYS", [of(DATES, {dt.date(1985, 11, 4): dt.time(17, 18)})], [dt.date(1985, 11, 4)], SOURCE),
    Example("MAP_VALUES", [of(MAP, {"a": 1, "b": None})], of(INTS, [1, None]), DOCS),
    Example("MAP_VALUES", [of(MAP, {})], [], DOCS),
    Example("MAP_VALUES", [of(t.MapType(t.IntType(), MAP), {3: {"x": 2}})], [{"x": 2}], SOURCE),
    Example("MAP_ENTRIES", [of(MAP, {"a": 1, "b": 2})], [Row(key="a", value=1), Row(key="b", value=2)], DOCS),
    Example("MAP_ENTRIES", [of(MAP, {})], [], DOCS),
    Example("MAP_ENTRIES", [of(MAP, {"a": None})], [Row(key="a", value=None)], DOCS),
]

# NULL as a key is an error, so these are not tried with NULL
CONSTRUCTED = [
    (["a", 1, "b", 2], {"a": 1, "b": 2}),
    (["a", 1, "a", 2], {"a": 2}),
    ([1, "x", 2, null(t.string())], {1: "x", 2: None}),
]


@corpus("example", EXAMPLES, 16)
def test_example(example: Example) -> None:
    example.check()


@pytest.mark.parametrize(("args", "gives"), CONSTRUCTED)
def test_map(args: list[object], gives: dict[object, object]) -> None:
    example = Example("MAP", args, gives)
    row = [value.value for value in example.values()]
    assert example.run(example.call(), [row]) == [gives]
    assert example.run(example.call(list(range(len(args)))), [row, row]) == [gives, gives]


@given(st.lists(st.dictionaries(st.text(max_size=2), st.none() | st.integers(0, 9)), min_size=1, max_size=3))
def test_later_maps_win(maps: list[dict[str, int | None]]) -> None:
    expected: dict[str, int | None] = {}
    for each in maps:
        expected |= each
    example = Example("MAP_UNION", [of(MAP, each) for each in maps])
    assert example.run(example.call(list(range(len(maps)))), [maps]) == [expected]


def test_a_map_has_the_common_types_of_its_keys_and_values() -> None:
    parts = [(t.IntType(False), 1), (t.IntType(False), 2), (t.IntType(False), 3), (t.BigIntType(), None)]
    found = call("MAP", [Literal(each, value) for each, value in parts])
    assert found.type == t.MapType(t.IntType(False), t.BigIntType(), False)


def test_a_key_without_a_value_is_refused() -> None:
    with pytest.raises(SignatureError, match="keys and values in turn"):
        call("MAP", [Literal(t.IntType(), 1)])
