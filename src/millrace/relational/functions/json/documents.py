"""What functions that read JSON share: columns of JSON text, parsed once for all functions of a query that read them,
and paths into them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.functions.columns import Prepare, by_row
from millrace.relational.functions.json.path import InvalidPath, MissingPath, Path, read_path
from millrace.relational.functions.json.text import read_json
from millrace.relational.functions.registry import Column, SignatureError
from millrace.relational.rex import Call, Literal, Rex

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
