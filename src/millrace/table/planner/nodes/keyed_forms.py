"""Streaming forms of nodes that hold rows by key: windows, GROUP BY, OVER, Top-N, MATCH_RECOGNIZE and the joins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import Literal, Ref, Rex, SortKey
from millrace.relational.types import LocalZonedTimestampType
from millrace.runtime.exchange.partitioners import Partitioner
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.aggregates.local_aggregate import LocalAggregate, supports_two_phases
from millrace.runtime.tables.aggregates.split_distinct import (
    BucketColumn,
    DistinctAggregate,
    shared_values,
    without_distinct,
)
from millrace.runtime.tables.aggregates.table_aggregate import TableAggregate
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.joins.interval_join import IntervalJoin
from millrace.runtime.tables.joins.join_config import JoinConfig
from millrace.runtime.tables.joins.lookup_join import LookupJoin
from millrace.runtime.tables.joins.lookups import LookupConfig, hint_of
from millrace.runtime.tables.joins.regular_join import RegularJoin
from millrace.runtime.tables.joins.remembering_lookup_join import RememberingLookupJoin
from millrace.runtime.tables.joins.temporal_config import TemporalJoin
from millrace.runtime.tables.matching.description import Matching
from millrace.runtime.tables.matching.match import Match
from millrace.runtime.tables.ordering.before_exchange import BestOfBatch, first_of_batch
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import Rank
from millrace.runtime.tables.over.over import Over
from millrace.runtime.tables.over.over_calls import looks_ahead
from millrace.runtime.tables.over.updating_over import UpdatingOver
from millrace.runtime.tables.windows.count_windows import ROWS
from millrace.runtime.tables.windows.local_window_aggregate import LocalWindowAggregate
from millrace.runtime.tables.windows.session_table import SessionTable
from millrace.runtime.tables.windows.window_config import WindowAggregate
from millrace.runtime.tables.windows.window_join import WindowJoin
from millrace.runtime.tables.windows.window_rank import WindowDeduplicate, WindowRank
from millrace.runtime.tables.windows.window_table import WindowTable
from millrace.table.planner.plan import (
    RESOLVE,
    STRATEGY,
    Changes,
    Key,
    Plan,
    Planned,
    add_changing,
    append,
    by,
    hinted_ttl,
    same,
    streaming_form,
    without_keys,
)
from millrace.table.planner.upserts import same_each_time

# The order of rows in OVER


def is_settled(node: n.Over, append_only: bool) -> bool:
    """Whether no later row can change the result of a row.

    :param append_only: whether the input has insertions only.
    :raises NotImplementedError: the order is that of processing time, which rows that change do not have.
    """
    first = node.order[0] if node.order else None
    column = first.expression if first is not None else None
    time = node.input.schema[column.index].time if isinstance(column, Ref) else None
    settled = append_only and len(node.order) == 1 and not any(looks_ahead(call, frame) for call, frame in node.calls)
    if time is not None and settled and first is not None and not first.descending:
        return True
    if time == n.PROCTIME:
        raise NotImplementedError(
            "an OVER window ordered by PROCTIME() has insertions below it, no other order and no rows that FOLLOW: "
            "order by a column of the table"
        )
    return False


# Versioned tables


def versions(node: n.Rel) -> n.Rel:
    """The plan of the right side of a temporal join, so that it gives every version."""
    if isinstance(node, n.Scan):
        return replace(node, versions=True)
    if isinstance(node, (n.Project, n.Watermark, n.Filter, n.Hinted)):
        return node.with_inputs((versions(node.input),))
    return _every_row(node) if isinstance(node, n.Deduplicate) else node


def _every_row(node: n.Deduplicate) -> n.Rel:
    """The last row of each key by event time: every row is one for a while, until the next one's time."""
    if not node.last or node.window is not None or node.input.schema[node.time].time != n.ROWTIME:
        return node
    columns: list[Rex] = [Ref(column.type, index) for index, column in enumerate(node.input.schema)]
    if node.number is not None:
        columns.append(Literal(node.number.type, 1))
    return n.Project(node.input, tuple(columns), node.schema)


# Windows


