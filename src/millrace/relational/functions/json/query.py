"""JSON_QUERY: objects and arrays in a JSON text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.functions.json.documents import by_document, check_path, find, has_null, word_of
from millrace.relational.functions.json.scalars import JSON_NUMBERS, scalar_converter
from millrace.relational.functions.json.text import write_json
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import STRING, TEXT, takes
from millrace.relational.rex import Call, Rex
from millrace.relational.types import DataType

_QUERY_WORDS = ("NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT")
_WRAPPERS = ("WITHOUT", "CONDITIONAL", "UNCONDITIONAL")


def _wrapper(options: dict[str, Any]) -> str:
    plain = {**options, "wrapper": str(options.get("wrapper") or "WITHOUT").upper().removesuffix("_ARRAY")}
    return word_of(plain, "wrapper", "WITHOUT", _WRAPPERS)


def _infer_query(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    check_path(args)
    returning = options.get("returning") or STRING
    element = returning.element_type if isinstance(returning, t.ArrayType) else returning
    array = element is not returning
    if not (is_text(element) or (array and isinstance(element, (t.BooleanType, *JSON_NUMBERS)))):
        raise SignatureError(f"it takes RETURNING STRING or an ARRAY of STRING, BOOLEAN or numbers, not {returning}")
    _wrapper(options)
    for name in ("on_empty", "on_error"):
        if word_of(options, name, "NULL", _QUERY_WORDS) == "EMPTY OBJECT" and array:
            raise SignatureError(
                f"it takes no EMPTY OBJECT {name.replace('_', ' ').upper()} where an ARRAY is returned"
            )
    return takes(TEXT, TEXT, result=returning, nullable=True)(args, options)


@scalar(
    "JSON_QUERY",
    _infer_query,
    syntax="JSON_QUERY(json, path [RETURNING type] [{WITHOUT | WITH [UN]CONDITIONAL} WRAPPER] "
    "[{NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR} ON {EMPTY | ERROR}])",
)
def json_query(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    options = dict(call.options)
    wrapper = _wrapper(options)
    words = {name: word_of(options, name, "NULL", _QUERY_WORDS) for name in ("on_empty", "on_error")}
    finish = _finisher(call.type)
    array = isinstance(call.type, t.ArrayType)

    def otherwise(name: str, error: Exception) -> Any:
        if words[name] == "ERROR":
            raise ValueError(f"JSON_QUERY: {error}") from error
        return {"NULL": None, "EMPTY ARRAY": [] if array else "[]", "EMPTY OBJECT": "{}"}[words[name]]

    def query(document: Any, path: Any) -> Any:
        try:
            found = find(document, path)
            if found is None and has_null(document, path):
                return None
            wrap = wrapper == "UNCONDITIONAL" or (wrapper == "CONDITIONAL" and not isinstance(found, list))
            if found is not None and wrap:
                found = [found]
            if isinstance(found, (dict, list)):
                return finish(found)
            if found is not None and not path.lax:
                raise ValueError(f"{path.text} leads to a single value: use WITH WRAPPER or JSON_VALUE")
        except (ValueError, ArithmeticError) as error:
            return otherwise("on_error", error)
        return otherwise("on_empty", ValueError("nothing is at the path"))

    return by_document(call, args, query)


def _finisher(data_type: DataType) -> Callable[[Any], Any]:
    """What makes the result of an object or array."""
    if not isinstance(data_type, t.ArrayType):
        return write_json
    text = is_text(data_type.element_type)
    convert = scalar_converter(data_type.element_type)
    kind: Any = bool if isinstance(data_type.element_type, t.BooleanType) else (int, Decimal)

    def elements(found: Any) -> list[Any]:
        if isinstance(found, dict):
            raise ValueError("an object is not an ARRAY")
        return [None if each is None else element(each) for each in found]

    def element(value: Any) -> Any:
        if text:
            return write_json(value) if isinstance(value, (dict, list)) else convert(value)
        if not isinstance(value, kind):
            raise ValueError(f"the element {value} is not {data_type.element_type}")
        return convert(value)

    return elements
