"""Columns of JSON text, parsed once for all functions of a query that read them."""

from __future__ import annotations

import weakref
from typing import Any

import pyarrow as pa

from millrace.relational.functions.columns import Prepare
from millrace.relational.functions.json_text import read_json

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