def _changes_of_window_aggregate(node: n.WindowAggregate, inputs: list[Changes]) -> Changes:
    first = len(node.keys) + len(node.aggregates)
    window = [first + place for place, name in enumerate(node.properties) if name in ("START", "END")]
    keys = frozenset({(*range(len(node.keys)), *window)}) if window and node.sets is None else frozenset()
    if node.emission is None:
        return Changes(keys=keys)
    return Changes(True, not inputs[0].append_only, keys, f"a group window with {node.emission.text}")


@streaming_form(n.WindowTable, changes=without_keys)
def window_table(plan: Plan, node: n.WindowTable, before: bool) -> Planned:
    column = node.input.schema[node.time]
    timed = {
        "window": node.window,
        "time": None if column.time == n.PROCTIME else node.time,
        "zoned": isinstance(column.type, LocalZonedTimestampType),
        **plan.options.common,
    }
    below = plan.add(node.input, before)
    name = f"WindowTableFunction({node.window.kind})"
    if node.window.kind != "SESSION":
        return plan.step(name, WindowTable(**timed), [(below, None)], node.schema, plan.changes(node))
    types = tuple(field.type for field in node.input.schema)
    sessions = SessionTable(partition=node.partition, types=types, **timed)
    return plan.step(name, sessions, [(below, by(node.partition))], node.schema, plan.changes(node))


@streaming_form(n.WindowAggregate, changes=_changes_of_window_aggregate)
def window_aggregate(plan: Plan, node: n.WindowAggregate, before: bool) -> Planned:
    column = time_attribute(node.input) if node.attached is not None else node.input.schema[node.time]
    below = plan.add(node.input) if node.window.kind != ROWS else plan.add_insertions(node.input, "a window of rows")
    config = WindowAggregate(
        window=node.window,
        time=None if column.time == n.PROCTIME else node.time,
        zoned=isinstance(column.type, LocalZonedTimestampType),
        keys=node.keys,
        key_types=tuple(node.input.schema[key].type for key in node.keys),
        calls=node.aggregates,
        properties=node.properties,
        retracts=below.retracts,
        attached=node.attached,
        emission=node.emission,
        before=before,
        **plan.options.common,
    )
    name = f"WindowAggregate({node.window.kind})"
    if node.emission is None and plan.options.two_phase and _has_two_phases(node, config):
        return _two_phases(plan, node, below, config, name)
    # Rows that are in a window already are partitioned by it, too: more tasks have work.
    keys = (*node.keys, *(node.attached or ()))
    return plan.step(name, config, [(below, by(keys))], node.schema, plan.changes(node))


def _has_two_phases(node: n.WindowAggregate, config: WindowAggregate) -> bool:
    """Whether windows of event time can be put together from parts, which are the same for all keys."""
    window = node.window
    # Of windows with gaps between them some slices belong to none.
    slices = window.kind != "SESSION" and (window.slide or window.size) <= window.size
    insertions = config.time is not None and not config.retracts
    return (slices or node.attached is not None) and insertions and supports_two_phases(node.aggregates, False)


def _two_phases(plan: Plan, node: n.WindowAggregate, below: Planned, config: WindowAggregate, name: str) -> Planned:
    local = LocalWindowAggregate(
        window=config.window,
        time=config.time,
        zoned=config.zoned,
        keys=config.keys,
        calls=config.calls,
        attached=config.attached,
        **plan.options.common,
    )
    partial = plan.step(f"Local{name}", local, [(below, None)], (), below.changes)
    width = len(config.keys)
    attached = None if config.attached is None else (width, width + 1)
    merged = replace(config, keys=tuple(range(width)), attached=attached, partial=True)
    keys = by((*merged.keys, *(attached or ())))
    return plan.step(f"Global{name}", merged, [(partial, keys)], node.schema, plan.changes(node))


def is_zoned(node: n.Rel) -> bool:
    """Whether the windows below a node are those of a TIMESTAMP_LTZ."""
    return isinstance(time_attribute(node).type, LocalZonedTimestampType)


def time_attribute(node: n.Rel) -> n.Field:
    """The time attribute that the windows below a node are windows of."""
    for each in n.walk(node):
        if isinstance(each, n.WindowTable) or (isinstance(each, n.WindowAggregate) and each.attached is None):
            return each.input.schema[each.time]
    raise ValueError("windows that come from no TUMBLE, HOP, CUMULATE or SESSION")


