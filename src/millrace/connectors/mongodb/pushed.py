"""Conditions as MongoDB's: those that leave out no document that is wanted. All are checked again afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.connectors.mongodb.keys import as_id
from millrace.connectors.mongodb.values import to_bson
from millrace.relational.fields import Schema
from millrace.relational.rex import Call, Literal, Ref, Rex
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import CharType

_OPERATORS = {"=": "$eq", "<>": "$ne", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBERS = (Family.INTEGER, Family.DECIMAL)
_TIMES = (Family.TIMESTAMP, Family.INSTANT)
_ORDERED = (*_NUMBERS, *_TIMES)


def conditions(filters: Sequence[Rex], columns: Schema) -> list[dict[str, Any]]:
    """As much of the filters as MongoDB can check."""
    return [found for each in filters if (found := _condition(each, columns)) is not None]


def _condition(rex: Rex, columns: Schema) -> dict[str, Any] | None:
    if not isinstance(rex, Call):
        return None
    if rex.function in ("AND", "OR"):
        parts = [_condition(each, columns) for each in rex.args]
        known = [each for each in parts if each is not None]
        if rex.function == "OR" and len(known) < len(parts):
            return None
        return {"$and" if rex.function == "AND" else "$or": known} if known else None
    if rex.function in ("IS NULL", "IS NOT NULL"):
        name = _name(rex.args[0], columns)
        return None if name is None else {name: {"$eq" if rex.function == "IS NULL" else "$ne": None}}
    if rex.function == "BETWEEN" and not rex.option("symmetric"):
        value, low, high = rex.args
        return _all([_comparison(">=", value, low, columns), _comparison("<=", value, high, columns)], "$and")
    if rex.function == "IN":
        value, *choices = rex.args
        return _all([_comparison("=", value, choice, columns) for choice in choices], "$or")
    if rex.function in _OPERATORS and len(rex.args) == 2:
        return _comparison(rex.function, *rex.args, columns)
    return None


def _all(parts: Sequence[dict[str, Any] | None], operator: str) -> dict[str, Any] | None:
    return None if None in parts else {operator: list(parts)}


def _comparison(function: str, left: Rex, right: Rex, columns: Schema) -> dict[str, Any] | None:
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    name = _name(left, columns)
    if name is None or not isinstance(right, Literal) or right.value is None:
        return None
    kind, other = family_of(left.type), family_of(right.type)
    if kind is not other and not {kind, other} <= set(_NUMBERS):
        return None
    if kind is Family.TEXT:  # one of a fixed length is filled up when it is read
        return None if isinstance(left.type, CharType) else _text(function, name, right.value)
    if kind not in _ORDERED and not (kind is Family.BOOLEAN and function in ("=", "<>")):
        return None
    try:
        found = {name: {_OPERATORS[function]: to_bson(right.type)(right.value)}}
    except ValueError:  # BSON has no such value
        return None
    # Comparisons find values of one type only, and there are two for times.
    return {"$or": [found, {name: {"$type": "timestamp"}}]} if kind in _TIMES else found


def _text(function: str, name: str, value: str) -> dict[str, Any] | None:
    """Only equality: texts have an order of their own there. What is no text there, but read as one (an ObjectId, a
    document) is equal to nothing but itself."""
    if function != "=":
        return None
    if value.lstrip().startswith("{"):  # may be a document that is read as a text
        return None
    known = [value] if as_id(value) == value else [value, as_id(value)]
    return {name: {"$in": known}}


def _name(rex: Rex, columns: Schema) -> str | None:
    """A field whose name MongoDB does not take apart."""
    if not isinstance(rex, Ref) or rex.index >= len(columns):
        return None
    name = columns[rex.index].name
    return None if "." in name or name.startswith("$") else name
