from __future__ import annotations

import json
from decimal import Decimal

import pytest
from tests.corpus import corpus
from tests.relational.functions.examples import DOCS, SOURCE, Example, null, of

from millrace.relational import types as t
from millrace.relational.functions.registry import SignatureError, call
from millrace.relational.rex import Literal

PAPER = """{"type": "paper", "author": {"name": "Ann", "address": {"city": "Berlin", "zip": 1}},
  "metadata": {"tags": ["a", "b", "c"], "references": [{"url": "u", "name": "n"}]}}"""
ACCOUNT = """{"type": "account", "age": 42, "balance": 13.37, "longBalance": 123456789.987654321, "activated": true,
  "bigCount": 9999999999, "nullField": null, "contains blank": "right", "v": "42", "neg": -100}"""


def _json(
    function: str, text: str, path: str, gives: object, source: str = SOURCE, raises: str = "", **options: object
) -> Example:
    return Example(function, [text, path], gives, source, options, raises=raises)


def _is(text: str, kind: str, gives: bool) -> Example:
    return Example("IS JSON", [text], gives, DOCS, {"kind": kind}, strict=False)


EXAMPLES = [
    *(_is(text, "VALUE", True) for text in ("1", "[]", "{}", '"abc"', " null ")),
    *(_is(text, "VALUE", False) for text in ("abc", "", "{", "NaN", "{'a': 1}", "[1,]")),
    _is("1", "SCALAR", True),
    _is("1", "ARRAY", False),
    _is("1", "OBJECT", False),
    _is("{}", "SCALAR", False),
    _is("{}", "ARRAY", False),
    _is("{}", "OBJECT", True),
    _is("[]", "ARRAY", True),
    Example("IS JSON", ["{}"], of(t.BooleanType(), True), DOCS, strict=False),
    _json("JSON_EXISTS", PAPER, "lax $", True),
    _json("JSON_EXISTS", PAPER, "lax $.author.address.city", True),
    _json("JSON_EXISTS", PAPER, "lax $.metadata.tags[0]", True),
    _json("JSON_EXISTS", PAPER, "lax $.metadata.tags[3]", False),
    _json("JSON_EXISTS", PAPER, "lax $.metadata.references[0].url", True),
    _json("JSON_EXISTS", PAPER, "lax $.metadata.references[0].invalid", False),
    _json("JSON_EXISTS", PAPER, "$.items[*]", False),
    _json("JSON_EXISTS", PAPER, "$.metadata.tags[*]", True),
    _json("JSON_EXISTS", PAPER, "strict $.invalid", True, on_error="TRUE"),
    _json("JSON_EXISTS", PAPER, "strict $.invalid", False, on_error="FALSE"),
    _json("JSON_EXISTS", PAPER, "strict $.invalid", None, on_error="UNKNOWN"),
    _json("JSON_EXISTS", PAPER, "strict $.invalid", None, on_error="ERROR", raises="nothing is at $.invalid"),
    _json("JSON_EXISTS", '{"a": [{ "b": 1 }]}', "$.a[0].b", True, DOCS),
    _json("JSON_EXISTS", "no JSON", "$", False),
    _json("JSON_VALUE", '{"a": true}', "$.a", of(t.string(), "true"), DOCS),
    _json("JSON_VALUE", '{"a": true}', "$.a", of(t.BooleanType(), True), DOCS, returning=t.BooleanType()),
    _json("JSON_VALUE", '{"a.b": [0.998,0.996]}', '$.["a.b"][0]', 0.998, DOCS, returning=t.DoubleType()),
    _json("JSON_VALUE", '{"contains blank": "right"}', "strict $.['contains blank']", "right", DOCS),
    _json("JSON_VALUE", ACCOUNT, "$.longBalance", "123456789.987654321"),
    _json("JSON_VALUE", ACCOUNT, "$.balance", "13.37"),
    _json("JSON_VALUE", ACCOUNT, "$.type", "account"),
    _json("JSON_VALUE", ACCOUNT, "$.age", of(t.IntType(), 42), returning=t.IntType()),
    _json("JSON_VALUE", ACCOUNT, "$.age", 42, returning=t.TinyIntType()),
    _json("JSON_VALUE", ACCOUNT, "$.neg", -100, returning=t.TinyIntType()),
    _json("JSON_VALUE", ACCOUNT, "$.bigCount", 9999999999, returning=t.BigIntType()),
    _json("JSON_VALUE", ACCOUNT, "$.bigCount", None, returning=t.IntType()),
    _json("JSON_VALUE", ACCOUNT, "$.balance", 13, returning=t.IntType()),
    _json("JSON_VALUE", ACCOUNT, "$.longBalance", 123456789.987654321, returning=t.DoubleType()),
    _json("JSON_VALUE", ACCOUNT, "$.balance", Decimal("13.37"), returning=t.DecimalType(10, 2)),
    _json("JSON_VALUE", ACCOUNT, "$.longBalance", None, returning=t.DecimalType(5, 2)),
    _json("JSON_VALUE", ACCOUNT, "$.v", 42, returning=t.IntType()),
    _json("JSON_VALUE", ACCOUNT, "$.nullField", None, returning=t.IntType()),
    _json("JSON_VALUE", ACCOUNT, "lax $.invalid", None, on_empty="NULL", on_error="ERROR"),
    _json("JSON_VALUE", ACCOUNT, "lax $.invalid", None, on_empty="ERROR", raises="nothing is at the path"),
    _json("JSON_VALUE", ACCOUNT, "strict $.invalid", None, on_empty="ERROR", on_error="NULL"),
    _json(
        "JSON_VALUE",
        ACCOUNT,
        "$.type",
        None,
        returning=t.IntType(),
        on_error="ERROR",
        raises="'account' is not a number",
    ),
    _json("JSON_VALUE", PAPER, "$.author", None, on_error="ERROR", raises="not to a single value"),
    _json("JSON_VALUE", PAPER, "lax $.author", None, on_error="ERROR"),
    _json("JSON_VALUE", "no JSON", "$.a", None),
    _json("JSON_VALUE", "null", "lax $", None),
]

