"""The rules that a plan goes through, in their order: ``STREAMING`` before it becomes a streaming program, ``BATCH``
before Spark runs it. Here are also the rules about whole plans: column pruning (columns that are not needed are
neither read nor passed on), GROUPING SETS for engines that know one set of keys, and plans that run as one job,
whose equal parts become one node.

Tests check the plan after each rule (the environment variable ``MILLRACE_CHECK_PLANS``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from millrace.common.configuration import is_on
from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Filter, Project, Rel, Watermark
from millrace.relational.nodes.rel import expressions_of, transform, walk
from millrace.relational.rex import AggCall, Call, Field, Literal, Ref, Rex, SortKey, deep_calls, refs, remap
from millrace.relational.rex import walk as parts_of
from millrace.relational.rules.filters_and_projections import (
    fold_constants,
    is_deterministic,
    merge_projections,
    push_filters,
    push_into_sources,
)
from millrace.relational.rules.join_rules import JOIN_REORDER, join_keys, join_order
from millrace.relational.rules.window_rules import attached_windows, top_n
from millrace.relational.sources import TableSource, goes_by_key
from millrace.relational.types import BooleanType, IntType
from millrace.util.identity import IdentityDict

# What must hold of every plan, and between a plan and what a rule has made of it

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


# Column pruning

Places = dict[int, int]
"""column before -> column of the narrower node"""


def prune_columns(plan: n.Rel) -> n.Rel:
    """Remove columns that are not needed from all nodes of a plan, down to ``Scan.projected``; the result keeps its
    columns."""
    pruned, places = _prune(plan, set(range(len(plan.schema))))
    assert places == {index: index for index in range(len(plan.schema))}, "all columns of the result are needed"
    return pruned


def _prune(node: n.Rel, needed: set[int]) -> tuple[n.Rel, Places]:
    """The node with at least the needed columns, in the same order."""
    for kind, prune in _RULES:
        if isinstance(node, kind):
            return prune(node, needed)
    return _whole(node)


def _whole(node: n.Rel) -> tuple[n.Rel, Places]:
    """A node that needs all of its inputs, and keeps all of its columns."""
    inputs = tuple(_exactly(each, set(range(len(each.schema)))) for each in node.inputs)
    return (node.with_inputs(inputs) if inputs else node), _unmoved(len(node.schema))


def _unmoved(width: int) -> Places:
    return {index: index for index in range(width)}


def _exactly(node: n.Rel, needed: set[int]) -> n.Rel:
    """The node with just the needed columns, or all if none is: rows without columns are not carried around."""
    needed = needed or ({0} if node.schema else set())
    pruned, places = _prune(node, needed)
    if len(pruned.schema) == len(needed):
        return pruned
    kept = sorted(needed)
    columns = tuple(pruned.schema[places[index]] for index in kept)
    return n.Project(pruned, tuple(Ref(column.type, places[i]) for i, column in zip(kept, columns)), columns)


def _kept(needed: Iterable[int]) -> Places:
    return {old: new for new, old in enumerate(sorted(needed))}


def _scan(node: n.Scan, needed: set[int]) -> tuple[n.Rel, Places]:
    if node.source is None:
        return _whole(node)
    read = range(len(node.columns)) if node.projected is None else node.projected
    if goes_by_key(node.source):
        # The primary key identifies rows, so it is read even if no node above needs it.
        needed = needed | {place for place, column in enumerate(read) if column in node.source.primary_key}
    needed = needed or {0}
    places = _kept(needed)
    narrow = replace(
        node, columns=tuple(node.columns[index] for index in places), projected=tuple(read[index] for index in places)
    )
    return (node if len(needed) == len(node.columns) else narrow), places


def _values(node: n.Values, needed: set[int]) -> tuple[n.Rel, Places]:
    places = _kept(needed)
    columns = tuple(node.columns[index] for index in places)
    return n.Values(columns, tuple(tuple(row[index] for index in places) for row in node.rows)), places


def _project(node: n.Project, needed: set[int]) -> tuple[n.Rel, Places]:
    places = _kept(needed or ({0} if node.columns else set()))
    kept = [node.expressions[index] for index in places]
    below, moved = _below(node.input, set().union(*map(refs, kept)) if kept else set())
    expressions = tuple(remap(each, moved) for each in kept)
    return n.Project(below, expressions, tuple(node.columns[index] for index in places)), places


def _below(node: n.Rel, needed: set[int]) -> tuple[n.Rel, Places]:
    needed = needed or ({0} if node.schema else set())
    return _prune(node, needed)


def _pruned_through(node: n.Rel, needed: set[int]) -> tuple[n.Rel, Places]:
    """Columns of the input and expressions over them."""
    read = set().union(*map(refs, expressions_of(node)))
    below, places = _below(node.inputs[0], needed | read)
    changed: Any = node.with_inputs((below,))
    if isinstance(node, n.Filter):
        changed = replace(changed, condition=remap(node.condition, places))
    elif isinstance(node, n.Sort):
        changed = replace(changed, keys=_keys(node.keys, places))
    return changed, places


def _watermark(node: n.Watermark, needed: set[int]) -> tuple[n.Rel, Places]:
    below, places = _below(node.input, needed | {node.column} | refs(node.expression))
    return replace(node, input=below, column=places[node.column], expression=remap(node.expression, places)), places


def _window_table(node: n.WindowTable, needed: set[int]) -> tuple[n.Rel, Places]:
    """The three columns of the window stay."""
    width = len(node.input.schema)
    read = {index for index in needed if index < width} | {node.time, *node.partition}
    below, places = _below(node.input, read)
    start = len(below.schema)
    columns = (*(node.columns[index] for index in sorted(places, key=places.__getitem__)), *node.columns[width:])
    pruned = replace(
        node,
        input=below,
        time=places[node.time],
        partition=tuple(places[index] for index in node.partition),
        columns=columns,
    )
    return pruned, {**places, **{width + index: start + index for index in range(len(node.columns) - width)}}


def _window_aggregate(node: n.WindowAggregate, needed: set[int]) -> tuple[n.Rel, Places]:
    """Keep all columns of the aggregation; of its input only the columns that it reads."""
    below, places = _below(node.input, {node.time, *node.keys, *(node.attached or ()), *_read(node.aggregates)})
    pruned = replace(
        node,
        input=below,
        time=places[node.time],
        keys=tuple(places[key] for key in node.keys),
        aggregates=_calls(node.aggregates, places),
        attached=None if node.attached is None else (places[node.attached[0]], places[node.attached[1]]),
    )
    return pruned, _unmoved(len(node.columns))


def _keys(keys: Sequence[SortKey], places: Places) -> tuple[SortKey, ...]:
    return tuple(replace(key, expression=remap(key.expression, places)) for key in keys)


def _calls(calls: Sequence[AggCall], places: Places) -> tuple[AggCall, ...]:
    def moved(expression: Rex) -> Rex:
        return remap(expression, places)

    return tuple(call.map(moved) for call in calls)


def _aggregate(node: n.Aggregate, needed: set[int]) -> tuple[n.Rel, Places]:
    """Keys stay, calls that are not needed go. A table aggregate function makes several columns at once."""
    width = len(node.keys)
    whole = len(node.columns) != width + len(node.aggregates) or not width
    kept = set(range(len(node.columns))) if whole else needed | set(range(width))
    calls = node.aggregates if whole else tuple(node.aggregates[i - width] for i in sorted(kept) if i >= width)
    read = {*node.keys, *_read(calls)}
    below, places = _below(node.input, read)
    pruned = replace(
        node,
        input=below,
        keys=tuple(places[key] for key in node.keys),
        aggregates=_calls(calls, places),
        columns=tuple(node.columns[index] for index in sorted(kept)),
    )
    return pruned, _kept(kept)


def _read(calls: Sequence[AggCall]) -> set[int]:
    return {index for call in calls for each in call.inputs() for index in refs(each)}


def _over(node: n.Over, needed: set[int]) -> tuple[n.Rel, Places]:
    width = len(node.input.schema)
    chosen = [index for index in range(len(node.calls)) if width + index in needed]
    calls = [node.calls[index] for index in chosen]
    if not calls:
        return _below(node.input, needed)
    order = {index for key in node.order for index in refs(key.expression)}
    read = {index for index in needed if index < width} | set(node.partition) | order | _read([c for c, _ in calls])
    below, places = _below(node.input, read)
    pruned = replace(
        node,
        input=below,
        partition=tuple(places[index] for index in node.partition),
        order=_keys(node.order, places),
        calls=tuple((call, frame) for call, (_, frame) in zip(_calls([c for c, _ in calls], places), calls)),
        produced=tuple(node.produced[index] for index in chosen),
    )
    start = len(below.schema)
    return pruned, {**places, **{width + index: start + new for new, index in enumerate(chosen)}}


def _rank(node: n.Rank, needed: set[int]) -> tuple[n.Rel, Places]:
    width = len(node.input.schema)
    order = {index for key in node.order for index in refs(key.expression)}
    read = {index for index in needed if index < width} | set(node.partition) | order | set(node.window or ())
    below, places = _below(node.input, read)
    pruned = replace(
        node,
        input=below,
        partition=tuple(places[index] for index in node.partition),
        order=_keys(node.order, places),
        window=None if node.window is None else (places[node.window[0]], places[node.window[1]]),
        number=node.number if width in needed else None,
    )
    return pruned, {**places, **({width: len(below.schema)} if width in needed else {})}


def _join(node: n.Join | n.IntervalJoin | n.WindowJoin | n.TemporalJoin, needed: set[int]) -> tuple[n.Rel, Places]:
    width = len(node.left.schema)
    own_left, own_right = _own_columns(node)
    read = needed | refs(node.condition)
    left, left_places = _below(node.left, {index for index in read if index < width} | own_left)
    right, right_places = _below(node.right, {index - width for index in read if index >= width} | own_right)
    start = len(left.schema)
    places = {**left_places, **{width + old: start + new for old, new in right_places.items()}}
    pruned = replace(node, left=left, right=right, condition=remap(node.condition, places))
    moved = _with_own_columns(pruned, left_places, right_places)
    return moved, (left_places if node.kind in ("SEMI", "ANTI") else places)


def _own_columns(node: n.Rel) -> tuple[set[int], set[int]]:
    """The columns of either side that a join reads beside its condition."""
    if isinstance(node, n.IntervalJoin):
        return {node.left_time}, {node.right_time}
    if isinstance(node, n.WindowJoin):
        return set(node.left_window), set(node.right_window)
    if isinstance(node, n.TemporalJoin):
        return {node.left_time}, {*node.right_key, *([] if node.right_time is None else [node.right_time])}
    return set(), set()


def _with_own_columns(node: n.Rel, left: Places, right: Places) -> n.Rel:
    if isinstance(node, n.IntervalJoin):
        return replace(node, left_time=left[node.left_time], right_time=right[node.right_time])
    if isinstance(node, n.WindowJoin):
        (a, b), (c, d) = node.left_window, node.right_window
        return replace(node, left_window=(left[a], left[b]), right_window=(right[c], right[d]))
    if isinstance(node, n.TemporalJoin):
        time = None if node.right_time is None else right[node.right_time]
        key = tuple(right[index] for index in node.right_key)
        return replace(node, left_time=left[node.left_time], right_time=time, right_key=key)
    return node


def _deduplicate(node: n.Deduplicate, needed: set[int]) -> tuple[n.Rel, Places]:
    width = len(node.input.schema)
    read = {index for index in needed if index < width} | {node.time, *node.keys, *(node.window or ())}
    below, places = _below(node.input, read)
    pruned = replace(
        node,
        input=below,
        keys=tuple(places[key] for key in node.keys),
        time=places[node.time],
        window=None if node.window is None else (places[node.window[0]], places[node.window[1]]),
        number=node.number if width in needed else None,
    )
    return pruned, {**places, **({width: len(below.schema)} if width in needed else {})}


def _lookup_join(node: n.LookupJoin, needed: set[int]) -> tuple[n.Rel, Places]:
    """All columns of the external table stay: it gives whole rows."""
    width = len(node.input.schema)
    read = {index for _, key in node.lookup for index in refs(key)}
    if node.condition is not None:
        read |= refs(node.condition)
    below, places = _below(node.input, {index for index in needed | read if index < width})
    start = len(below.schema)
    places = {**places, **{width + index: start + index for index in range(len(node.table))}}
    condition = None if node.condition is None else remap(node.condition, places)
    lookup = tuple((column, remap(key, places)) for column, key in node.lookup)
    return replace(node, input=below, lookup=lookup, condition=condition), places


def _correlate(node: n.Correlate, needed: set[int]) -> tuple[n.Rel, Places]:
    """Keep all columns of the table function, since it makes them in any case."""
    width = len(node.input.schema)
    read = {index for each in node.args for index in refs(each)}
    if node.condition is not None:
        read |= refs(node.condition)
    below, places = _below(node.input, {index for index in needed | read if index < width})
    start = len(below.schema)
    places = {**places, **{width + index: start + index for index in range(len(node.produced))}}
    condition = None if node.condition is None else remap(node.condition, places)
    return replace(
        node, input=below, args=tuple(remap(each, places) for each in node.args), condition=condition
    ), places


def _set_op(node: n.SetOp, needed: set[int]) -> tuple[n.Rel, Places]:
    """Only a UNION ALL can lose columns: the others compare whole rows."""
    if node.kind != "UNION" or not node.all:
        return _whole(node)
    needed = needed or {0}
    branches = tuple(_exactly(each, needed) for each in node.branches)
    places = _kept(needed)
    return replace(node, branches=branches, columns=tuple(node.columns[index] for index in places)), places


_RULES: list[tuple[type | tuple[type, ...], Callable[..., tuple[n.Rel, Places]]]] = [
    (n.Scan, _scan),
    (n.Values, _values),
    (n.Project, _project),
    ((n.Filter, n.Sort, n.Hinted), _pruned_through),
    (n.Watermark, _watermark),
    (n.WindowTable, _window_table),
    (n.WindowAggregate, _window_aggregate),
    (n.Aggregate, _aggregate),
    (n.Over, _over),
    (n.Rank, _rank),
    (n.Deduplicate, _deduplicate),
    ((n.Join, n.IntervalJoin, n.WindowJoin, n.TemporalJoin), _join),
    (n.LookupJoin, _lookup_join),
    (n.Correlate, _correlate),
    (n.SetOp, _set_op),
]


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


@deep_calls()
def share_costly(plan: n.Rel, settings: Mapping[str, str]) -> n.Rel:
    """Make equal subplans of one plan one object if they bring rows together and
    ``table.optimizer.reuse-sub-plan-enabled`` allows it. Those that only pass rows on stay apart: they are cheaper than
    what an engine does to use their rows twice, and each can be one step with what is above it."""
    if not _is_on(settings, REUSE_PLANS):
        return plan
    pool = _Pool()
    costly = IdentityDict[n.Rel, bool]()
    done = IdentityDict[n.Rel, n.Rel]()

    def is_costly(node: n.Rel) -> bool:
        known = costly.get(node)
        if known is None:
            known = costly[node] = isinstance(node, _COSTLY) or any(map(is_costly, node.inputs))
        return known

    def made(node: n.Rel) -> n.Rel:
        # In the pool also the cheap nodes below are one; what is made is over those of the first that came.
        place = pool.shared(node) if is_costly(node) else node
        found = done.get(place)
        if found is None:
            inputs = tuple(map(made, node.inputs))
            same = all(a is b for a, b in zip(inputs, node.inputs))
            found = done[place] = node if same else node.with_inputs(inputs)
        return found

    return made(plan)


_COSTLY = (
    n.Aggregate,
    n.TableAggregate,
    n.WindowAggregate,
    n.Over,
    n.Rank,
    n.Deduplicate,
    n.Match,
    n.Join,
    n.IntervalJoin,
    n.WindowJoin,
    n.TemporalJoin,
)
"""nodes that bring rows together"""


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
_CHECKED = os.environ.get(VARIABLE) == "1"


def _constants(plan: Rel, surroundings: Surroundings) -> Rel:
    return fold_constants(plan, surroundings)


def _constants_and_now(plan: Rel, surroundings: Surroundings) -> Rel:
    return fold_constants(plan, surroundings, dynamic=True)


def _top_n(plan: Rel, surroundings: Surroundings) -> Rel:
    return transform(plan, top_n)


def _no_watermarks(plan: Rel, surroundings: Surroundings) -> Rel:
    return transform(plan, _without_watermark)


def _ordered_joins(plan: Rel, surroundings: Surroundings) -> Rel:
    return join_order(plan) if is_on(surroundings.configuration, JOIN_REORDER) else plan


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
    _of_plan(attached_windows),
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
            check_rule(rule.__name__.lstrip("_"), before, plan)
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
