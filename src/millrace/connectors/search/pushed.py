"""Conditions in the language of search, those that leave out no row that is wanted. All are checked again later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.connectors.search.mapping import WHOLE, Field
from millrace.relational.fields import Schema
from millrace.relational.rex import Call, Literal, Ref, Rex
from millrace.relational.type_table import Family, family_of

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_RANGES = {"<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
Query = dict[str, Any]


@dataclass(frozen=True)
class Conditions:
    """The filters of a table, to be turned into a query when it is known how the index keeps its fields."""

    filters: tuple[Rex, ...]
    columns: Schema

    def __call__(self, fields: Mapping[str, Field]) -> Query | None:
        return _all([_query(each, self.columns, fields) for each in self.filters])


def _all(parts: Sequence[Query | None]) -> Query | None:
    """As many as there are."""
    found = [each for each in parts if each is not None]
    return {"bool": {"filter": found}} if found else None


def _any(parts: Sequence[Query | None]) -> Query | None:
    """All, or none."""
    return None if None in parts else {"bool": {"should": list(parts), "minimum_should_match": 1}}


def _query(rex: Rex, columns: Schema, fields: Mapping[str, Field]) -> Query | None:
    if not isinstance(rex, Call):
        return None
    if rex.function == "AND":
        return _all([_query(each, columns, fields) for each in rex.args])
    if rex.function == "OR":
        return _any([_query(each, columns, fields) for each in rex.args])
    if rex.function == "BETWEEN" and not rex.option("symmetric"):
        value, low, high = rex.args
        bounds = (_compared(">=", value, low, columns, fields), _compared("<=", value, high, columns, fields))
        return _all(bounds)
    if rex.function == "IN":
        value, *choices = rex.args
        return _any([_compared("=", value, choice, columns, fields) for choice in choices])
    if rex.function in _MIRRORED and len(rex.args) == 2:
        return _compared(rex.function, *rex.args, columns, fields)
    return None


def _compared(function: str, left: Rex, right: Rex, columns: Schema, fields: Mapping[str, Field]) -> Query | None:
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    if not isinstance(left, Ref) or not isinstance(right, Literal) or left.index >= len(columns):
        return None
    field, value = fields.get(columns[left.index].name), right.value
    if field is None or value is None:
        return None
    family = family_of(left.type)
    if family is not family_of(right.type):
        return None
    if family is Family.INTEGER and field.kind in WHOLE:
        if function == "=":
            return {"term": {field.path: {"value": value}}}
        return {"range": {field.path: {_RANGES[function]: value}}}
    if family is Family.TEXT and field.kind == "keyword" and function == "=":
        short = field.longest is None or len(value) <= field.longest
        return {"term": {field.path: {"value": value}}} if short else None
    return None