DEFAULTS = {"on_empty": "DEFAULT", "default_on_empty": 2, "on_error": "DEFAULT", "default_on_error": 3}


@corpus("example", EXAMPLES, 59)
def test_example(example: Example) -> None:
    example.check()


@pytest.mark.parametrize(
    ("text", "path", "gives"),
    [
        ('{"a": true}', "lax $.b", "empty"),
        ('{"a": true}', "strict $.b", "error"),
        ('{"a": {}}', "lax $.a", "empty"),
        ('{"a": {}}', "$.a", "error"),
        ("{", "lax $.a", "empty"),
        ("{", "$.a", "error"),
        ('{"a": true}', "$.a", "true"),
        ('{"a": null}', "$.a", None),
        ('{"a": null}', "lax $.a", None),
    ],
)
def test_defaults_are_arguments(text: str, path: str, gives: str | None) -> None:
    Example("JSON_VALUE", [text, path, "empty", "error"], gives, DOCS, DEFAULTS, strict=False).check()


@pytest.mark.parametrize("returning", [t.string(), t.BooleanType()])
def test_a_default_of_false(returning: t.DataType) -> None:
    options = {"returning": returning, "on_error": "DEFAULT", "default_on_error": 2}
    gives = of(returning, "false" if returning == t.string() else False)
    Example("JSON_VALUE", ['{"a": true}', "strict $.b", False], gives, DOCS, options, strict=False).check()


def test_defaults_have_the_type_that_is_returned() -> None:
    args = [Literal(t.string(), "{}"), Literal(t.string(), "$.a"), Literal(t.IntType(), 1)]
    options = {"returning": t.BigIntType(), "on_error": "DEFAULT", "default_on_error": 2}
    assert call("JSON_VALUE", args, options).args[2].type == t.BigIntType()


def test_columns_that_several_functions_read_are_parsed_anew_for_other_rows() -> None:
    example = Example("JSON_VALUE", ["", "$.a"])
    for number in range(3):
        rows = [[json.dumps({"a": number}), "$.a"], [None, "$.a"]]
        assert example.run(example.call([0]), rows) == [str(number), None]


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("JSON_VALUE", {"returning": t.DateType()}, "RETURNING a STRING, BOOLEAN or number, not DATE"),
        ("JSON_VALUE", {"on_empty": "DEFAULT"}, "DEFAULT with a value ON EMPTY"),
        ("JSON_EXISTS", {"on_error": "MAYBE"}, "TRUE, FALSE, UNKNOWN, ERROR ON ERROR, not MAYBE"),
    ],
)
def test_options_that_make_no_sense_are_refused(function: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(SignatureError, match=message):
        call(function, [Literal(t.string(), "{}"), Literal(t.string(), "$")], options)


def test_null_is_no_json() -> None:
    Example("IS JSON", [null(t.string())], False, SOURCE, strict=False).check()


@pytest.mark.parametrize("function", ["JSON_EXISTS", "JSON_VALUE", "JSON_QUERY"])
def test_paths_that_are_not_supported_are_refused_before_anything_runs(function: str) -> None:
    with pytest.raises(SignatureError, match=r"functions in JSON paths \(keys\(\) in '\$.a.keys\(\)'\)"):
        call(function, [Literal(t.string(), "{}"), Literal(t.string(), "$.a.keys()")])
