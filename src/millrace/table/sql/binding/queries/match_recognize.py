"""MATCH_RECOGNIZE in FROM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from millrace.relational.matching import Navigation, Pattern, variables_of
from millrace.relational.nodes import PROCTIME, ROWTIME, Field, Match, Rel, Schema
from millrace.relational.nodes.matches import ALL_ROWS, SHOW_EMPTY, WITH_UNMATCHED
from millrace.relational.rex import Ref, Rex, SortKey, walk
from millrace.relational.types import LocalZonedTimestampType, TimestampType
from millrace.runtime.cep.pattern_program import compile_pattern
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.intervals import milliseconds
from millrace.table.sql.binding.problems import fail
from millrace.table.sql.binding.queries.aggregates import sort_key
from millrace.table.sql.binding.queries.match_expressions import MatchNames, is_time
from millrace.table.sql.binding.queries.match_patterns import beyond_flink, bound_pattern
from millrace.table.sql.binding.relations.from_clause import From, Source, aliased, bind_relation, binds_relation
from millrace.table.sql.binding.scopes import Scope, scope_of
from millrace.table.sql.text.errors import did_you_mean


@binds_relation(nodes.MatchRecognize)
def _match_recognize(tree: nodes.MatchRecognize, at: From) -> Source:
    source = bind_relation(tree.this, at)
    plan = bound_match(tree, source, at)
    return aliased(tree, Source(plan, scope_of(None, plan.schema)))


def bound_match(tree: nodes.MatchRecognize, source: Source, at: From) -> Match:
    """The plan of a clause over its input.

    :raises SqlValidationError: a part of it is wrong.
    """
    block = at.block(source.scope, "MATCH_RECOGNIZE")
    partition = _partition(tree, block)
    order = _order(tree, block)
    pattern = bound_pattern(tree.pattern)
    with_ways(tree, pattern)
    variables = variables_of(pattern)
    subsets = _subsets(tree, variables)
    names = MatchNames(
        block,
        # As in Flink a variable may be defined that the pattern does not have: it has no rows.
        tuple(dict.fromkeys([*variables, *(each.alias.name for each in tree.define)])),
        tuple(name for name, _ in subsets),
        _time(order),
        tree.rows == ALL_ROWS,
    )
    defines = _defines(tree, names, variables)
    if not tree.measures:
        fail(tree, "MATCH_RECOGNIZE needs MEASURES: the columns that a match gives")
    measures = [names.measure(each.this) for each in tree.measures]
    beyond = [*beyond_flink(tree.pattern, pattern), *names.beyond]
    if tree.rows == ALL_ROWS:
        beyond.append(ALL_ROWS)
    target = _target(tree, dict(subsets), variables, beyond)
    standard = bool(beyond) or at.environment.resolver.matches_as_standard
    node = Match(
        source.plan,
        partition,
        order,
        pattern,
        defines,
        tuple(measures),
        (),
        rows=tree.rows,
        empty=tree.empty or SHOW_EMPTY,
        skip=tree.after.mode if tree.after is not None else "PAST LAST ROW" if standard else "TO NEXT ROW",
        target=target,
        within=_within(tree, at),
        subsets=subsets,
        anchors=tree.anchors,
        standard=standard,
    )
    return _with_columns(node, [each.alias.name for each in tree.measures], tree)


def with_ways(tree: nodes.MatchRecognize, pattern: Pattern) -> None:
    """Refuse a pattern that is too large to be looked for."""
    try:
        compile_pattern(pattern)
    except ValueError as error:
        fail(tree.pattern, str(error))


def _partition(tree: nodes.MatchRecognize, block: Block) -> tuple[int, ...]:
    found = []
    for each in tree.partition_by:
        column = bind(each, block.named("PARTITION BY"))
        if not isinstance(column, Ref):
            fail(each, "PARTITION BY of MATCH_RECOGNIZE takes columns: compute others in a subquery")
        found.append(column.index)
    return tuple(dict.fromkeys(found))


def _order(tree: nodes.MatchRecognize, block: Block) -> tuple[SortKey, ...]:
    if tree.order is None:
        fail(tree, "MATCH_RECOGNIZE needs ORDER BY: You must specify either rowtime or proctime for order by.")
    items = tree.order.expressions
    keys = tuple(sort_key(each, bind(each.this, block.named("ORDER BY"))) for each in items)
    first = keys[0].expression
    if block.environment.resolver.streaming:
        attribute = isinstance(first, Ref) and block.columns[first.index].time is not None
        if not attribute:
            fail(
                items[0],
                "You must specify either rowtime or proctime for order by. The first column of ORDER BY is a time "
                "attribute: one with a WATERMARK, or PROCTIME(), that no computation and no regular join has come "
                "between",
            )
    elif not isinstance(first, Ref) or not isinstance(first.type, (TimestampType, LocalZonedTimestampType)):
        fail(items[0], f"the first column of ORDER BY is a TIMESTAMP or TIMESTAMP_LTZ, and this is {first.type}")
    if keys[0].descending:
        fail(items[0], "Primary sort order of a streaming table must be ascending on time.")
    return keys


def _time(order: tuple[SortKey, ...]) -> Ref:
    first = order[0].expression
    assert isinstance(first, Ref)
    return first


def _subsets(tree: nodes.MatchRecognize, variables: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, tuple[str, ...]] = {}
    for each in tree.subsets:
        name, members = each.alias.name, each.this
        assert isinstance(members, nodes.Tuple)
        if name in variables or name in found:
            fail(each, f"there is '{name}' twice")
        for member in members.expressions:
            if nodes.name_of(member) not in variables:
                fail(member, _no_variable(nodes.name_of(member), variables))
        found[name] = tuple(map(nodes.name_of, members.expressions))
    return tuple(found.items())


def _no_variable(name: str, variables: Iterable[str]) -> str:
    return f"the pattern has no variable '{name}'{did_you_mean(name, list(variables))}"


def _defines(
    tree: nodes.MatchRecognize, names: MatchNames, variables: Sequence[str]
) -> tuple[tuple[str, Rex], ...]:
    found: dict[str, Rex] = {}
    for each in tree.define:
        name = each.alias.name
        if name in found:
            fail(each, f"variable '{name}' is defined twice")
        if name in names.subsets:
            fail(each, f"'{name}' is a subset: its members are defined")
        found[name] = names.condition(name, each.this)
    return tuple((name, condition) for name, condition in found.items() if name in variables)


def _target(
    tree: nodes.MatchRecognize, subsets: dict[str, tuple[str, ...]], variables: Sequence[str], beyond: list[str]
) -> tuple[str, ...]:
    """The variables that AFTER MATCH SKIP names."""
    after = tree.after
    if after is None or after.target is None:
        return ()
    name = after.target.name
    if name in subsets:
        beyond.append("AFTER MATCH SKIP to a subset")
        return subsets[name]
    if name not in variables:
        fail(after, _no_variable(name, [*variables, *subsets]))
    return (name,)


def _within(tree: nodes.MatchRecognize, at: From) -> int | None:
    if tree.within is None:
        return None
    span = milliseconds(tree.within, at.block(Scope(), "WITHIN"))
    if span < 0:
        fail(tree.within, "the interval of WITHIN is not negative")
    return span or None  # as in Flink: an interval of 0 is no limit


# -- the columns of the result ----------------------------------------------------------------------------------------


def _with_columns(node: Match, names: Sequence[str], tree: nodes.MatchRecognize) -> Match:
    source = node.input.schema
    timed = _is_timed(node)
    optional = node.rows == ALL_ROWS and node.empty == WITH_UNMATCHED
    measured = []
    for name, each in zip(names, node.measures):
        kind = each.type.nullable() if optional else each.type
        time = is_time(each)
        measured.append(Field(name, kind, None if time == ROWTIME and not timed else _time_of(time, node, optional)))
    keys = tuple(replace(source[index], time=None) for index in node.partition)
    if node.rows != ALL_ROWS:
        return replace(node, columns=_distinct((*keys, *measured), tree))
    ordered = [key.expression.index for key in node.order if isinstance(key.expression, Ref)]
    ordered = [index for index in dict.fromkeys(ordered) if index not in node.partition]
    rest = [index for index in range(len(source)) if index not in (*node.partition, *ordered)]
    before, after = (_passed(source, each, timed) for each in (ordered, rest))
    columns = _distinct((*keys, *before, *measured, *after), tree)
    return replace(node, columns=columns, passed=(*ordered, *rest), ordered=len(ordered))


def _passed(source: Schema, columns: Sequence[int], timed: bool) -> Schema:
    """Columns of the input that every row of the result has."""
    found = (source[index] for index in columns)
    return tuple(each if each.time == ROWTIME and timed else replace(each, time=None) for each in found)


def _time_of(time: str | None, node: Match, optional: bool) -> str | None:
    """The time attribute that a measure is: of the clock that orders the rows, and of every row."""
    source = node.input.schema[_time(node.order).index]
    if optional or (time == ROWTIME and source.time == PROCTIME):
        return None
    return time


def _is_timed(node: Match) -> bool:
    """Whether it is known how long a match may remain open: rows that follow no clock have no time attribute."""
    if not node.standard:
        return True
    parts = (part for each in (*node.measures, *(condition for _, condition in node.defines)) for part in walk(each))
    ahead = any(isinstance(part, Navigation) and part.shift > 0 for part in parts)
    return node.within is not None and "$" not in node.anchors and not ahead


def _distinct(columns: Schema, tree: nodes.MatchRecognize) -> Schema:
    names = [each.name for each in columns]
    for measure in tree.measures:
        if names.count(measure.alias.name) > 1:
            fail(measure, f"the result has a column '{measure.alias.name}' already")
    return columns


def rel_of(plan: Rel, tree: nodes.MatchRecognize, at: From) -> Match:
    """The plan of a clause over a plan, as the Table API has it."""
    return bound_match(tree, Source(plan, scope_of(None, plan.schema)), at)
