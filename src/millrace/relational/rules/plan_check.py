"""Whether a plan is sound: what must hold of every plan, and between a plan and what a rule has made of it. Tests look
after each rule (the environment variable ``MILLRACE_CHECK_PLANS``).
"""

from __future__ import annotations

from collections.abc import Iterator

from millrace.relational import nodes as n
from millrace.relational.nodes.rel import Rel, expressions_of, walk
from millrace.relational.rex import Field, Ref, Rex, deep_calls
from millrace.relational.rex import walk as parts_of

VARIABLE = "MILLRACE_CHECK_PLANS"
"""the environment variable that is 1 where plans are checked after each rule"""


class PlanError(AssertionError):
    """A rule has made a plan that is wrong: the text names the rule, the node and what does not fit."""


@deep_calls()
def check_rule(rule: str, before: Rel, after: Rel) -> None:
    """
    :raises PlanError: the result has other columns than before, or a node is not sound.
    """
    for problem in (*_other_columns(before.schema, after.schema), *problems_of(after)):
        raise PlanError(f"rule {rule}: {problem}")


def problems_of(plan: Rel) -> Iterator[str]:
    """What is wrong with the nodes of a plan."""
    for node in walk(plan):
        name, columns = type(node).__name__, _columns_in_reach(node)
        for expression in expressions_of(node):
            yield from (f"{name}: {problem}" for problem in _wrong_references(expression, columns))
        yield from (f"{name}: {problem}" for problem in _wrong_numbers(node))


def _columns_in_reach(node: Rel) -> tuple[Field, ...]:
    """The columns that expressions of a node may read: those of its inputs, and what it adds to them itself."""
    columns = tuple(column for each in node.inputs for column in each.schema)
    if isinstance(node, n.Correlate):
        return columns + node.produced
    if isinstance(node, n.LookupJoin):
        return columns + node.table
    return columns


def _wrong_references(expression: Rex, columns: tuple[Field, ...]) -> Iterator[str]:
    for part in parts_of(expression):
        if not isinstance(part, Ref):
            continue
        if part.index >= len(columns):
            yield f"column {part.index} is read, and there are {len(columns)}"
        elif not part.type.is_same(columns[part.index].type):
            column = columns[part.index]
            yield f"column {part.index} ({column.name}) is read as {part.type}, and is {column.type}"


def _wrong_numbers(node: Rel) -> Iterator[str]:
    """Parts of a node that belong to each other and are not as many."""
    width = len(node.schema)
    if isinstance(node, n.Project) and len(node.expressions) != width:
        yield f"{len(node.expressions)} expressions for {width} columns"
    if isinstance(node, n.Expand):
        yield from (f"{len(each)} expressions for {width} columns" for each in node.projections if len(each) != width)
    if isinstance(node, n.SetOp):
        yield from (
            f"a branch has {len(each.schema)} columns, the result {width}"
            for each in node.branches
            if len(each.schema) != width
        )
    if isinstance(node, (n.Aggregate, n.WindowAggregate)):
        below = len(node.input.schema)
        yield from (f"key {key} is none of {below} columns" for key in node.keys if key >= below)


def _other_columns(before: tuple[Field, ...], after: tuple[Field, ...]) -> Iterator[str]:
    names, now = [column.name for column in before], [column.name for column in after]
    if names != now:
        yield f"the columns {names} have become {now}"
        return
    for old, new in zip(before, after):
        if not old.type.is_same(new.type):
            yield f"the type of {old.name} was {old.type} and has become {new.type}"
        elif new.type.is_nullable and not old.type.is_nullable:
            yield f"{old.name} was {old.type} and may be NULL now"
