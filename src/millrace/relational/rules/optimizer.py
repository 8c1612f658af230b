"""The rules that a plan goes through, in their order: ``STREAMING`` before it becomes a streaming program, ``BATCH``
before Spark runs it. And the two rules about whole plans: GROUPING SETS for engines that know one set of keys, and
plans that run as one job, whose equal parts become one node.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Filter, Project, Rel, Watermark
from millrace.relational.nodes.rel import expressions_of, transform
from millrace.relational.rex import AggCall, Call, Literal, Ref, Rex, deep_calls
from millrace.relational.rules import plan_check
from millrace.relational.rules.column_pruning import prune_columns
from millrace.relational.rules.filters_and_projections import (
    fold_constants,
    is_deterministic,
    merge_projections,
    push_filters,
    push_into_sources,
)
from millrace.relational.rules.join_rules import join_keys, join_order, wants_order
from millrace.relational.rules.window_rules import attached_windows, top_n
from millrace.relational.sources import TableSource
from millrace.relational.types import BooleanType, IntType
from millrace.util.identity import IdentityDict

# GROUPING SETS

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
        _expanded_columns(node, asked),
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
    """The projection for one grouping set: the input's columns, the keys, the number of the set, and the values of
    GROUPING and GROUP_ID."""
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


def _expanded_columns(node: n.Aggregate | n.WindowAggregate, asked: list[AggCall]) -> n.Schema:
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


# Plans that run as one job

REUSE_PLANS = "table.optimizer.reuse-sub-plan-enabled"
REUSE_SOURCES = "table.optimizer.reuse-source-enabled"


@deep_calls()
def share(plans: Sequence[n.Rel], scans: bool = True) -> list[n.Rel]:
    """Make equal subplans of several plans one object, so that they are computed once. Subplans that give other values
    each time stay apart.

    :param scans: whether a table is read once although the plans need different columns of it.
    """
    if scans:
        plans = _with_common_scans(plans)
    pool = _Pool()
    return [pool.shared(plan) for plan in plans]


def share_as_set(plans: Sequence[n.Rel], settings: Mapping[str, str]) -> list[n.Rel]:
    """Share equal subplans as ``share`` does, if ``table.optimizer.reuse-sub-plan-enabled`` and
    ``reuse-source-enabled`` allow it."""
    if not _is_on(settings, REUSE_PLANS):
        return list(plans)
    return share(plans, _is_on(settings, REUSE_SOURCES))


def _is_on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "true").lower() == "true"


class _Pool:
    """The first of each kind of node, by what it is over."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], list[n.Rel]] = {}
        self._done = IdentityDict[n.Rel, n.Rel]()

    def shared(self, node: n.Rel) -> n.Rel:
        done = self._done.get(node)
        if done is None:
            done = self._done[node] = self._first(node)
        return done

    def _first(self, node: n.Rel) -> n.Rel:
        inputs = tuple(map(self.shared, node.inputs))
        if any(a is not b for a, b in zip(inputs, node.inputs)):
            node = node.with_inputs(inputs)
        if isinstance(node, n.Sink) or not all(map(is_deterministic, expressions_of(node))):
            return node
        alike = self._known.setdefault((type(node), *map(id, inputs)), [])
        for each in alike:
            if _same(each, node):
                return each
        alike.append(node)
        return node


def _same(one: Any, other: Any) -> bool:
    """Whether two parts of plans are the same, their functions and sources included."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, TableSource):
        return one.table is not None and one.table == other.table
    if is_dataclass(one):
        return all(_same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    # 0.0 equals -0.0, and is another value.
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)


def _with_common_scans(plans: Sequence[n.Rel]) -> list[n.Rel]:
    groups: list[list[n.Scan]] = []
    for scan in (each for plan in plans for each in n.find(plan, n.Scan)):
        group = next((each for each in groups if _may_be_one(each[0], scan)), None)
        if group is None:
            groups.append([scan])
        else:
            group.append(scan)
    places = IdentityDict[n.Rel, n.Rel](pair for group in groups if len(group) > 1 for pair in _merged(group))
    if not places:
        return list(plans)
    return [merge_projections(transform(plan, lambda node: places.get(node, node))) for plan in plans]


def _may_be_one(one: n.Scan, other: n.Scan) -> bool:
    """Whether one reading serves both. A source that reads less for its filters must have the same ones."""
    filters = not getattr(one.source, "uses_filters", False) or one.filters == other.filters
    return filters and one.path == other.path and _same(one.source, other.source)


def _merged(scans: Sequence[n.Scan]) -> list[tuple[n.Scan, n.Rel]]:
    """Pairs of a scan and its replacement: the scan's columns out of one scan that reads the columns of all."""
    columns: dict[int, n.Field] = {}
    for scan in scans:
        columns.update(zip(_read_columns(scan), scan.columns))
    wanted = tuple(sorted(columns))
    first = scans[0]
    filters = first.filters if all(each.filters == first.filters for each in scans) else ()
    everything = next((None for each in scans if each.projected is None), wanted)
    one = replace(first, columns=tuple(columns[each] for each in wanted), projected=everything, filters=filters)
    return [(scan, _narrowed(one, wanted, scan)) for scan in scans]