# GROUP BY


def _changes_of_aggregate(node: n.Aggregate, inputs: list[Changes]) -> Changes:
    keys = frozenset() if node.sets is not None else frozenset({tuple(range(len(node.keys)))})
    if not node.aggregates and inputs[0].append_only:
        return Changes(keys=keys)  # DISTINCT of insertions
    cause = inputs[0].cause or "a GROUP BY without window"
    # A group is deleted when its last row is, or when that row is updated and belongs to another group now.
    return Changes(True, not inputs[0].append_only, keys, cause)


def _changes_of_table_aggregate(node: n.TableAggregate, inputs: list[Changes]) -> Changes:
    return Changes(False, True, cause=inputs[0].cause or "a table aggregate, whose rows are taken back")


@streaming_form(n.Aggregate, changes=_changes_of_aggregate)
def aggregate(plan: Plan, node: n.Aggregate, before: bool) -> Planned:
    assert node.sets is None, "grouping sets are expanded before"
    below = plan.add(node.input)
    types = tuple(node.input.schema[key].type for key in node.keys)
    whole = GroupAggregate(
        keys=node.keys,
        key_types=types,
        calls=node.aggregates,
        retracts=below.retracts,
        before=before,
        **plan.options.common,
    )
    hinted = hinted_ttl(node.input)
    if hinted is not None:
        whole = replace(whole, state_ttl=hinted)
    changes = plan.changes(node)
    names = ", ".join([*(node.schema[place].name for place in range(len(node.keys)))]) or "all rows"
    values = shared_values(node.aggregates, below.retracts) if plan.options.split_distinct else None
    if values is not None:
        return _split(plan, node, below, whole, values)
    if not plan.options.two_phase or not supports_two_phases(node.aggregates, below.retracts):
        inputs = [(below, by(node.keys))]
        return plan.step(f"GroupAggregate({names})", whole, inputs, node.schema, changes)
    local = LocalAggregate(keys=node.keys, calls=node.aggregates, retracts=below.retracts, **plan.options.common)
    partial = plan.step(f"LocalGroupAggregate({names})", local, [(below, None)], (), below.changes)
    merged = replace(whole, partial=True)
    inputs = [(partial, by(range(len(node.keys))))]
    return plan.step(f"GlobalGroupAggregate({names})", merged, inputs, node.schema, changes)


def _split(plan: Plan, node: n.Aggregate, below: Planned, whole: GroupAggregate, values: tuple[Rex, ...]) -> Planned:
    """The values of DISTINCT are spread over all tasks."""
    common = plan.options.common
    buckets = plan.step("DistinctBuckets", BucketColumn(values=values, **common), [(below, None)], (), below.changes)
    bucket = len(node.input.schema)
    first = DistinctAggregate(
        keys=node.keys,
        key_types=whole.key_types,
        bucket=bucket,
        calls=node.aggregates,
        retracts=below.retracts,
        **common,
    )
    spread = [(buckets, by((*node.keys, bucket)))]
    partial = plan.step("PartialDistinctAggregate", first, spread, (), below.changes)
    merged = replace(whole, calls=without_distinct(node.aggregates), partial=True)
    inputs = [(partial, by(range(len(node.keys))))]
    return plan.step("GlobalDistinctAggregate", merged, inputs, node.schema, plan.changes(node))


@streaming_form(n.TableAggregate, changes=_changes_of_table_aggregate)
def table_aggregate(plan: Plan, node: n.TableAggregate, before: bool) -> Planned:
    below = plan.add(node.input)
    config = TableAggregate(
        keys=node.keys,
        key_types=tuple(node.input.schema[key].type for key in node.keys),
        call=node.call,
        types=tuple(field.type for field in node.schema[len(node.keys) :]),
        **plan.options.common,
    )
    return plan.step("GroupTableAggregate", config, [(below, by(node.keys))], node.schema, plan.changes(node))


# OVER


