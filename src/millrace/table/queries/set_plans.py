"""Joins, lateral functions and set operations of tables."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational.casting import cast_to, common_type
from millrace.relational.nodes import Correlate, Field, Join, Rel, SetOp
from millrace.relational.rex import TRUE, Rex
from millrace.table.queries import unbound as u
from millrace.table.queries.binding import Binder, table_function
from millrace.table.queries.expression_text import text
from millrace.table.queries.problems import problem
from millrace.table.queries.projection import project
from millrace.table.udf import UserDefinedTableFunctionWrapper


def joined(left: Rel, right: Rel, kind: str, predicate: u.Node | None, binder: Binder) -> Rel:
    """A regular join.

    :raises TableException: a name is on both sides.
    """
    twice = sorted(set(left.names) & set(right.names))
    if twice:
        raise problem(f"both sides of the join have {', '.join(twice)}: rename them on one side with rename_columns")
    both = Binder(left.schema + right.schema, binder.environment)
    condition: Rex = TRUE if predicate is None else both.condition(predicate)
    return Join(left, right, kind, condition)


def lateral(plan: Rel, call: u.Node, left: bool, predicate: u.Node | None, binder: Binder) -> Rel:
    """Each row with the rows that a table function makes of it."""
    produced = correlated(plan, call, left, binder)
    twice = sorted(set(plan.names) & {column.name for column in produced.produced})
    if twice:
        raise problem(f"{text(call)} makes columns that are there: {', '.join(twice)}; name its columns with alias")
    if predicate is None:
        return produced
    condition = Binder(produced.schema, binder.environment).condition(predicate)
    if left and condition != TRUE:
        raise problem("a left outer join with a table function takes no condition but lit(True): filter the result")
    return replace(produced, condition=condition)


def correlated(plan: Rel, call: u.Node, left: bool, binder: Binder) -> Correlate:
    """The columns of the input, then those of a table function."""
    node, names = table_function(call, binder)
    function = node.function
    assert isinstance(function, UserDefinedTableFunctionWrapper)
    row = function.row_type
    if names and len(names) != len(row):
        raise problem(f"{text(node)} makes {len(row)} columns, and alias gives {len(names)} names")
    produced = tuple(Field(name, kind) for name, kind in zip(names or row.names, row.field_types()))
    args = tuple(binder.arguments(function, node))
    return Correlate(plan, function.name, args, produced, left, udf=function)


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
    branches = tuple(_cast(side, columns) for side in (left, right))
    return SetOp(kind, keep_duplicates, branches, tuple(columns))


def _cast(plan: Rel, columns: list[Field]) -> Rel:
    binder = Binder(plan.schema)
    rexes = [cast_to(binder.ref(index), column.type) for index, column in enumerate(columns)]
    return project(plan, rexes, plan.names)