def _narrowed(one: n.Scan, wanted: tuple[int, ...], scan: n.Scan) -> n.Rel:
    chosen = _read_columns(scan)
    if chosen == wanted:
        return one
    refs = tuple(Ref(field.type, wanted.index(column)) for column, field in zip(chosen, scan.columns))
    return n.Project(one, refs, scan.columns)


def _read_columns(scan: n.Scan) -> tuple[int, ...]:
    """The columns of the source that a scan reads."""
    return tuple(range(len(scan.columns))) if scan.projected is None else scan.projected


# Rules in their order

Rule = Callable[[Rel, Surroundings], Rel]
_CHECKED = os.environ.get(plan_check.VARIABLE) == "1"


def _constants(plan: Rel, surroundings: Surroundings) -> Rel:
    return fold_constants(plan, surroundings)


def _constants_and_now(plan: Rel, surroundings: Surroundings) -> Rel:
    return fold_constants(plan, surroundings, dynamic=True)


def _top_n(plan: Rel, surroundings: Surroundings) -> Rel:
    return transform(plan, top_n)


def _no_watermarks(plan: Rel, surroundings: Surroundings) -> Rel:
    return transform(plan, _without_watermark)


def _ordered_joins(plan: Rel, surroundings: Surroundings) -> Rel:
    return join_order(plan) if wants_order(surroundings.configuration) else plan


def _of_plan(rule: Callable[[Rel], Rel]) -> Rule:
    """A rule that looks at the plan alone."""

    def run(plan: Rel, surroundings: Surroundings) -> Rel:
        return rule(plan)

    run.__name__ = rule.__name__
    return run


STREAMING: tuple[Rule, ...] = (
    _constants,  # what depends on the clock is computed again for each row
    _of_plan(merge_projections),
    _top_n,
    _of_plan(push_filters),
    _ordered_joins,
    _of_plan(prune_columns),
    _of_plan(merge_projections),
    _of_plan(attached_windows),
    _of_plan(grouping_sets),
    _of_plan(join_keys),
)
BATCH: tuple[Rule, ...] = (
    _constants_and_now,
    _no_watermarks,
    _of_plan(merge_projections),
    _of_plan(push_filters),
    _ordered_joins,
    _of_plan(prune_columns),
    _of_plan(numbered_sets),
    _of_plan(merge_projections),
    _of_plan(push_into_sources),
)


@deep_calls()
def optimise_streaming(plan: Rel, surroundings: Surroundings) -> Rel:
    """The plan as it is run: the same changes of the same table."""
    return _through(STREAMING, plan, surroundings)


@deep_calls()
def optimise_batch(plan: Rel, surroundings: Surroundings) -> Rel:
    """The plan as it is run: the same rows, columns and names."""
    return _through(BATCH, plan, surroundings)


def _through(rules: Sequence[Rule], plan: Rel, surroundings: Surroundings) -> Rel:
    for rule in rules:
        before, plan = plan, rule(plan, surroundings)
        if _CHECKED:
            plan_check.check_rule(rule.__name__.lstrip("_"), before, plan)
    return plan


def _without_watermark(node: Rel) -> Rel:
    """Remove a watermark from a batch plan: all rows exist before anything is computed, so nothing waits for it.
    Types stay."""
    if not isinstance(node, Watermark):
        return node
    below = node.input
    if node.leaves_out:
        time = Ref(below.schema[node.column].type, node.column)
        below = Filter(below, Call(BooleanType(False), "IS NOT NULL", (time,)))
    return Project(below, tuple(Ref(each.type, index) for index, each in enumerate(node.schema)), node.schema)