def _changes_of_over(node: n.Over, inputs: list[Changes]) -> Changes:
    below = inputs[0]
    if is_settled(node, below.append_only):
        return Changes(keys=below.keys)
    cause = below.cause or "an OVER window whose results change with later rows"
    return Changes(True, not below.append_only, below.keys, cause)


@streaming_form(n.Over, changes=_changes_of_over)
def over(plan: Plan, node: n.Over, before: bool) -> Planned:
    for call, _ in node.calls:
        if call.function in ("LAG", "LEAD") and any(not isinstance(arg, Literal) for arg in call.args[1:]):
            raise NotImplementedError(
                f"the offset and the default of {call.function} must be constants in streaming mode, where rows are "
                f"kept only as long as one may be looked for: write numbers, or run the query in batch mode"
            )
    below = plan.add(node.input)
    described = {
        "input": node.input.schema,
        "partition": node.partition,
        "order": node.order,
        "calls": node.calls,
        **plan.options.common,
    }
    config: TableConfig = UpdatingOver(**described, before=before)
    name = "UpdatingOverAggregate"
    if is_settled(node, below.changes.append_only):
        time = node.order[0].expression
        event_time = node.input.schema[time.index].time == n.ROWTIME  # type: ignore[attr-defined]
        config, name = Over(**described, event_time=event_time), "OverAggregate"
    return plan.step(name, config, [(below, by(node.partition))], node.schema, plan.changes(node))


# Top-N and deduplication


def _changes_of_rank(node: n.Rank, inputs: list[Changes]) -> Changes:
    keys = set(inputs[0].keys)
    if node.number is not None and node.function == "ROW_NUMBER":
        keys.add((*node.partition, len(node.input.schema)))
    if node.last == 1 and node.first == 1 and node.function == "ROW_NUMBER":
        keys.add(node.partition)
    if node.window is not None:
        return Changes(keys=frozenset(keys))
    return Changes(True, True, frozenset(keys), inputs[0].cause or "a Top-N")


def _changes_of_deduplicate(node: n.Deduplicate, inputs: list[Changes]) -> Changes:
    keys = frozenset({node.keys})
    if node.window is not None:
        return Changes(keys=keys)
    proctime_first = not node.last and node.input.schema[node.time].time == n.PROCTIME
    if proctime_first and inputs[0].append_only:
        return Changes(keys=keys)
    cause = inputs[0].cause or "a deduplication that may find a better row"
    return Changes(True, not inputs[0].append_only, keys, cause)


@streaming_form(n.Rank, changes=_changes_of_rank)
def rank(plan: Plan, node: n.Rank, before: bool) -> Planned:
    if node.window is not None:
        return _window_rank(plan, node)
    below, unique = add_changing(plan, node.input, node.partition)
    config = Rank(
        function=node.function,
        partition=node.partition,
        order=node.order,
        types=tuple(column.type for column in node.input.schema),
        first=node.first,
        last=node.last,
        number=node.number is not None,
        retracts=below.retracts,
        unique=unique,
        compared=same_each_time(node.input) if below.retracts else None,
        before=before,
        timely=plan.is_timed(node),
        **plan.options.common,
    )
    thinning = None
    if plan.changes(node.input).append_only:
        thinning = first_of_batch(node.partition, node.order, node.function, node.last)
    return plan.step("Rank", config, [(below, by(node.partition, thinning))], node.schema, plan.changes(node))


def _window_rank(plan: Plan, node: n.Rank) -> Planned:
    assert node.window is not None
    config = WindowRank(
        function=node.function,
        partition=node.partition,
        order=node.order,
        types=tuple(column.type for column in node.input.schema),
        first=node.first,
        last=node.last,
        number=node.number is not None,
        window_end=node.window[1],
        zoned=is_zoned(node),
        **plan.options.common,
    )
    below = plan.add_insertions(node.input, "the first rows of a window")
    return plan.step("WindowRank", config, [(below, by(node.partition))], node.schema, plan.changes(node))


