"""Every field of a plan node that may hold an expression says so, so that rules see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, fields
from typing import Any, get_args, get_type_hints

import pytest

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.nodes.rel import EXPRESSIONS, Rel, expressions_of
from millrace.relational.rex import AggCall, Literal, Ref, Rex, SortKey
from millrace.relational.rules import plan_text

LITERAL = Literal(1, t.IntType(False))


def kinds_of(base: type[Rel] = Rel) -> Iterator[type[Rel]]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("millrace."):
            yield kind
            yield from kinds_of(kind)


def classes_in(annotation: Any) -> Iterator[type]:
    """The classes that an annotation is made of: of ``tuple[tuple[str, Rex], ...]`` these are str and Rex."""
    parts = get_args(annotation)
    for part in parts:
        yield from classes_in(part)
    if not parts and isinstance(annotation, type):
        yield annotation


def undeclared(kind: type[Rel]) -> list[str]:
    """The fields of a node that may hold expressions and do not say so, or say it and cannot hold any."""
    hints = get_type_hints(kind)
    return [
        f"{kind.__name__}.{each.name}"
        for each in fields(kind)
        if ("expressions" in each.metadata)
        != any(issubclass(part, (Rex, AggCall, SortKey)) for part in classes_in(hints[each.name]))
    ]


def test_every_node_is_looked_at() -> None:
    assert {n.Filter, n.Match, n.LookupJoin, n.Scan, plan_text._Named} <= set(kinds_of())


@pytest.mark.parametrize("kind", sorted(set(kinds_of()), key=lambda kind: kind.__name__))
def test_fields_that_hold_expressions_are_declared(kind: type[Rel]) -> None:
    assert undeclared(kind) == []


def test_an_undeclared_field_is_found() -> None:
    class Forgetful(Rel):
        condition: Rex
        order: tuple[tuple[str, SortKey | None], ...] = ()
        text: str = field(default="", metadata=EXPRESSIONS)

    assert undeclared(Forgetful) == ["Forgetful.condition", "Forgetful.order", "Forgetful.text"]


def test_conditions_of_a_source_are_not_over_its_columns() -> None:
    scan = n.Scan(("c", "d", "t"), (n.Field("a", t.IntType()),), filters=(LITERAL,))
    assert list(expressions_of(scan)) == []
    assert list(expressions_of(n.Filter(scan, LITERAL))) == [LITERAL]


def test_all_expressions_of_a_node_are_replaced() -> None:
    rows = n.Values((n.Field("a", t.IntType()),), ())
    call = AggCall("SUM", (LITERAL,), t.IntType())
    node = n.Aggregate(rows, (0,), (call,), (n.Field("a", t.IntType()), n.Field("s", t.IntType())))
    changed = node.map_expressions(lambda each: Ref(0, t.IntType()))
    assert list(expressions_of(changed)) == [Ref(0, t.IntType())]
