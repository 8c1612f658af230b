from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, PYTHON, SOURCE, Example, of

from millrace.relational import types as t
from millrace.relational.functions.cast_values import canonical
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

V = t.VariantType()

EXAMPLES = [
    Example("PARSE_JSON", ['{"b": [2, 3], "a": 1}'], of(V, '{"a":1,"b":[2,3]}'), SOURCE),
    Example("PARSE_JSON", ["null"], "null", DOCS),
    Example("PARSE_JSON", ["[1.50, 1e3, true]"], "[1.5,1000.0,true]", PYTHON),
    Example("PARSE_JSON", ["{"], None, DOCS, raises="TRY_PARSE_JSON gives NULL"),
    Example("PARSE_JSON", ["1e400"], None, SOURCE, raises="too large"),
    Example("PARSE_JSON", ['{"a": 1, "a": 2}'], None, DOCS, raises="the key 'a' comes twice"),
    Example("PARSE_JSON", ['{"a": 1, "a": 2}', False], None, DOCS, raises="the key 'a' comes twice"),
    Example("PARSE_JSON", ['{"a": 1, "a": 2}', True], '{"a":2}', DOCS),
    Example("TRY_PARSE_JSON", ['{"a": 1}'], '{"a":1}', SOURCE),
    Example("TRY_PARSE_JSON", ["{"], None, DOCS),
    Example("TRY_PARSE_JSON", ["1e400"], None, SOURCE),
    Example("TRY_PARSE_JSON", ['{"a": 1, "a": 2}'], None, DOCS),
    Example("TRY_PARSE_JSON", ['{"a": 1, "a": 2}', True], '{"a":2}', DOCS),
    Example("ITEM", [of(V, "[10,20,30]"), 1], of(V, "10"), DOCS),
    Example("ITEM", [of(V, "[10,20,30]"), 4], None, DOCS),
    Example("ITEM", [of(V, '[[1],{"a":1.0E10}]'), 2], '{"a":1.0E10}', DOCS),
    Example("ITEM", [of(V, '{"a":{"b":null}}'), "a"], of(V, '{"b":null}'), DOCS),
    Example("ITEM", [of(V, '{"b":null}'), "b"], "null", DOCS),
    Example("ITEM", [of(V, '{"a":1}'), "c"], None, DOCS),
    Example("ITEM", [of(V, '{"a":1}'), 1], None, SOURCE, raises="not an array"),
    Example("ITEM", [of(V, "[1]"), "a"], None, SOURCE, raises="not an object"),
]


@corpus("example", EXAMPLES, 21)
def test_example(example: Example) -> None:
    example.check()


_SIMPLE = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    _SIMPLE | st.text(st.characters(codec="utf-8")),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), each, max_size=3),
    max_leaves=8,
)


@given(_VALUES)
def test_the_kept_text_says_the_same(value: object) -> None:
    kept = canonical(json.dumps(value))
    assert json.loads(kept) == value
    assert canonical(kept) == kept


def test_positions_count_from_one() -> None:
    with pytest.raises(SignatureError, match="count from 1, there is no 0"):
        call("ITEM", [Literal(V, "[1]"), Literal(t.IntType(), 0)])
