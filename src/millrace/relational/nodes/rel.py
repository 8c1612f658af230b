"""``Rel``: what every node of a plan has (inputs, columns, expressions, a line in EXPLAIN), and ways through plans and
the expressions of their nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any

from millrace.relational.rex import AggCall, OuterRef, Rex, Schema, SortKey, Subquery
from millrace.relational.rex import walk as parts_of
from millrace.util.record import Record

EXPRESSIONS = {"expressions": True}
"""metadata of a field that holds expressions (Rex, AggCall, SortKey, in tuples of any depth): rules read and replace
them. Each field of a node that may hold one has this or ``OVER_OTHER_COLUMNS``, as a test checks."""
OVER_OTHER_COLUMNS = {"expressions": False}
"""metadata of a field whose expressions are not over the columns of the node's inputs: rules leave them alone"""


class Rel(Record):
    """Base of all nodes."""

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return ()

    @property
    def schema(self) -> Schema:
        """The columns of the result: the field ``columns``, unless they follow from the inputs."""
        found: Schema = getattr(self, "columns")  # noqa: B009  fields of subclasses
        return found

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        """This node over other inputs, as many as it has."""
        return self

    def map_expressions(self, change: Callable[[Rex], Rex]) -> Rel:
        """This node with each of its expressions (whole ones, not their parts) replaced: those in its fields."""
        kind: Any = type(self)
        changed = {name: _mapped(getattr(self, name), change) for name in _fields_with_expressions(kind)}
        return replace(self, **changed) if changed else self

    def details(self) -> list[str]:
        """What stands in parentheses behind the name of the node, in EXPLAIN."""
        return []

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.schema]


@cache
def _fields_with_expressions(kind: type[Rel]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.metadata.get("expressions"))


def _mapped(value: Any, change: Callable[[Rex], Rex]) -> Any:
    if isinstance(value, tuple):
        return tuple(_mapped(each, change) for each in value)
    if isinstance(value, Rex):
        return change(value)
    if isinstance(value, AggCall):
        return value.map(change)
    if isinstance(value, SortKey):
        return replace(value, expression=change(value.expression))
    return value


class Single(Rel):
    """A node with one input."""

    input: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Rel, ...]) -> Rel:
        return replace(self, input=inputs[0])


class SameSchema(Single):
    """A node whose columns are those of its input."""

    @property
    def schema(self) -> Schema:
        return self.input.schema


def nullable(schema: Schema, optional: bool) -> Schema:
    """The columns, each of which may be NULL if they are optional."""
    return tuple(replace(each, type=each.type.nullable()) for each in schema) if optional else schema


def walk(plan: Rel) -> Iterable[Rel]:
    """The node and everything below it, inputs first."""
    for each in plan.inputs:
        yield from walk(each)
    yield plan


def find(plan: Rel, kind: type[Rel]) -> list[Any]:
    """The nodes of a kind."""
    return [node for node in walk(plan) if isinstance(node, kind)]


# Ways through plans


def transform(plan: Rel, change: Callable[[Rel], Rel]) -> Rel:
    """Every node replaced by what ``change`` makes of it, inputs first. Plans of subqueries are not entered."""
    inputs = plan.inputs
    if inputs:
        new = tuple(transform(each, change) for each in inputs)
        if any(a is not b for a, b in zip(new, inputs)):
            plan = plan.with_inputs(new)
    return change(plan)


def expressions_of(node: Rel) -> Iterator[Rex]:
    """The expressions of one node, without those of its inputs."""
    found: list[Rex] = []

    def note(expression: Rex) -> Rex:
        found.append(expression)
        return expression

    node.map_expressions(note)
    yield from found


def subqueries_of(node: Rel) -> list[Subquery]:
    """The subqueries in the expressions of one node, outermost ones only in the sense of plans."""
    return [part for expression in expressions_of(node) for part in parts_of(expression) if isinstance(part, Subquery)]


def outer_refs(plan: Rel, depth: int = 1) -> set[int]:
    """The columns of the query ``depth`` levels around that a plan reads, also in subqueries inside of it."""
    found: set[int] = set()
    for node in walk(plan):
        for expression in expressions_of(node):
            for part in parts_of(expression):
                if isinstance(part, OuterRef) and part.depth == depth:
                    found.add(part.index)
                elif isinstance(part, Subquery):
                    found |= outer_refs(part.plan, depth + 1)
    return found


def is_correlated(plan: Rel) -> bool:
    """Whether a plan reads columns of any query around it."""
    return _reach(plan) > 0


def _reach(plan: Rel) -> int:
    reach = 0
    for node in walk(plan):
        for expression in expressions_of(node):
            for part in parts_of(expression):
                if isinstance(part, OuterRef):
                    reach = max(reach, part.depth)
                elif isinstance(part, Subquery):
                    reach = max(reach, _reach(part.plan) - 1)
    return reach
