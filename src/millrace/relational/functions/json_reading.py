"""Functions that read JSON text: IS JSON, JSON_EXISTS, JSON_VALUE, JSON_QUERY. A column of JSON text is parsed once for
all functions of a query that read it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from millrace.relational import types as t
from millrace.relational.functions.casting import SignatureError, is_text
from millrace.relational.functions.json_path import InvalidPath, MissingPath, Path, read_path
from millrace.relational.functions.json_text import read_json, storable, write_json
from millrace.relational.functions.registry import (
    BOOLEAN_TYPE,
    STRING,
    TEXT,
    Column,
    Prepare,
    Signature,
    Surroundings,
    by_row,
    scalar,
    signature,
    takes,
)
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.types import DataType

# Parsed columns

INVALID = object()
"""what text that is no JSON is parsed to"""
NULL = object()
"""JSON's null: a value, where None is no text at all"""


class Documents:
    """The parsed values of a column, in place of the column for ``by_row``."""

    null_count = 0

    def __init__(self, column: pa.Array) -> None:
        self._values = [None if text is None else _parsed(text) for text in column.to_pylist()]

    def to_pylist(self) -> list[Any]:
        return self._values


_last: tuple[weakref.ref[Any], Documents] | None = None


def _parsed(text: str) -> Any:
    try:
        found = read_json(text)
    except ValueError:
        return INVALID
    return NULL if found is None else found


def documents(column: Any) -> tuple[Any, Prepare]:
    """A column, or constant, and what ``by_row`` has to prepare so that it sees what the JSON says, ``NULL`` for null,
    ``INVALID`` for what is no JSON. The column that was asked for last is still known: a query reads several fields of
    one column."""
    global _last
    if isinstance(column, pa.Scalar):
        return column, {0: _parsed}
    last = _last  # another thread may change it
    if last is None or last[0]() is not column:
        _last = last = (weakref.ref(column, _forget), Documents(column))
    return last[1], {}


def _forget(column: weakref.ref[Any]) -> None:
    global _last
    last = _last
    if last is not None and last[0] is column:
        _last = None


def by_document(call: Call, args: Sequence[Column], function: Callable[..., Any]) -> Column:
    """``function`` of a parsed document, a path (or the error of a wrong one) and the other arguments, which may be
    NULL."""

    def of(document: Any, path: Any, *others: Any) -> Any:
        return None if document is None or path is None else function(document, path, *others)

    read, prepare = documents(args[0])
    return by_row(call, [read, *args[1:]], of, prepare={**prepare, 1: _path}, nulls=True)


def _path(text: str) -> Path | InvalidPath:
    try:
        return read_path(text)
    except InvalidPath as error:
        return error


def find(document: Any, path: Path | InvalidPath) -> Any:
    """What is at the path: None for JSON's null, and where a lax path leads nowhere.

    :raises ValueError: a strict path leads nowhere, or the text is no JSON.
    """
    if isinstance(path, InvalidPath):
        raise path
    if document is INVALID:
        if path.lax:
            return None
        raise ValueError("the text is not JSON")
    if document is NULL:
        raise MissingPath("nothing is in JSON's null")
    return path.find(document)


def has_null(document: Any, path: Path | InvalidPath) -> bool:
    """Whether the path leads to a null of JSON: that is a value, and neither an error nor nothing."""
    return isinstance(path, Path) and document is not INVALID and document is not NULL and path.leads(document)


def word_of(options: dict[str, Any], name: str, default: str, known: Sequence[str]) -> str:
    """An option, whichever of the front ends wrote it: EMPTY ARRAY or EMPTY_ARRAY."""
    word = str(options.get(name) or default).upper().replace("_", " ")
    if word not in known:
        raise SignatureError(f"it takes {', '.join(known)} {name.replace('_', ' ').upper()}, not {word}")
    return word


def check_path(args: Sequence[Rex]) -> None:
    """What is not supported is said before anything runs. A path without meaning is an error of the call, though."""
    path = args[1] if len(args) > 1 else None
    if isinstance(path, Literal) and isinstance(path.value, str):
        try:
            read_path(path.value)
        except InvalidPath:
            pass
        except NotImplementedError as error:
            raise SignatureError(f"it takes a simpler path: {error}") from error


# Single values as SQL types

JSON_NUMBERS = (t.IntegralType, t.FloatType, t.DoubleType, t.DecimalType)


def scalar_converter(data_type: DataType) -> Callable[[Any], Any]:
    """What makes a value of a type of a single value of JSON; it raises ValueError or ArithmeticError if it cannot."""
    if is_text(data_type):
        return lambda value: str(value).lower() if isinstance(value, bool) else storable(str(value))
    if isinstance(data_type, t.BooleanType):
        return _boolean
    if isinstance(data_type, t.IntegralType):
        return lambda value: _whole(_number(value), data_type)
    if isinstance(data_type, t.DecimalType):
        return lambda value: _decimal(_number(value), data_type)
    return lambda value: float(_number(value))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise ValueError(f"{value!r} is not BOOLEAN")
    return bool(value == "true")


def _number(value: Any) -> Decimal:
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    try:
        return Decimal(value)
    except InvalidOperation as error:
        raise ValueError(f"{value!r} is not a number") from error


def _whole(value: Decimal, data_type: t.IntegralType) -> int:
    if not value.is_finite():
        raise ValueError(f"{value} is not a number")
    found = int(value.to_integral_value(ROUND_DOWN))
    if not -(2 ** (data_type.bits - 1)) <= found < 2 ** (data_type.bits - 1):
        raise ValueError(f"{found} is too large for {data_type}")
    return found


def _decimal(value: Decimal, data_type: t.DecimalType) -> Decimal:
    try:
        found = value.quantize(Decimal(1).scaleb(-data_type.scale), ROUND_HALF_UP)
    except InvalidOperation:
        found = None
    if found is None or len(found.as_tuple().digits) > data_type.precision:
        raise ValueError(f"{value} is too large for {data_type}")
    return found


# JSON_QUERY

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


# IS JSON, JSON_EXISTS, JSON_VALUE

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
