"""Conditions in the database's SQL: those that leave out no row that is wanted. All are checked again afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from millrace.relational.fields import Schema
from millrace.relational.rex import Call, Literal, Ref, Rex, walk
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ORDERED = (Family.INTEGER, Family.DECIMAL, Family.DATE, Family.TIMESTAMP, Family.INSTANT)


class Sql(Protocol):
    """How a database writes names and constants; None: leave it to us."""

    text_is_exact: bool
    """whether ``=`` on texts tells small letters from capitals: then ``<>`` does as well"""

    def name(self, name: str) -> str | None: ...

    def literal(self, value: Any, kind: DataType) -> str | None: ...


def conditions(filters: Sequence[Rex], columns: Schema, dialect: Sql) -> tuple[str, ...]:
    """As much of the filters as the database can check."""
    return tuple(found for each in filters if (found := _condition(each, columns, dialect)) is not None)


def exact_condition(rex: Rex, columns: Schema, dialect: Sql) -> str | None:
    """A condition that holds in the database for the very rows that it holds for here; None: there may be others."""
    if isinstance(rex, Call) and rex.function in ("AND", "OR"):
        parts = [exact_condition(each, columns, dialect) for each in rex.args]
        return None if None in parts else f"({f' {rex.function} '.join(map(str, parts))})"
    texts = any(isinstance(part, Ref) and family_of(part.type) is Family.TEXT for part in walk(rex))
    nulls = isinstance(rex, Call) and rex.function in ("IS NULL", "IS NOT NULL")
    if texts and not (nulls or dialect.text_is_exact):
        return None
    return _condition(rex, columns, dialect)


def all_of(filters: Sequence[Rex], columns: Schema, dialect: Sql) -> tuple[str, ...] | None:
    """The filters in SQL if the database lets the very same rows through each one, else None."""
    found = [exact_condition(each, columns, dialect) for each in filters]
    return None if None in found else tuple(map(str, found))


def _condition(rex: Rex, columns: Schema, dialect: Sql) -> str | None:
    if not isinstance(rex, Call):
        return None
    if rex.function == "AND":
        parts = [found for each in rex.args if (found := _condition(each, columns, dialect)) is not None]
        return f"({' AND '.join(parts)})" if parts else None
    if rex.function == "OR":
        all_parts = [_condition(each, columns, dialect) for each in rex.args]
        return None if None in all_parts else f"({' OR '.join(map(str, all_parts))})"
    if rex.function in ("IS NULL", "IS NOT NULL") and isinstance(rex.args[0], Ref):
        name = _name(rex.args[0], columns, dialect)
        return None if name is None else f"{name} {rex.function}"
    if rex.function == "BETWEEN" and not rex.option("symmetric"):
        value, low, high = rex.args
        bounds = [_comparison(">=", value, low, columns, dialect), _comparison("<=", value, high, columns, dialect)]
        return None if None in bounds else f"({' AND '.join(map(str, bounds))})"
    if rex.function == "IN":
        value, *choices = rex.args
        each_one = [_comparison("=", value, choice, columns, dialect) for choice in choices]
        return None if None in each_one else f"({' OR '.join(map(str, each_one))})"
    if rex.function in _MIRRORED and len(rex.args) == 2:
        return _comparison(rex.function, *rex.args, columns, dialect)
    return None


def _comparison(function: str, left: Rex, right: Rex, columns: Schema, dialect: Sql) -> str | None:
    if isinstance(left, Literal):
        left, right, function = right, left, _MIRRORED[function]
    if not isinstance(left, Ref) or not isinstance(right, Literal):
        return None
    name, kind = _name(left, columns, dialect), left.type
    if name is None or not _means_the_same(function, kind, right.type, dialect):
        return None
    if function == "<>" and isinstance(right.value, str) and right.value.endswith(" "):
        return None  # blanks at the end count for nothing in a text of a fixed length, which is read without them
    literal = dialect.literal(right.value, right.type)
    return None if literal is None else f"{name} {function} {literal}"


def _means_the_same(function: str, kind: DataType, other: DataType, dialect: Sql) -> bool:
    family = family_of(kind)
    if family is not family_of(other) and not {family, family_of(other)} <= {Family.INTEGER, Family.DECIMAL}:
        return False
    if family in _ORDERED:
        return True
    # Databases put texts in an order of their own.
    return family is Family.TEXT and (function == "=" or (function == "<>" and dialect.text_is_exact))


def _name(ref: Ref, columns: Schema, dialect: Sql) -> str | None:
    return dialect.name(columns[ref.index].name) if ref.index < len(columns) else None
