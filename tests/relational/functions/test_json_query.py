from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, SOURCE, Example, of

from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

QUERY = '{"a1": [], "o1": {}, "s1": "Test", "n1": 1}'
INTS = t.ArrayType(t.IntType())
TEXTS = t.ArrayType(t.string())


def _query(text: str, path: str, gives: object, source: str = SOURCE, raises: str = "", **options: object) -> Example:
    return Example("JSON_QUERY", [text, path], gives, source, options, raises=raises)


EXAMPLES = [
    _query('{ "a": { "b": 1 } }', "$.a", of(t.string(), '{"b":1}'), DOCS),
    _query("[1, 2]", "$", "[1,2]", DOCS),
    _query('{"a":[{"c":"c1"},{"c":"c2"}]}', "lax $.a[*].c", '["c1","c2"]', DOCS),
    _query('{"a":[{"c":"c1"},{"c":"c2"}]}', "lax $.a[*].c", ["c1", "c2"], DOCS, returning=TEXTS),
    _query("{}", "$", "[{}]", DOCS, wrapper="CONDITIONAL"),
    _query("[1, 2]", "$", "[1,2]", DOCS, wrapper="CONDITIONAL_ARRAY"),
    _query("[1, 2]", "$", "[[1,2]]", DOCS, wrapper="UNCONDITIONAL_ARRAY"),
    _query("1", "$", None, DOCS),
    _query("1", "$", "[1]", DOCS, wrapper="CONDITIONAL"),
    _query("{}", "lax $.invalid", "{}", DOCS, on_empty="EMPTY OBJECT"),
    _query("{}", "strict $.invalid", "[]", DOCS, on_error="EMPTY_ARRAY"),
    _query("{}", "lax $.invalid", None, on_empty="ERROR", raises="nothing is at the path"),
    _query("{}", "strict $.invalid", None, on_error="ERROR", raises="nothing is at $.invalid"),
    _query(QUERY, "$.a1", "[]"),
    _query(QUERY, "$.o1", "[{}]", wrapper="CONDITIONAL"),
    _query(QUERY, "$.a1", "[[]]", wrapper="UNCONDITIONAL"),
    _query(QUERY, "$.s1", '["Test"]', wrapper="CONDITIONAL"),
    _query('{"a": "[1,2]"}', "$.a", None, returning=TEXTS),
    _query('{"a": "[1,2]"}', "$.a", ["[1,2]"], returning=TEXTS, wrapper="CONDITIONAL"),
    _query('{"a":[{"c":null},{"c":"c2"}]}', "lax $.a[*].c", [None, "c2"], returning=TEXTS),
    _query('{"i": [{"z":1, "b":10}, null]}', "$.i", ['{"b":10,"z":1}', None], returning=TEXTS),
    _query('{"i": [1, null, 3]}', "$.i", of(INTS, [1, None, 3]), returning=INTS),
    _query('{"i": [1.5, 2.5]}', "$.i", [1.5, 2.5], returning=t.ArrayType(t.DoubleType())),
    _query('{"i": ["a"]}', "$.i", None, returning=INTS),
    _query('{"i": ["a"]}', "$.i", [], returning=INTS, on_error="EMPTY ARRAY"),
    _query('{"i": [[1]]}', "$.i", None, returning=INTS),
    _query('{"i": []}', "$.i", [], returning=INTS),
]


@corpus("example", EXAMPLES, 27)
def test_example(example: Example) -> None:
    example.check()


_DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), each, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), _DOCUMENTS, max_size=3), st.sampled_from("abc"))
def test_queries_give_parts_of_the_document(document: dict[str, object], key: str) -> None:
    example = Example("JSON_QUERY", ["", f"lax $['{key}']"], options={"wrapper": "UNCONDITIONAL"})
    [found] = example.run(example.call([0]), [[json.dumps(document), ""]])
    expected = document.get(key)
    assert (None if found is None else json.loads(found)) == (None if expected is None else [expected])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"returning": t.IntType()}, "an ARRAY of STRING, BOOLEAN or numbers, not INT"),
        ({"returning": TEXTS, "on_error": "EMPTY OBJECT"}, "no EMPTY OBJECT ON ERROR"),
        ({"wrapper": "SOME"}, "WITHOUT, CONDITIONAL, UNCONDITIONAL WRAPPER, not SOME"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        call("JSON_QUERY", [Literal(t.string(), "{}"), Literal(t.string(), "$")], options)