@streaming_form(n.Deduplicate, changes=_changes_of_deduplicate)
def deduplicate(plan: Plan, node: n.Deduplicate, before: bool) -> Planned:
    if node.window is not None:
        return _window_deduplicate(plan, node)
    arrival = node.input.schema[node.time].time == n.PROCTIME
    if not arrival and not plan.changes(node.input).append_only:
        return _best_of_changes(plan, node, before)
    below = plan.add_insertions(node.input, "a deduplication in the order of arrival")
    config = Deduplicate(
        keys=node.keys,
        types=tuple(column.type for column in node.input.schema),
        last=node.last,
        time=None if arrival else node.time,
        number=node.number is not None,
        before=before,
        timely=plan.is_timed(node),
        **plan.options.common,
    )
    exchange = by(node.keys, BestOfBatch(node.keys, node.last, config.time))
    return plan.step("Deduplicate", config, [(below, exchange)], node.schema, plan.changes(node))


def _best_of_changes(plan: Plan, node: n.Deduplicate, before: bool) -> Planned:
    """The first or last row of each key, if rows of the input may be retracted: a Top-1 that stores all rows of a
    key, since the next best row takes the place of a retracted one."""
    time = Ref(node.input.schema[node.time].type, node.time)
    config = Rank(
        partition=node.keys,
        order=(SortKey(time, node.last, nulls_first=not node.last),),
        types=tuple(column.type for column in node.input.schema),
        first=1,
        last=1,
        number=node.number is not None,
        retracts=True,
        before=before,
        **plan.options.common,
    )
    below = plan.add(node.input)
    return plan.step("Rank", config, [(below, by(node.keys))], node.schema, plan.changes(node))


def _window_deduplicate(plan: Plan, node: n.Deduplicate) -> Planned:
    assert node.window is not None
    config = WindowDeduplicate(
        keys=node.keys,
        types=tuple(column.type for column in node.input.schema),
        last=node.last,
        time=node.time,
        window_end=node.window[1],
        zoned=is_zoned(node),
        number=node.number is not None,
        **plan.options.common,
    )
    below = plan.add_insertions(node.input, "the deduplication of a window")
    return plan.step("WindowDeduplicate", config, [(below, by(node.keys))], node.schema, plan.changes(node))


# MATCH_RECOGNIZE


@streaming_form(n.Match, changes=append)
def match(plan: Plan, node: n.Match, before: bool) -> Planned:
    below = plan.add_insertions(node.input, "MATCH_RECOGNIZE")
    matching = Matching(node.input.schema, replace(node, input=NOTHING))
    event_time = node.input.schema[matching.time].time == n.ROWTIME
    config = Match(matching=matching, event_time=event_time, **plan.options.common)
    return plan.step("Match", config, [(below, by(node.partition))], node.schema, plan.changes(node))


NOTHING = n.Values((), ())
"""An empty input: the operator's ``Match`` node needs no plan below it."""


# Lookup joins


@streaming_form(n.LookupJoin, changes=without_keys)
def lookup_join(plan: Plan, node: n.LookupJoin, before: bool) -> Planned:
    hint = dict(node.options)
    what: dict[str, Any] = {
        "input": node.input.schema,
        "external": LookupConfig.of(node.source, hint, len(node.table)),
        "table": node.table,
        "kind": node.kind,
        "lookup": node.lookup,
        "condition": node.condition,
        **plan.options.common,
    }
    name, below = ".".join(node.path), plan.add(node.input)
    if below.retracts and _resolves(plan):
        keys = min(plan.changes(node.input).keys, key=lambda key: (len(key), key), default=_all(node.input))
        config: LookupJoin = RememberingLookupJoin(keys=keys, **what)
        return plan.step(f"RememberingLookupJoin({name})", config, [(below, by(keys))], node.schema, plan.changes(node))
    exchange = _shuffle(node) if hint_of(node.source, hint).shuffle and not below.retracts else None
    return plan.step(f"LookupJoin({name})", LookupJoin(**what), [(below, exchange)], node.schema, plan.changes(node))


def _all(node: n.Rel) -> tuple[int, ...]:
    return tuple(range(len(node.schema)))


def _shuffle(node: n.LookupJoin) -> Partitioner | None:
    """Rows with equal keys in one subtask. Changes of a row might overtake each other that way: only insertions."""
    columns = [key.index for _, key in node.lookup if isinstance(key, Ref)]
    return by(columns) if columns else None


