"""Joins on computed values, e.g. of columns with different types: the values become columns of the inputs, so the join
itself compares plain columns and its rows can be sent to where their partners are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.arrow import alike
from millrace.relational.nodes.traversal import transform
from millrace.relational.rex import Call, Ref, Rex, conjunction, conjuncts, refs, shift

_EQUAL = ("=", "IS NOT DISTINCT FROM")
_JOINS = (n.Join, n.IntervalJoin, n.WindowJoin, n.TemporalJoin)


def join_keys(plan: n.Rel) -> n.Rel:
    """Compute what joins compare before they do."""
    return transform(plan, lambda node: _prepared(node) if isinstance(node, _JOINS) else node)


def _prepared(join: Any) -> n.Rel:
    width = len(join.left.schema)
    left: list[Rex] = []
    right: list[Rex] = []
    parts: list[tuple[Rex, tuple[int | Rex, int | Rex] | None]] = []
    for part in conjuncts(join.condition):
        sides = sides_of_key(part, width)
        if sides is None or all(isinstance(side, Ref) for side in sides):
            parts.append((part, None))
            continue
        parts.append((part, (_place(sides[0], left, width), _place(shift(sides[1], -width), right, None))))
    if not left and not right:
        return join  # type: ignore[no-any-return]
    moved = width + len(left)
    right_width = len(join.right.schema)
    condition = []
    for part, places in parts:
        if places is None:
            condition.append(shift(part, len(left), start=width))
            continue
        one, other = places
        first = _column(one, left, width, join.left)
        second = _column(other, right, right_width, join.right)
        second = replace(second, index=second.index + moved)
        condition.append(part.with_children((first, second)))
    changed = replace(
        join, left=_with(join.left, left), right=_with(join.right, right), condition=conjunction(condition)
    )
    if join.kind in ("SEMI", "ANTI"):
        kept = list(range(width))
    else:
        kept = [*range(width), *range(moved, moved + right_width)]
    columns = changed.schema
    expressions = tuple(Ref(columns[index].type, index) for index in kept)
    return n.Project(changed, expressions, tuple(columns[index] for index in kept))


def sides_of_key(part: Rex, width: int) -> tuple[Rex, Rex] | None:
    """The sides of an equality between the inputs, left one first."""
    if not isinstance(part, Call) or part.function not in _EQUAL:
        return None
    one, other = part.args
    if not alike(one.type, other.type):
        return None
    read, others = refs(one), refs(other)
    if not read or not others:
        return None
    if max(read) < width <= min(others):
        return one, other
    if max(others) < width <= min(read):
        return other, one
    return None


def _place(side: Rex, computed: list[Rex], width: int | None) -> int | Rex:
    """Where the value of one side will be: itself if it is a column, else its number among the computed ones."""
    if isinstance(side, Ref):
        return side
    if side not in computed:
        computed.append(side)
    return computed.index(side)


def _column(place: int | Rex, computed: list[Rex], width: int, side: n.Rel) -> Ref:
    if isinstance(place, Ref):
        return place
    assert isinstance(place, int)
    return Ref(computed[place].type, width + place)


def _with(input: n.Rel, computed: list[Rex]) -> n.Rel:
    if not computed:
        return input
    own = tuple(Ref(column.type, index) for index, column in enumerate(input.schema))
    fields = tuple(n.Field(f"$key{place}", each.type) for place, each in enumerate(computed))
    return n.Project(input, (*own, *computed), input.schema + fields)
