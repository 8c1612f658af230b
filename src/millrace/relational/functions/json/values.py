"""IS JSON, JSON_EXISTS and JSON_VALUE: what is in a JSON text.

Paths are strict unless ``lax`` is written before them: a path that leads nowhere is an error then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.json.documents import (
    INVALID,
    by_document,
    check_path,
    documents,
    find,
    has_null,
    word_of,
)
from millrace.relational.functions.json.scalars import JSON_NUMBERS, scalar_converter
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import BOOLEAN_TYPE, STRING, TEXT, signature, takes
from millrace.relational.rex import Call, Rex

# -- IS JSON ----------------------------------------------------------------------------------------------------------

_KINDS: dict[str, Callable[[Any], bool]] = {
    "VALUE": lambda value: True,
    "OBJECT": lambda value: isinstance(value, dict),
    "ARRAY": lambda value: isinstance(value, list),
    "SCALAR": lambda value: not isinstance(value, (dict, list)),
}


def _kind(options: dict[str, Any]) -> str:
    return word_of(options, "kind", "VALUE", tuple(_KINDS))


def _infer_is_json(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    _kind(options)
    return takes(TEXT, result=BOOLEAN_TYPE, nullable=False)(args, options)


@scalar("IS JSON", _infer_is_json, aliases=("IS_JSON",), syntax="string IS JSON [VALUE | SCALAR | ARRAY | OBJECT]")
def is_json(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """NULL is no JSON: FALSE."""
    wanted = _KINDS[_kind(dict(call.options))]

    def check(document: Any) -> bool:
        return document is not None and document is not INVALID and wanted(document)

    read, prepare = documents(args[0])
    return by_row(call, [read], check, prepare=prepare, nulls=True)


# -- JSON_EXISTS ------------------------------------------------------------------------------------------------------

_EXISTS = {"TRUE": True, "FALSE": False, "UNKNOWN": None, "ERROR": None}


def _infer_exists(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    check_path(args)
    word_of(options, "on_error", "FALSE", tuple(_EXISTS))
    return takes(TEXT, TEXT, result=BOOLEAN_TYPE, nullable=True)(args, options)


@scalar("JSON_EXISTS", _infer_exists, syntax="JSON_EXISTS(json, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])")
def json_exists(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    on_error = word_of(dict(call.options), "on_error", "FALSE", tuple(_EXISTS))

    def exists(document: Any, path: Any) -> bool | None:
        try:
            return find(document, path) is not None
        except ValueError as error:
            if on_error == "ERROR":
                raise ValueError(f"JSON_EXISTS: {error}") from error
            return _EXISTS[on_error]

    return by_document(call, args, exists)


# -- JSON_VALUE -------------------------------------------------------------------------------------------------------

_VALUE_WORDS = ("NULL", "ERROR", "DEFAULT")
_EVENTS = ("on_empty", "on_error")
"""options; ``default_on_empty`` and ``default_on_error`` are the places of the arguments with the values for DEFAULT"""


def _infer_value(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    check_path(args)
    returning = options.get("returning") or STRING
    if not isinstance(returning, (t.BooleanType, *JSON_NUMBERS)) and not is_text(returning):
        raise SignatureError(f"it takes RETURNING a STRING, BOOLEAN or number, not {returning}")
    for name in _EVENTS:
        if word_of(options, name, "NULL", _VALUE_WORDS) == "DEFAULT" and f"default_{name}" not in options:
            raise SignatureError(f"it takes DEFAULT with a value {name.replace('_', ' ').upper()}")
    if len(args) < 2 or not all(is_text(arg.type) or isinstance(arg.type, t.NullType) for arg in args[:2]):
        raise SignatureError("it takes (STRING, path)")
    wanted = [arg.type if is_text(arg.type) else STRING for arg in args[:2]]
    as_text = is_text(returning)  # a BOOLEAN becomes JSON's true or false then, and not the TRUE of a CAST
    defaults = [
        arg.type if as_text and isinstance(arg.type, t.BooleanType) else returning.with_nullable(arg.type.is_nullable)
        for arg in args[2:]
    ]
    return signature([*wanted, *defaults], returning, True)


@scalar(
    "JSON_VALUE",
    _infer_value,
    syntax="JSON_VALUE(json, path [RETURNING type] [{NULL | ERROR | DEFAULT value} ON {EMPTY | ERROR}])",
)
def json_value(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    convert = scalar_converter(call.type)
    options = dict(call.options)

    def otherwise(name: str, defaults: Sequence[Any], error: Exception) -> Any:
        word = options.get(name) or "NULL"
        if word == "ERROR":
            raise ValueError(f"JSON_VALUE: {error}") from error
        found = defaults[options[f"default_{name}"] - 2] if word == "DEFAULT" else None
        return convert(found) if isinstance(found, bool) else found

    def value(document: Any, path: Any, *defaults: Any) -> Any:
        try:
            found = find(document, path)
            if isinstance(found, (dict, list)) and not path.lax:
                raise ValueError(f"{path.text} leads to an object or array, not to a single value")
            if found is not None and not isinstance(found, (dict, list)):
                return convert(found)
            if found is None and has_null(document, path):
                return None
        except (ValueError, ArithmeticError) as error:
            return otherwise("on_error", defaults, error)
        return otherwise("on_empty", defaults, ValueError("nothing is at the path"))

    return by_document(call, args, value)
