"""Reads JSON text, and writes values of SQL types as JSON: JSON_OBJECT, JSON_ARRAY, JSON_STRING and their like.
Written JSON has no blanks, and its keys are sorted."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from millrace.relational import types as t
from millrace.relational.functions.registry import (
    STRING,
    TEXT,
    Column,
    Kind,
    Signature,
    SignatureError,
    Surroundings,
    by_row,
    scalar,
    signature,
    takes,
)
from millrace.relational.functions.text_values import double_text
from millrace.relational.rex import Call, Literal, Rex
from millrace.relational.type_table import ByFamily, Family, family_of, parts_of
from millrace.relational.types import DataType

Write = Callable[[Any], str]
"""Writes a value in the form that Arrow gives, which is not NULL, as JSON text."""


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)


_BLANK = " \t\n\r"


def read_json(text: str) -> Any:
    """What JSON text says: numbers with a point are ``Decimal``, of equal keys the last one counts. As in Flink, what
    follows the first value is not looked at; numbers and words must end before it.

    :raises ValueError: the text does not begin with JSON.
    """
    try:
        found, end = _decoder.raw_decode(text.lstrip(_BLANK))
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    follows = text.lstrip(_BLANK)[end : end + 1]
    if follows and not isinstance(found, (str, dict, list)) and follows not in _BLANK:
        raise ValueError(f"{follows!r} follows a number or word")
    return found


def storable(text: str) -> str:
    """Text without halves of characters, which JSON can write (``\\ud800``) but columns cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def quoted(text: str) -> str:
    """Text as a JSON string."""
    return encode_basestring(storable(text))


def json_object(members: Iterable[tuple[str, str]]) -> str:
    """An object of keys and values that are JSON already; of equal keys the last one counts."""
    return "{" + ",".join(f"{quoted(key)}:{value}" for key, value in sorted(dict(members).items())) + "}"


def json_array(items: Iterable[str]) -> str:
    """An array of values that are JSON already."""
    return "[" + ",".join(items) + "]"


