"""Joins, lateral functions and set operations of tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millrace.relational.casting import cast_to, common_type
from millrace.relational.nodes import Correlate, Field, Join, Rel, SetOp
from millrace.relational.rex import TRUE, Ref, Rex
from millrace.table.queries.projection import project
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.calls import call_arguments, cast_arguments, find_user_function
from millrace.table.sql.binding.dispatch import bind_all, bind_condition
from millrace.table.sql.binding.resolver import TABLE
from millrace.table.sql.writing.programs import shown
from millrace.table.values.problems import problem


def joined(left: Rel, right: Rel, kind: str, predicate: nodes.Node | None, block: Block) -> Rel:
    """A regular join.

    :raises TableException: a name is on both sides.
    """
    twice = sorted(set(left.names) & set(right.names))
    if twice:
        raise problem(f"both sides of the join have {', '.join(twice)}: rename them on one side with rename_columns")
    both = block.over(left.schema + right.schema)
    condition: Rex = TRUE if predicate is None else bind_condition(predicate, both)
    return Join(left, right, kind, condition)


def lateral(plan: Rel, call: nodes.Node, left: bool, predicate: nodes.Node | None, block: Block) -> Rel:
    """Each row with the rows that a table function makes of it."""
    produced = correlated(plan, call, left, block)
    twice = sorted(set(plan.names) & {column.name for column in produced.produced})
    if twice:
        raise problem(f"{shown(call)} makes columns that are there: {', '.join(twice)}; name its columns with alias")
    if predicate is None:
        return produced
    condition = bind_condition(predicate, block.over(produced.schema))
    if left and condition != TRUE:
        raise problem("a left outer join with a table function takes no condition but lit(True): filter the result")
    return replace(produced, condition=condition)


def correlated(plan: Rel, call: nodes.Node, left: bool, block: Block) -> Correlate:
    """The columns of the input, then those of a table function."""
    names: tuple[str, ...] = ()
    if isinstance(call, nodes.Alias):
        names, call = call.names, call.this
    user = find_user_function(call, block)
    if user is None or user.kind != TABLE:
        raise problem(f"{shown(call)} is no table function: make one with udtf()")
    names = names or user.wrapper._alias_names
    if names and len(names) != len(user.columns):
        raise problem(f"{shown(call)} makes {len(user.columns)} columns, and alias gives {len(names)} names")
    produced = tuple(replace(column, name=name) for column, name in zip(user.columns, names)) or user.columns
    args = cast_arguments(call, user, bind_all(call_arguments(call), block))
    return Correlate(plan, user.name, tuple(args), produced, left, udf=user.wrapper)


def combined(kind: str, keep_duplicates: bool, left: Rel, right: Rel) -> Rel:
    """UNION, INTERSECT or EXCEPT. The columns have the names of the left side."""
    if len(left.schema) != len(right.schema):
        raise problem(f"{kind} of tables with {len(left.schema)} and {len(right.schema)} columns")
    columns = []
    for a, b in zip(left.schema, right.schema):
        wanted = common_type([a.type, b.type])
        if wanted is None:
            raise problem(f"{kind}: column '{a.name}' is {a.type}, and '{b.name}' on the other side {b.type}")
        columns.append(Field(a.name, wanted, a.time if a.time == b.time else None))
    branches: list[Rel] = []
    for side in (left, right):
        branches += _branches(side, kind, keep_duplicates, columns) or [_cast(side, columns)]
    return SetOp(kind, keep_duplicates, tuple(branches), tuple(columns))


def _branches(plan: Rel, kind: str, keep_duplicates: bool, columns: Sequence[Field]) -> list[Rel]:
    """What a UNION is of that becomes a part of another one, so that hundreds of tables are not hundreds of levels."""
    same = isinstance(plan, SetOp) and plan.kind == kind == "UNION" and plan.all == keep_duplicates
    fits = [old.type for old in plan.schema] == [new.type for new in columns]
    return list(plan.inputs) if same and fits else []


def _cast(plan: Rel, columns: list[Field]) -> Rel:
    rexes = [cast_to(Ref(old.type, at), new.type) for at, (old, new) in enumerate(zip(plan.schema, columns))]
    return project(plan, rexes, plan.names)