def _resolves(plan: Plan) -> bool:
    return plan.options.environment.configuration.get(STRATEGY, "").upper() == RESOLVE


# Joins of two streams


def _changes_of_join(node: n.Join, inputs: list[Changes]) -> Changes:
    left, right = inputs
    keys = _join_keys(node, left, right)
    optional = node.kind not in ("INNER", "SEMI")
    if left.append_only and right.append_only and not optional:
        return Changes(keys=keys)
    cause = left.cause or right.cause or f"a {node.kind} join, whose rows with NULLs are taken back"
    return Changes(left.updates or right.updates, True, keys, cause)


def _join_keys(node: Any, left: Changes, right: Changes) -> frozenset[Key]:
    if node.kind in ("SEMI", "ANTI"):
        return left.keys
    width = len(node.left.schema)
    return frozenset((*a, *(each + width for each in b)) for a in left.keys for b in right.keys)


def _changes_of_timed_join(node: Any, inputs: list[Changes]) -> Changes:
    # Keys that stay keys: those of a semi or anti join's left side.
    return Changes(keys=inputs[0].keys if node.kind in ("SEMI", "ANTI") else frozenset())


@streaming_form(n.Join, changes=_changes_of_join)
def regular_join(plan: Plan, node: n.Join, before: bool) -> Planned:
    left, right = plan.add(node.left), plan.add(node.right)
    config = RegularJoin(
        **_common(plan, node),
        null_aware=node.null_aware,
        left_unique=_unique(left.changes),
        right_unique=_unique(right.changes),
        left_append_only=left.changes.append_only,
        right_append_only=right.changes.append_only,
        left_ttl=hinted_ttl(node.left),
        right_ttl=hinted_ttl(node.right),
    )
    # NULLs of a NOT IN meet all keys.
    return _joined(plan, "Join", node, config, left, right, partitioned=not node.null_aware)


@streaming_form(n.WindowJoin, changes=_changes_of_timed_join)
def window_join(plan: Plan, node: n.WindowJoin, before: bool) -> Planned:
    config = WindowJoin(
        **_common(plan, node),
        left_window=node.left_window,
        right_window=node.right_window,
        zone=plan.options.environment.zone if is_zoned(node.left) else None,
    )
    left, right = (plan.add_insertions(each, "a window join") for each in node.inputs)
    return _joined(plan, "WindowJoin", node, config, left, right)


@streaming_form(n.IntervalJoin, changes=_changes_of_timed_join)
def interval_join(plan: Plan, node: n.IntervalJoin, before: bool) -> Planned:
    config = IntervalJoin(
        **_common(plan, node),
        left_time=node.left_time,
        right_time=node.right_time,
        lower=node.lower,
        upper=node.upper,
        event_time=node.left.schema[node.left_time].time != n.PROCTIME,
    )
    left, right = (plan.add_insertions(each, "an interval join") for each in node.inputs)
    return _joined(plan, "IntervalJoin", node, config, left, right)


@streaming_form(n.TemporalJoin, changes=same)
def temporal_join(plan: Plan, node: n.TemporalJoin, before: bool) -> Planned:
    config = TemporalJoin(
        **_common(plan, node), left_time=node.left_time, right_time=node.right_time, right_key=node.right_key
    )
    right = node.right if node.right_time is None else versions(node.right)
    return _joined(plan, "TemporalJoin", node, config, plan.add(node.left), plan.add(right))


def _common(plan: Plan, node: Any) -> dict[str, Any]:
    return {
        **plan.options.common,
        "kind": node.kind,
        "left": node.left.schema,
        "right": node.right.schema,
        "condition": node.condition,
    }


def _joined(
    plan: Plan, name: str, node: Any, config: JoinConfig, left: Planned, right: Planned, partitioned: bool = True
) -> Planned:
    equal = config.equal
    exchanges = (by(equal.left), by(equal.right)) if partitioned else (by(()), by(()))
    inputs = [(left, exchanges[0]), (right, exchanges[1])]
    return plan.step(f"{name}({node.kind})", config, inputs, node.schema, plan.changes(node))


def _unique(changes: Changes) -> tuple[int, ...] | None:
    """The shortest set of columns that identifies a row."""
    return min(changes.keys, key=len, default=None)
