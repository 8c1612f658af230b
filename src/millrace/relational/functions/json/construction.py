"""JSON_OBJECT, JSON_ARRAY, JSON_STRING and their like: JSON text made of values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from millrace.relational.functions.columns import by_row
from millrace.relational.functions.json.text import (
    IN_JSON,
    Write,
    json_array,
    json_object,
    read_json,
    storable,
    write_json,
    writer,
)
from millrace.relational.functions.registry import Column, Signature, SignatureError, Surroundings, scalar
from millrace.relational.functions.signatures import STRING, TEXT, signature, takes
from millrace.relational.rex import Call, Literal, Rex

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
def json(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """Text that is JSON, to be put into JSON_OBJECT or JSON_ARRAY as it is. Blank text counts as NULL."""

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
    """As a JSON string of ASCII characters only."""
    return '"' + "".join([_ESCAPES.get(char, char) if ord(char) < 128 else _unicode(char) for char in text]) + '"'


def _unicode(char: str) -> str:
    digits = char.encode("utf-16-be").hex()
    return "".join(f"\\u{digits[at : at + 4]}" for at in range(0, len(digits), 4))


@scalar("JSON_UNQUOTE", takes(TEXT, result=STRING))
def json_unquote(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    return by_row(call, args, _unquote)


def _unquote(text: str) -> str:
    """What is between the quotes, also where JSON would end before the last one; what does not begin with JSON, and
    text with an escape that JSON does not have, stays as it is."""
    if not (len(text) > 1 and text[0] == text[-1] == '"'):
        return text
    try:
        read_json(text)
        return storable(_ESCAPED.sub(lambda found: read_json(f'"{found[0]}"'), text[1:-1]))
    except ValueError:
        return text


_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\.", re.DOTALL)
"""halves of a character are read together"""
