"""GROUPING SETS, ROLLUP and CUBE for engines that know only one set of keys: each row once for every set, with NULL in
the keys outside of the set."""

from __future__ import annotations

from dataclasses import replace

from millrace.relational import nodes as n
from millrace.relational.nodes.traversal import transform
from millrace.relational.rex import AggCall, Literal, Ref, Rex
from millrace.relational.types import IntType

_GROUPING = ("GROUPING", "GROUP_ID")


def grouping_sets(plan: n.Rel) -> n.Rel:
    """The plan without sets of keys."""
    return transform(plan, _expanded)


def numbered_sets(plan: n.Rel) -> n.Rel:
    """The plan without those sets of keys whose GROUP_ID is asked for, which Spark does not know."""
    return transform(plan, lambda node: _expanded(node) if _asks_group_id(node) else node)


def _asks_group_id(node: n.Rel) -> bool:
    if not isinstance(node, (n.Aggregate, n.WindowAggregate)):
        return False
    return any(call.function == "GROUP_ID" for call in node.aggregates)


def _expanded(node: n.Rel) -> n.Rel:
    if not isinstance(node, (n.Aggregate, n.WindowAggregate)) or node.sets is None:
        return node
    width, keys = len(node.input.schema), len(node.keys)
    asked = [call for call in node.aggregates if call.function in _GROUPING]
    every = n.Expand(
        node.input,
        tuple(_projection(node, number, chosen, asked) for number, chosen in enumerate(node.sets)),
        _columns(node, asked),
    )
    added = every.schema[width + keys :]
    calls = tuple(call for call in node.aggregates if call.function not in _GROUPING)
    results = [column for column, call in zip(node.schema[keys:], node.aggregates) if call.function not in _GROUPING]
    rest = node.schema[keys + len(node.aggregates) :]
    grouped = replace(
        node,
        input=every,
        keys=tuple(range(width, len(every.schema))),
        aggregates=calls,
        columns=(*node.schema[:keys], *added, *results, *rest),
        sets=None,
    )
    return _in_order(node, grouped, len(added))


def _projection(
    node: n.Aggregate | n.WindowAggregate, number: int, chosen: tuple[int, ...], asked: list[AggCall]
) -> tuple[Rex, ...]:
    """The input for one set: its columns, the keys, the number of the set and what GROUPING and GROUP_ID say of it."""
    columns = node.input.schema
    expressions: list[Rex] = [Ref(column.type, index) for index, column in enumerate(columns)]
    for position, key in enumerate(node.keys):
        inside = position in chosen
        expressions.append(Ref(columns[key].type, key) if inside else Literal(columns[key].type.nullable(), None))
    expressions.append(Literal(IntType(False), number))
    for call in asked:
        said = _repetitions(node, number) if call.function == "GROUP_ID" else _bits(node, chosen, call)
        expressions.append(Literal(call.type, said))
    return tuple(expressions)


def _columns(node: n.Aggregate | n.WindowAggregate, asked: list[AggCall]) -> n.Schema:
    columns = node.input.schema
    keys = [n.Field(columns[key].name, columns[key].type.nullable()) for key in node.keys]
    said = [n.Field(f"$grouping{place}", call.type) for place, call in enumerate(asked)]
    return (*columns, *keys, n.Field("$set", IntType(False)), *said)


def _bits(node: n.Aggregate | n.WindowAggregate, chosen: tuple[int, ...], call: AggCall) -> int:
    """One bit a column, the last one lowest: set where the column is not in the set."""
    asked = [arg.index for arg in call.args if isinstance(arg, Ref)]
    inside = {node.keys[position] for position in chosen}
    return sum(1 << place for place, column in enumerate(reversed(asked)) if column not in inside)


def _repetitions(node: n.Aggregate | n.WindowAggregate, number: int) -> int:
    """How many sets before this one have the same keys."""
    sets = [frozenset(each) for each in node.sets or ()]
    return sets[:number].count(sets[number])


def _in_order(node: n.Aggregate | n.WindowAggregate, grouped: n.Rel, added: int) -> n.Rel:
    """The columns as the node had them."""
    keys = len(node.keys)
    places = list(range(keys))
    grouping, result = keys + 1, keys + added
    for call in node.aggregates:
        if call.function in _GROUPING:
            places.append(grouping)
            grouping += 1
        else:
            places.append(result)
            result += 1
    places += range(result, len(grouped.schema))
    columns = grouped.schema
    expressions = tuple(Ref(columns[place].type, place) for place in places)
    return n.Project(grouped, expressions, node.schema)
