"""Joins of two inputs: by condition, USING, NATURAL and commas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.relational.casting import cast_to, common_type
from millrace.relational.nodes import Filter, Join, Rel
from millrace.relational.rex import TRUE, Ref, Rex, Subquery, conjunction, shift, walk
from millrace.relational.rules.interval_join import interval_join
from millrace.relational.rules.subqueries import unnest
from millrace.relational.rules.window_join import window_join
from millrace.table.sql import nodes
from millrace.table.sql.binding.calls import built_in
from millrace.table.sql.binding.dispatch import bind_condition
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.relations.from_clause import NOTHING, From, Source, bind_relation, binds_relation
from millrace.table.sql.binding.relations.hints import input_hinted
from millrace.table.sql.binding.relations.lateral import bind_lateral, is_lateral
from millrace.table.sql.binding.relations.temporal import bind_temporal, is_temporal
from millrace.table.sql.binding.relations.version_functions import bind_versions, key_of_versions
from millrace.table.sql.binding.scopes import Scope, beside


def bind_from(first: nodes.Node, joins: Sequence[nodes.Join], at: From) -> Source:
    """An item of FROM and all that is joined to it."""
    if is_lateral(first, at):
        source = bind_lateral(nodes.Join(this=first, kind="CROSS"), replace(at, left=NOTHING))
    else:
        source = bind_relation(first, at)
    for join in joins:
        source = _join(join, source, at)
    return source


@binds_relation(nodes.Joined)
def _joined(tree: nodes.Joined, at: From) -> Source:
    return bind_from(tree.this, tree.joins, at)


def join_kind(tree: nodes.Join) -> str:
    """INNER, LEFT, RIGHT or FULL."""
    return str(tree.side or "INNER").upper()


def _join(tree: nodes.Join, left: Source, at: From) -> Source:
    at = replace(at, left=left)
    if is_lateral(tree.this, at):
        key = key_of_versions(tree.this, at)
        return bind_versions(tree, key, at) if key else bind_lateral(tree, at)
    if is_temporal(tree.this):
        return bind_temporal(tree, at)
    right = bind_relation(tree.this, at)
    _check_names(tree, left.scope, right.scope)
    kind = join_kind(tree)
    names = _common_names(tree, left.scope, right.scope)
    scope = beside(left.scope, right.scope)
    left, right = _hinted(left, at), _hinted(right, at)
    if names is None:
        on = tree.on
        condition = TRUE if on is None else bind_condition(on, at.block(scope, "ON"))
        if on is None and kind != "INNER":
            fail(tree, f"a {kind} JOIN needs ON or USING")
        return _joined_source(tree, left.plan, right.plan, kind, condition, scope)
    condition, merged = _merge(tree, names, left, right, kind)
    rest = tuple(each for each in left.scope.merged if each[0] not in names)
    return _joined_source(tree, left.plan, right.plan, kind, condition, replace(scope, merged=(*merged, *rest)))


def _hinted(source: Source, at: From) -> Source:
    """An input that is one table, with the hints that name it."""
    relations = source.scope.relations
    if len(relations) != 1:
        return source
    return Source(input_hinted(source.plan, at.hints, relations[0].name), source.scope)


def _joined_source(tree: nodes.Join, left: Rel, right: Rel, kind: str, condition: Rex, scope: Scope) -> Source:
    plan = make_join(tree, left, right, kind, condition)
    return Source(plan, scope.over(plan.schema))


def make_join(tree: nodes.Node, left: Rel, right: Rel, kind: str, condition: Rex) -> Rel:
    """A join of the kind that its condition makes it: of windows, of intervals of time, or a regular one."""
    if any(isinstance(part, Subquery) for part in walk(condition)):
        if kind != "INNER":
            fail(tree, f"a subquery cannot stand in the condition of a {kind} JOIN: join with the subquery first")
        return unnest(Filter(Join(left, right, kind, TRUE), condition))
    return interval_join(window_join(Join(left, right, kind, condition)))


def _check_names(tree: nodes.Join, left: Scope, right: Scope) -> None:
    taken = {each.name for each in left.relations if each.name}
    for each in right.relations:
        if each.name in taken:
            fail(tree.this, f"two items of FROM are called '{each.name}': give one an alias with AS")


def _common_names(tree: nodes.Join, left: Scope, right: Scope) -> list[str] | None:
    """The columns of USING or NATURAL; None without these."""
    if tree.using:
        return [each.name for each in tree.using]
    if tree.method != "NATURAL":
        return None
    there = {column.name for column in right.fields}
    return [name for name in dict.fromkeys(name for name, _ in left.star()) if name in there]


def _merge(
    tree: nodes.Join, names: Sequence[str], left: Source, right: Source, kind: str
) -> tuple[Rex, tuple[tuple[str, Rex], ...]]:
    width = len(left.plan.schema)
    parts: list[Rex] = []
    merged: list[tuple[str, Rex]] = []
    for name in names:
        mine = _side(tree, left.scope, name, "left")
        theirs = shift(_side(tree, right.scope, name, "right"), width)
        parts.append(built_in(tree, "=", [mine, theirs]))
        merged.append((name, _merged(tree, name, mine, theirs, kind)))
    return conjunction(parts), tuple(merged)


def _side(tree: nodes.Join, scope: Scope, name: str, side: str) -> Rex:
    found = scope.find(name)
    if len(found) != 1:
        what = "no column" if not found else f"{len(found)} columns"
        fail(tree, f"USING ({name}): the {side} input has {what} with this name")
    return found[0]


def _merged(tree: nodes.Join, name: str, left: Rex, right: Rex, kind: str) -> Rex:
    if kind == "RIGHT":
        return right
    if kind != "FULL":
        return left
    common = common_type([left.type, right.type])
    if common is None:
        fail(tree, f"USING ({name}): {left.type} and {right.type} have no common type")
    sides = [_nullable(each) for each in (left, right)]
    return built_in(tree, "COALESCE", [cast_to(each, common) for each in sides])


def _nullable(expression: Rex) -> Rex:
    return replace(expression, type=expression.type.nullable()) if isinstance(expression, Ref) else expression
