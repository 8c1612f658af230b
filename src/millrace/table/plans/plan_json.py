"""Plans as JSON and back: nodes and expressions field by field, values by their kind.

An object is ``{"@": kind, ...}``; a JSON list stands for a tuple. What a plan only names, tables and functions of the
user, is written and found by ``PlanObjects``.
"""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Callable, Iterator
from dataclasses import fields
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from millrace.common.types import Row, RowKind, row_of
from millrace.relational import nodes as n
from millrace.relational import rex as r
from millrace.relational.matching import Pattern
from millrace.relational.types import DataType
from millrace.table.plans.plan_objects import PlanObjects
from millrace.table.values.problems import problem

if TYPE_CHECKING:
    from millrace.table.sessions.session import Session

_MICROSECOND = dt.timedelta(microseconds=1)
_PARTS = (n.Field, n.WindowSpec, r.AggCall, r.SortKey, r.Frame)

Write = Callable[[Any], Any]
_VALUES: dict[type, tuple[str, Write, Write]] = {
    Decimal: ("decimal", str, Decimal),
    dt.datetime: ("datetime", dt.datetime.isoformat, dt.datetime.fromisoformat),
    dt.date: ("date", dt.date.isoformat, dt.date.fromisoformat),
    dt.time: ("time", dt.time.isoformat, dt.time.fromisoformat),
    dt.timedelta: ("microseconds", lambda value: value // _MICROSECOND, lambda count: count * _MICROSECOND),
    bytes: ("bytes", lambda value: base64.b64encode(value).decode(), base64.b64decode),
    float: ("float", repr, float),
}
"""type -> (kind, as JSON, back)"""
_BACK = {kind: back for kind, _, back in _VALUES.values()}


@cache
def _classes() -> dict[str, type[Any]]:
    """Name -> class of all that plans consist of."""
    return {each.__name__: each for each in (*_below(n.Rel), *_below(r.Rex), *_below(Pattern), *_PARTS)}


def _below(base: type[Any]) -> Iterator[type[Any]]:
    for each in base.__subclasses__():
        yield each
        yield from _below(each)


def written(plans: list[n.Rel], session: Session) -> list[Any]:
    """Plans as what ``json.dumps`` takes.

    :raises TableException: a plan has something that exists in this process only.
    """
    objects = PlanObjects(session)
    return [_write(plan, objects) for plan in plans]


def read(plans: list[Any], session: Session) -> list[n.Rel]:
    """The plans again.

    :raises TableException: a table is another one by now, or a function is missing.
    """
    objects = PlanObjects(session)
    return [_read(plan, objects) for plan in plans]


def _write(value: Any, objects: PlanObjects) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, tuple):
        return [_write(each, objects) for each in value]
    if isinstance(value, list):
        return {"@": "list", "items": [_write(each, objects) for each in value]}
    if isinstance(value, dict):
        return {"@": "dict", "items": [[_write(key, objects), _write(each, objects)] for key, each in value.items()]}
    if isinstance(value, Row):
        items = [_write(each, objects) for each in value]
        return {"@": "Row", "items": items, "names": value._fields, "kind": value.get_row_kind().name}
    if isinstance(value, DataType):
        return {"@": "type", "is": _type_text(value)}
    known = _VALUES.get(type(value))
    if known is not None:
        return {"@": known[0], "is": known[1](value)}
    if isinstance(value, (n.Rel, r.Rex, Pattern, *_PARTS)):
        return {"@": type(value).__name__} | {each.name: _field(value, each.name, objects) for each in fields(value)}
    return objects.write(value)


def _field(node: Any, name: str, objects: PlanObjects) -> Any:
    if isinstance(node, n.LookupJoin) and name == "source":
        return objects.key_of(node)
    return _write(getattr(node, name), objects)


def _type_text(data_type: DataType) -> str:
    from millrace.table.sql.parser import parse_type

    text = str(data_type)
    try:
        same = parse_type(text) == data_type
    except ValueError:
        same = False
    if not same:
        raise problem(f"a plan with the type {text} cannot be compiled: it exists in this program only")
    return text


def _read(value: Any, objects: PlanObjects) -> Any:
    if isinstance(value, list):
        return tuple(_read(each, objects) for each in value)
    if not isinstance(value, dict):
        return value
    kind = value["@"]
    if kind == "list":
        return [_read(each, objects) for each in value["items"]]
    if kind == "dict":
        return {_read(key, objects): _read(each, objects) for key, each in value["items"]}
    if kind == "Row":
        return row_of([_read(each, objects) for each in value["items"]], value["names"], RowKind[value["kind"]])
    if kind == "type":
        from millrace.table.sql.parser import parse_type

        return parse_type(value["is"])
    if kind in _BACK:
        return _BACK[kind](value["is"])
    if kind in _classes():
        return _classes()[kind](**{name: _read(each, objects) for name, each in value.items() if name != "@"})
    return objects.read(value)
