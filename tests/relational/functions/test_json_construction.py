from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, FLINK, PYTHON, SOURCE, Example, null, of

from millrace.common.types import Row
from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import SignatureError, Surroundings, call
from millrace.relational.rex import Literal, Rex

AT = dt.datetime(1990, 6, 2, 13, 37, 42, 1000)
ROW = t.RowType([t.RowField("f0", t.string()), t.RowField("f1", t.LocalZonedTimestampType(3))])
ODD = t.RowType([t.RowField(name, t.string()) for name in ('field"quote', "field\\slash", "field\nline", "field\ttab")])
ABSENT, NULLS = {"on_null": "ABSENT"}, {"on_null": "NULL"}


def _object(args: list[object], gives: str, source: str = DOCS, **options: object) -> Example:
    return Example("JSON_OBJECT", args, of(t.string(), gives), source, options, strict=False, constant=(0, 2))


EXAMPLES = [
    Example("JSON_STRING", ["Hello, World!"], of(t.string(), '"Hello, World!"'), DOCS),
    Example("JSON_STRING", [1], "1", DOCS),
    Example("JSON_STRING", [True], "true", DOCS),
    Example("JSON_STRING", [[1, 2]], "[1,2]", DOCS),
    Example("JSON_STRING", [1.23], "1.23", SOURCE),
    Example("JSON_STRING", [1e10], "1.0E+10", FLINK),
    Example("JSON_STRING", [of(t.FloatType(), 0.1)], "0.10000000149011612", FLINK),
    Example("JSON_STRING", [Decimal("1.230")], "1.230", SOURCE),
    Example("JSON_STRING", [of(t.DecimalType(5, 0), Decimal(100))], "100", PYTHON),
    Example("JSON_STRING", [of(t.TimestampType(3), AT)], '"1990-06-02T13:37:42.001"', SOURCE),
    Example("JSON_STRING", [AT.replace(tzinfo=dt.timezone.utc)], '"1990-06-02T13:37:42.001Z"', SOURCE),
    Example("JSON_STRING", [dt.date(1990, 6, 2)], '"1990-06-02"', SOURCE),
    Example("JSON_STRING", [dt.time(1, 2, 3)], '"01:02:03"', SOURCE),
    Example("JSON_STRING", [["A1", "A2"]], '["A1","A2"]', SOURCE),
    Example(
        "JSON_STRING",
        [of(ROW, Row("R1", AT.replace(tzinfo=dt.timezone.utc)))],
        '{"f0":"R1","f1":"1990-06-02T13:37:42.001Z"}',
        SOURCE,
    ),
    Example(
        "JSON_STRING",
        [of(ODD, Row("1", "2", "3", "4"))],
        '{"field\\ttab":"4","field\\nline":"3","field\\"quote":"1","field\\\\slash":"2"}',
        SOURCE,
    ),
    Example("JSON_STRING", [{"M2": "V2", "M1": "V1"}], '{"M1":"V1","M2":"V2"}', SOURCE),
    Example("JSON_STRING", [of(t.MultisetType(t.string()), {"M1": 1, "M2": 2})], '{"M1":1,"M2":2}', SOURCE),
    Example("JSON_STRING", [b"Test"], '"VGVzdA=="', SOURCE),
    Example("JSON_STRING", [of(t.VariantType(), '{"key":"value"}')], '{"key":"value"}', SOURCE),
    Example("JSON_STRING", [of(t.ArrayType(t.IntType()), [1, None])], "[1,null]", PYTHON),
    Example("JSON_OBJECT", [], "{}", DOCS),
    _object(["K1", "V1", "K2", "V2"], '{"K1":"V1","K2":"V2"}'),
    _object(["K1", null(t.string())], '{"K1":null}', **NULLS),
    _object(["K1", null(t.string())], "{}", **ABSENT),
    _object(["b", 1, "a", [1, 2]], '{"a":[1,2],"b":1}', SOURCE),
    Example("JSON_ARRAY", [], "[]", DOCS),
    Example("JSON_ARRAY", [1, "2"], '[1,"2"]', DOCS, strict=False),
    Example("JSON_ARRAY", [null(t.string())], "[null]", DOCS, NULLS, strict=False),
    Example("JSON_ARRAY", [null(t.string())], "[]", DOCS, ABSENT, strict=False),
    Example("JSON_ARRAY", [null(t.string()), 1], "[1]", DOCS, strict=False),
    Example("JSON", [' {"b": 1, "a": [1, 2]} '], '{"a":[1,2],"b":1}', SOURCE),
    Example("JSON", ["   "], None, SOURCE),
    Example("JSON", ["{"], None, SOURCE, raises="takes JSON, not '{'"),
    Example("JSON_QUOTE", ['a"b\\c/d\b\f\n\r\t'], '"a\\"b\\\\c\\/d\\b\\f\\n\\r\\t"', SOURCE),
    Example("JSON_QUOTE", ["≠ 𝄞"], '"\\u2260 \\ud834\\udd1e"', SOURCE),
    Example("JSON_QUOTE", [""], '""', SOURCE),
    Example("JSON_UNQUOTE", ['"a\\"b\\u2260\\/"'], 'a"b≠/', DOCS),
    Example("JSON_UNQUOTE", ["[1]"], "[1]", DOCS),
    Example("JSON_UNQUOTE", ['"["abc"]"'], '["abc"]', FLINK),
    Example("JSON_UNQUOTE", ['"""'], '"', FLINK),
    Example("JSON_UNQUOTE", ['"a"\\t\\ud834\\udd1e\\\\"'], 'a"\t𝄞\\', SOURCE),
    Example("JSON_UNQUOTE", ['"a" \\z"'], '"a" \\z"', SOURCE),
    Example("JSON_UNQUOTE", ['"a" \\u12"'], '"a" \\u12"', SOURCE),
    Example("JSON_UNQUOTE", ['"a\\"'], '"a\\"', SOURCE),
    Example("JSON_UNQUOTE", ['"'], '"', SOURCE),
    Example("JSON_UNQUOTE", ['"\\ztest\\z"'], '"\\ztest\\z"', DOCS),
]