def write_json(value: Any) -> str:
    """What ``read_json`` gives, as text."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return json_object((key, write_json(each)) for key, each in value.items())
    if isinstance(value, list):
        return json_array(map(write_json, value))
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def writer(data_type: DataType) -> Write | None:
    """What writes values of a type as JSON; None for a type without JSON form."""
    make = _WRITERS.get(family_of(data_type))
    found: Write | None = make and make(data_type)
    return found


def _array(data_type: DataType) -> Write | None:
    each = _nullable(parts_of(data_type)[0])
    return each and (lambda value: json_array(map(each, value)))


def _map(data_type: DataType) -> Write | None:
    keys, items = parts_of(data_type)
    item = _nullable(items)
    if item is None or family_of(keys) is not Family.TEXT:
        return None
    return lambda value: json_object((key, item(held)) for key, held in value)


def _row(data_type: t.RowType) -> Write | None:
    parts = [_nullable(each) for each in data_type.field_types()]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    names = data_type.names
    return lambda value: json_object((name, part(value[name])) for name, part in zip(names, known))


IN_JSON = Kind(
    "values that JSON can hold: keys of maps are STRINGs", lambda found: None if writer(found) is None else found
)


def nullable_writer(data_type: DataType) -> Write:
    """What writes values and NULL, of a type that JSON can hold."""
    found = _nullable(data_type)
    assert found is not None
    return found


def _nullable(data_type: DataType) -> Write | None:
    each = writer(data_type)
    return each and (lambda value: "null" if value is None else each(value))


def _number(value: float) -> str:
    """A number as the decimal that Java prints; NaN and infinity are no numbers in JSON."""
    text = double_text(value)
    return str(Decimal(text)) if math.isfinite(value) else f'"{text}"'


def _clock(value: Any) -> str:
    whole, _, fraction = value.replace(tzinfo=None).isoformat().partition(".")
    return f"{whole}.{fraction.rstrip('0')}" if fraction else str(whole)


def _instant(value: dt.datetime) -> str:
    return f'"{_clock(value.astimezone(dt.timezone.utc))}Z"'


_WRITERS: ByFamily = {
    Family.NULL: lambda kind: lambda value: "null",
    Family.BOOLEAN: lambda kind: lambda value: "true" if value else "false",
    **dict.fromkeys((Family.INTEGER, Family.MONTHS, Family.VARIANT), lambda kind: str),
    Family.APPROXIMATE: lambda kind: _number,
    Family.DECIMAL: lambda kind: str,
    Family.TEXT: lambda kind: quoted,
    Family.BYTES: lambda kind: lambda value: f'"{base64.b64encode(value).decode()}"',
    Family.DATE: lambda kind: lambda value: f'"{value.isoformat()}"',
    **dict.fromkeys((Family.TIME, Family.TIMESTAMP), lambda kind: lambda value: f'"{_clock(value)}"'),
    Family.INSTANT: lambda kind: _instant,
    Family.SPAN: lambda kind: lambda value: str(value // dt.timedelta(milliseconds=1)),
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
}


# JSON_OBJECT, JSON_ARRAY, JSON_STRING

_RAW = ("JSON_OBJECT", "JSON_ARRAY", "JSON")
"""calls whose results are put into other JSON as they are"""
_ON_NULL = ("NULL", "ABSENT")


def _writable(args: Sequence[Rex]) -> None:
    for arg in args:
        if writer(arg.type) is None:
            raise SignatureError(f"it takes {IN_JSON.name}, not {arg.type}")


def _on_null(options: dict[str, Any]) -> None:
    if options.get("on_null", "NULL") not in _ON_NULL:
        raise SignatureError(f"it takes NULL or ABSENT ON NULL, not {options['on_null']}")


def _writer_of(arg: Rex) -> Write:
    raw = isinstance(arg, Call) and arg.function in _RAW
    found = str if raw else writer(arg.type)
    assert found is not None
    return found


def _infer_object(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    _on_null(options)
    keys = args[::2]
    if len(args) % 2 or not all(isinstance(key, Literal) and isinstance(key.value, str) for key in keys):
        raise SignatureError("it takes (KEY name VALUE value, ...): names are constant text")
    _writable(args[1::2])
    return signature([arg.type for arg in args], STRING, False)


@scalar(
    "JSON_OBJECT",
    _infer_object,
    syntax="JSON_OBJECT([[KEY] name VALUE value, ...] [{NULL | ABSENT} ON NULL])",
    sees_calls=True,
)
def make_object(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    names = [str(arg.value) for arg in call.args[::2] if isinstance(arg, Literal)]
    writers = [_writer_of(arg) for arg in call.args[1::2]]
    absent = call.option("on_null", "NULL") == "ABSENT"

    def text(*values: Any) -> str:
        written = zip(names, writers, values)
        return json_object(
            (name, "null" if value is None else write(value))
            for name, write, value in written
            if value is not None or not absent
        )

    return by_row(call, args[1::2], text, nulls=True)


def _infer_array(args: Sequence[Rex], options: dict[str, Any]) -> Signature:
    _on_null(options)
    _writable(args)
    return signature([arg.type for arg in args], STRING, False)


@scalar("JSON_ARRAY", _infer_array, syntax="JSON_ARRAY([value, ...] [{NULL | ABSENT} ON NULL])", sees_calls=True)
def make_array(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    writers = [_writer_of(arg) for arg in call.args]
    absent = call.option("on_null", "ABSENT") == "ABSENT"

    def text(*values: Any) -> str:
        written = zip(writers, values)
        return json_array(
            "null" if value is None else write(value) for write, value in written if value is not None or not absent
        )

    return by_row(call, args, text, nulls=True)


@scalar("JSON_STRING", takes(IN_JSON, result=STRING))
def json_string(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    write = writer(call.args[0].type)
    assert write is not None
    return by_row(call, args, write)


@scalar("JSON", takes(TEXT, result=STRING, nullable=True))
def json_of_text(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """JSON(text): marks text as JSON, which JSON_OBJECT and JSON_ARRAY then do not quote. Blank text gives NULL."""

    def checked(text: str) -> str | None:
        if not text.strip():
            return None
        try:
            return write_json(read_json(text))
        except ValueError as error:
            raise ValueError(f"JSON(value) takes JSON, not {text!r}: {error}") from error

    return by_row(call, args, checked)


@scalar("JSON_QUOTE", takes(TEXT, result=STRING))
def json_quote(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, _quote)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _quote(text: str) -> str:
    """Write text as a JSON string of ASCII characters."""
    return '"' + "".join([_ESCAPES.get(char, char) if ord(char) < 128 else _unicode(char) for char in text]) + '"'


def _unicode(char: str) -> str:
    digits = char.encode("utf-16-be").hex()
    return "".join(f"\\u{digits[at : at + 4]}" for at in range(0, len(digits), 4))


@scalar("JSON_UNQUOTE", takes(TEXT, result=STRING))
def json_unquote(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, _unquote)


def _unquote(text: str) -> str:
    """The text between the first and the last quote, with its escapes resolved. Text without quotes, or with
    something that JSON does not have, is returned unchanged."""
    if not (len(text) > 1 and text[0] == text[-1] == '"'):
        return text
    try:
        read_json(text)
        return storable(_ESCAPED.sub(lambda found: read_json(f'"{found[0]}"'), text[1:-1]))
    except ValueError:
        return text


_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\.", re.DOTALL)
"""halves of a character are read together"""