@corpus("example", EXAMPLES, 47)
def test_example(example: Example) -> None:
    example.check()


def _compute(expression: Rex) -> object:
    return Evaluator([], Surroundings(1)).column(expression)[0].as_py()


def _text(value: str | None) -> Literal:
    return Literal(t.string().with_nullable(value is None), value)


def test_json_made_inside_of_json_is_put_in_as_it_is() -> None:
    inner = call("JSON_OBJECT", [_text("K2"), _text("V")])
    assert _compute(call("JSON_OBJECT", [_text("K1"), inner])) == '{"K1":{"K2":"V"}}'
    assert _compute(call("JSON_ARRAY", [call("JSON_ARRAY", [_text("a")]), inner])) == '[["a"],{"K2":"V"}]'
    ready = call("JSON", [_text('{"key": {"value": 42}}')])
    assert _compute(call("JSON_OBJECT", [_text("K"), ready])) == '{"K":{"key":{"value":42}}}'
    blank = call("JSON", [_text(" ")])
    assert _compute(call("JSON_OBJECT", [_text("K"), blank])) == '{"K":null}'
    assert _compute(call("JSON_ARRAY", [blank])) == "[]"


def test_json_that_is_only_text_is_quoted() -> None:
    assert _compute(call("JSON_ARRAY", [_text('{"a":1}')])) == '["{\\"a\\":1}"]'


@given(st.text(st.characters(codec="utf-8")))
def test_quoting_is_undone_by_unquoting_and_by_json(text: str) -> None:
    quote, unquote = Example("JSON_QUOTE", [text]), Example("JSON_UNQUOTE", [text])
    [quoted] = quote.run(quote.call([0]), [[text]])
    if not any(ord(char) < 32 and char not in "\b\f\n\r\t" for char in text):  # Flink leaves these as they are
        assert json.loads(quoted) == text
        assert unquote.run(unquote.call([0]), [[quoted]]) == [text]
    string = Example("JSON_STRING", [text])
    assert json.loads(string.run(string.call([0]), [[text]])[0]) == text


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        ("JSON_OBJECT", [_text("K")], "names are constant text"),
        ("JSON_OBJECT", [_text(None), _text("V")], "names are constant text"),
        ("JSON_STRING", [Literal(t.RawType(), None)], "values that JSON can hold"),
        ("JSON_STRING", [Literal(t.MapType(t.IntType(), t.IntType()), {})], "keys of maps are STRINGs"),
    ],
)
def test_what_has_no_json_is_refused(function: str, args: list[Literal], message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        call(function, args)
