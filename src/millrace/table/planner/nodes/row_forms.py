"""Streaming forms of nodes that need no key: sources and sinks, steps from one row to the next, set operations,
ORDER BY, LIMIT, TO_CHANGELOG and FROM_CHANGELOG."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import RowKind
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.generated_sources import CollectionSource
from millrace.graph.program import Edge
from millrace.relational import nodes as n
from millrace.relational.rex import Ref, Rex, substitute
from millrace.relational.rows import Rows, record_batch
from millrace.relational.rules.filters_and_projections import is_all_of, is_deterministic, is_expensive, may_merge
from millrace.relational.sources import TableSink, goes_by_key
from millrace.relational.types import RowType
from millrace.relational.values import to_arrow
from millrace.runtime.exchange.partitioners import Partitioner
from millrace.runtime.operators import specs
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.calc import Calc
from millrace.runtime.tables.changelog import ChangelogNormalize
from millrace.runtime.tables.changelog_codes import CodesToKinds, KindsToCodes
from millrace.runtime.tables.constraints import EnforceConstraints
from millrace.runtime.tables.expand import Expand
from millrace.runtime.tables.joins.correlate import Correlate
from millrace.runtime.tables.ordering.bounded_sort import BoundedSort
from millrace.runtime.tables.ordering.limit import Limit
from millrace.runtime.tables.ordering.rank import Rank
from millrace.runtime.tables.ordering.temporal_sort import TemporalSort
from millrace.runtime.tables.set_operations import SetOperation
from millrace.runtime.tables.stream_rows import FromElements
from millrace.runtime.tables.watermark import LeaveOutNoTimes, RowsWatermarks, WatermarkAssigner
from millrace.table.planner.plan import (
    ChangelogError,
    Changes,
    Key,
    Plan,
    Planned,
    add_changing,
    append,
    by,
    moved,
    same,
    streaming_form,
    without_keys,
)
from millrace.table.planner.upserts import check_conflicts, may_conflict, needs_materializer, one_row, upserts
from millrace.table.values.data_types import data_type_of_info

# Watermarks made inside a source


def push_watermark(plan: Plan, node: n.Watermark) -> bool:
    """Let the source of a watermark make it; False: the watermark stays an operator of its own.

    It does if the source makes no watermarks for its splits, if other nodes read the same scan without a watermark or
    with another one, and if a row's time depends on functions of the user or on the current time.
    """
    found = _watermark_of_scan(plan, node)
    if found is None:
        return False
    scan, strategy = found
    plan.strategies[scan] = strategy
    return True


def _watermark_of_scan(plan: Plan, node: n.Watermark) -> tuple[n.Scan, WatermarkStrategy] | None:
    found = _scan_below(node)
    if found is None:
        return None
    below, time, expression = found
    made = getattr(below.source, "watermarks", None)
    if made is None or any(is_expensive(each) or not is_deterministic(each) for each in (time, expression)):
        return None
    if not _agree(plan, below, (time, expression)):
        return None
    idle = plan.options.idle_timeout if made.idle_timeout is None else made.idle_timeout
    generator = RowsWatermarks(time, expression, plan.options.environment, tuple(below.names), node.leaves_out)
    strategy = WatermarkStrategy(generator, idle_timeout_ms=idle or None, alignment=made.alignment)
    return below, replace(strategy, max_jump_ms=node.max_jump)


def _scan_below(node: n.Watermark) -> tuple[n.Scan, Rex, Rex] | None:
    """The scan, and the time and the watermark of its rows."""
    below: n.Rel = node.input
    time: Rex = Ref(below.schema[node.column].type, node.column)
    expression = node.expression
    while isinstance(below, (n.Project, n.Hinted)):
        if isinstance(below, n.Project):
            time, expression = (substitute(each, below.expressions) for each in (time, expression))
        below = below.input
    return (below, time, expression) if isinstance(below, n.Scan) else None


def _agree(plan: Plan, scan: n.Scan, wanted: tuple[Rex, Rex]) -> bool:
    """Whether all nodes that read a scan want this watermark."""
    waiting: list[n.Rel] = [scan]
    while waiting:
        for reader in plan.readers.get(waiting.pop(), []):
            if isinstance(reader, n.Watermark):
                found = _scan_below(reader)
                if found is None or found[1:] != wanted:
                    return False
            elif isinstance(reader, (n.Project, n.Hinted)):
                waiting.append(reader)
            else:
                return False
    return True


# Where rows come from

_ROWS_A_BATCH = 8_192


def _changes_of_scan(node: n.Scan, inputs: list[Changes]) -> Changes:
    kinds = getattr(node.source, "kinds", frozenset({RowKind.INSERT}))
    primary = getattr(node.source, "primary_key", ())
    columns = node.projected if node.projected is not None else range(len(node.columns))
    place = {column: index for index, column in enumerate(columns)}
    keys = {tuple(place[each] for each in primary)} if primary and all(each in place for each in primary) else set()
    updates = RowKind.UPDATE_AFTER in kinds
    deletes = RowKind.DELETE in kinds
    cause = f"table {'.'.join(node.path)}" if updates or deletes else ""
    return Changes(updates, deletes, frozenset(keys), cause)


def _changes_of_stream_scan(node: n.StreamScan, inputs: list[Changes]) -> Changes:
    kinds = frozenset({RowKind.INSERT}) if node.changelog is None else node.changelog.kinds
    updates, deletes = RowKind.UPDATE_AFTER in kinds, RowKind.DELETE in kinds
    keys = frozenset({node.key}) if node.key else frozenset()
    return Changes(updates, deletes, keys, "a DataStream with changes" if updates or deletes else "")


@streaming_form(n.Scan, changes=_changes_of_scan)
def scan(plan: Plan, node: n.Scan, before: bool) -> Planned:
    columns = node.projected if node.projected is not None else tuple(range(len(node.columns)))
    read = plan.source(f"TableSourceScan({'.'.join(node.path)})", node.source.stream(columns, node.filters), node)
    if not goes_by_key(node.source):
        return read
    changes = plan.changes(node)
    if not changes.keys:
        raise ValueError(
            f"table {'.'.join(node.path)} gives rows by their key without the old ones: declare its PRIMARY KEY"
        )
    (key,) = changes.keys
    repeated = not before and node in plan.of_sinks and node.source.repeats_deletions
    return _normalised(plan, read, key, before, node.versions, repeated)


def _normalised(
    plan: Plan, read: Planned, key: tuple[int, ...], before: bool, every: bool, repeated: bool = False
) -> Planned:
    """Upserts with the former content of rows.

    :param every: whether rows that did not change are passed on as well.
    :param repeated: as of ``ChangelogNormalize``.
    """
    types = tuple(column.type for column in read.schema)
    config = ChangelogNormalize(
        keys=key, types=types, before=before, every=every, repeated=repeated, **plan.options.common
    )
    return plan.step("ChangelogNormalize", config, [(read, by(key))], read.schema, read.changes)


@streaming_form(n.StreamScan, changes=_changes_of_stream_scan)
def stream_scan(plan: Plan, node: n.StreamScan, before: bool) -> Planned:
    fields = node.columns[:-1]
    fieldless = not isinstance(data_type_of_info(node.stream.get_type()), RowType)
    config = FromElements(
        columns=tuple(fields),
        single=fieldless,
        changelog=node.changelog is not None,
        timestamps=True,
        **plan.options.common,
    )
    edges = node.stream._edges()
    stream = Planned(tuple(edge.source for edge in edges), node.schema, plan.changes(node))
    width = plan.width([(stream, None)]) if stream.retracts else {}
    added = plan.program.add("DataStreamScan", specs.TableStep(config), edges, **width)
    read = Planned((added.id,), node.schema, stream.changes)
    return _normalised(plan, read, node.key, before, False) if node.key else read


@streaming_form(n.Values, changes=append)
def values(plan: Plan, node: n.Values, before: bool) -> Planned:
    batches = [_batch(node, start) for start in range(0, len(node.rows), _ROWS_A_BATCH)]
    return plan.source("Values", CollectionSource(batches), node)


def _batch(node: n.Values, start: int) -> Rows:
    rows = node.rows[start : start + _ROWS_A_BATCH]
    columns = [to_arrow([row[place] for row in rows], column.type) for place, column in enumerate(node.columns)]
    if not columns:
        return Rows(record_batch([pa.array(np.zeros(len(rows)))], len(rows)))
    return Rows(record_batch(columns, len(rows)))


# One row after the other


def _changes_of_project(node: n.Project, inputs: list[Changes]) -> Changes:
    place: dict[int, int] = {}
    for index, expression in enumerate(node.expressions):
        if isinstance(expression, Ref):
            place.setdefault(expression.index, index)
    return replace(inputs[0], keys=moved(inputs[0].keys, place))


@streaming_form(n.Project, changes=_changes_of_project)
def project(plan: Plan, node: n.Project, before: bool) -> Planned:
    condition: Rex | None
    # One pass for what is so often together.
    if isinstance(node.input, n.Filter):
        below, condition = node.input.input, node.input.condition
    else:
        below, condition = node.input, None
    expressions, condition, lower = _through_watermarks(plan, node.expressions, condition, below)
    # Without its old row an update that no longer passes the filter could not be taken back.
    planned = plan.add(lower, before or condition is not None)
    if lower is not below and condition is None and is_all_of(expressions, lower.schema):
        return replace(planned, schema=node.schema, changes=plan.changes(node))
    return _calc(plan, node, planned, condition, expressions)


def _through_watermarks(
    plan: Plan, expressions: tuple[Rex, ...], condition: Rex | None, below: n.Rel
) -> tuple[tuple[Rex, ...], Rex | None, n.Rel]:
    """Merge a projection with the one below a watermark that the source makes. The watermark stands between two
    projections in the plan, but needs no operator; once merged, a time that only the watermark needs is not computed a
    second time.

    :returns: the expressions and condition over the node below, and that node.
    """
    while isinstance(below, n.Watermark) and not (below.leaves_out or plan.is_shared(below)):
        if not push_watermark(plan, below):
            break
        below = below.input
        if isinstance(below, n.Project) and not plan.is_shared(below):
            over = below.expressions
            if may_merge((*expressions, *([] if condition is None else [condition])), over):
                expressions = tuple(substitute(each, over) for each in expressions)
                condition = None if condition is None else substitute(condition, over)
                below = below.input
    return expressions, condition, below


@streaming_form(n.Filter, changes=same)
def filter(plan: Plan, node: n.Filter, before: bool) -> Planned:
    return _calc(plan, node, plan.add(node.input), node.condition, None)


def _calc(
    plan: Plan, node: n.Rel, below: Planned, condition: Rex | None, expressions: tuple[Rex, ...] | None
) -> Planned:
    parts = [*(expressions or ()), *([] if condition is None else [condition])]
    config = Calc(condition=condition, expressions=expressions, **plan.options.common)
    name = "PythonCalc" if any(map(is_expensive, parts)) else "Calc"
    return plan.step(name, config, [(below, None)], node.schema, plan.changes(node))


@streaming_form(n.Hinted, changes=same)
def hinted(plan: Plan, node: n.Hinted, before: bool) -> Planned:
    return plan.add(node.input, before)


@streaming_form(n.Watermark, changes=same)
def watermark(plan: Plan, node: n.Watermark, before: bool) -> Planned:
    is_pushed = push_watermark(plan, node)
    below = plan.add(node.input, before)
    if node.leaves_out:
        leaving = LeaveOutNoTimes(column=node.column, **plan.options.common)
        below = plan.step("LeaveOutNoTimes", leaving, [(below, None)], node.schema, plan.changes(node))
    if is_pushed:
        return below
    config = WatermarkAssigner(
        column=node.column,
        names=tuple(node.names),
        expression=node.expression,
        idle_timeout=plan.options.idle_timeout,
        max_jump=node.max_jump,
        **plan.options.common,
    )
    return plan.step("WatermarkAssigner", config, [(below, None)], node.schema, plan.changes(node))


@streaming_form(n.Expand, changes=without_keys)
def expand(plan: Plan, node: n.Expand, before: bool) -> Planned:
    config = Expand(projections=node.projections, **plan.options.common)
    return plan.step("Expand", config, [(plan.add(node.input, before), None)], node.schema, plan.changes(node))


@streaming_form(n.Correlate, changes=without_keys)
def correlate(plan: Plan, node: n.Correlate, before: bool) -> Planned:
    config = Correlate(
        input=node.input.schema,
        function=node.function,
        args=node.args,
        produced=node.produced,
        left=node.left,
        condition=node.condition,
        udf=node.udf,
        ordinality=bool(dict(node.options).get("ordinality", False)),
        **plan.options.common,
    )
    below = plan.add(node.input)
    return plan.step(f"Correlate({node.function})", config, [(below, None)], node.schema, plan.changes(node))


# UNION, INTERSECT, EXCEPT


def _changes_of_set_operation(node: n.SetOp, inputs: list[Changes]) -> Changes:
    whole = frozenset({tuple(range(len(node.columns)))})
    cause = next((each.cause for each in inputs if each.cause), "")
    updates, deletes = any(each.updates for each in inputs), any(each.deletes for each in inputs)
    if node.kind == "UNION" and node.all:
        return Changes(updates, deletes, cause=cause)
    if node.kind == "UNION":
        return Changes(False, updates or deletes, whole, cause)
    taken_back = updates or deletes or node.kind == "EXCEPT"
    keys = frozenset() if node.all else whole
    return Changes(False, taken_back, keys, cause or (f"an {node.kind}" if taken_back else ""))


@streaming_form(n.SetOp, changes=_changes_of_set_operation)
def set_operation(plan: Plan, node: n.SetOp, before: bool) -> Planned:
    if node.kind == "UNION" and node.all:
        branches = [plan.add(branch, before) for branch in node.branches]
        ids = tuple(id for branch in branches for id in branch.ids)
        return Planned(ids, node.schema, plan.changes(node))
    if node.kind == "UNION":
        every = replace(node, all=True)
        keys = tuple(range(len(node.columns)))
        return plan.add(n.Aggregate(every, keys, (), node.columns), before)
    config = SetOperation(kind=node.kind, all=node.all, inputs=len(node.branches), **plan.options.common)
    whole = by(range(len(node.columns)))
    inputs = [(plan.add(branch), whole) for branch in node.branches]
    name = f"{node.kind}{' ALL' if node.all else ''}"
    return plan.step(name, config, inputs, node.schema, plan.changes(node))


# ORDER BY and LIMIT


def _changes_of_sort(node: n.Sort, inputs: list[Changes]) -> Changes:
    if not node.keys and inputs[0].append_only and not node.offset:
        return inputs[0]  # the first rows that come
    if node.fetch is None and node.keys and not node.offset:
        return inputs[0]  # at the end of the input, or by time
    return Changes(True, True, inputs[0].keys, inputs[0].cause or "ORDER BY with LIMIT")


@streaming_form(n.Sort, changes=_changes_of_sort)
def sort(plan: Plan, node: n.Sort, before: bool) -> Planned:
    if node.keys and node.fetch is not None:
        below, unique = add_changing(plan, node.input, ())
    else:
        below, unique = plan.add(node.input), None
    name, config = _choice(plan, node, below, unique, before)
    return plan.step(name, config, [(below, by(()))], node.schema, plan.changes(node))


def _choice(plan: Plan, node: n.Sort, below: Planned, unique: Key | None, before: bool) -> tuple[str, TableConfig]:
    common = plan.options.common
    if not node.keys:
        limit = Limit(input=node.schema, offset=node.offset, fetch=node.fetch, updating=below.retracts, **common)
        return "Limit", limit
    time = _time(node)
    order = {"input": node.schema, "keys": node.keys, "offset": node.offset, "fetch": node.fetch, **common}
    if time is not None and not below.retracts:
        return "TemporalSort", TemporalSort(**order, event_time=time == n.ROWTIME)
    if node.fetch is None:
        return "Sort", BoundedSort(**order)
    types = tuple(column.type for column in node.schema)
    first, last = node.offset + 1, node.offset + node.fetch
    rank = Rank(
        partition=(),
        order=node.keys,
        types=types,
        first=first,
        last=last,
        retracts=below.retracts,
        unique=unique,
        before=before,
        **common,
    )
    return "SortLimit", rank


def _time(node: n.Sort) -> str | None:
    first = node.keys[0]
    if first.descending or not isinstance(first.expression, Ref):
        return None
    return node.schema[first.expression.index].time


# TO_CHANGELOG and FROM_CHANGELOG


def _changes_of_from_changelog(node: n.FromChangelog, inputs: list[Changes]) -> Changes:
    kinds = {name for _, name in node.codes}
    updates, deletes = "UPDATE_AFTER" in kinds, "DELETE" in kinds
    keys = frozenset({node.partition}) if node.by_key else frozenset()
    return Changes(updates, deletes, keys, "FROM_CHANGELOG" if updates or deletes else "")


@streaming_form(n.ToChangelog, changes=append)
def to_changelog(plan: Plan, node: n.ToChangelog, before: bool) -> Planned:
    below = plan.add(node.input, "UPDATE_BEFORE" in dict(node.codes))
    config = KindsToCodes(codes=node.codes, **plan.options.common)
    together = by(node.partition) if node.partition else None
    return plan.step("ToChangelog", config, [(below, together)], node.schema, plan.changes(node))


@streaming_form(n.FromChangelog, changes=_changes_of_from_changelog)
def from_changelog(plan: Plan, node: n.FromChangelog, before: bool) -> Planned:
    below = plan.add_insertions(node.input, "FROM_CHANGELOG")
    changes = plan.changes(node)
    config = CodesToKinds(op=node.op, codes=node.codes, skip=node.skip, **plan.options.common)
    read = plan.step("FromChangelog", config, [(below, None)], node.schema, changes)
    if not node.by_key:
        return read
    types = tuple(column.type for column in node.schema)
    normalize = ChangelogNormalize(keys=node.partition, types=types, before=before, **plan.options.common)
    return plan.step("ChangelogNormalize", normalize, [(read, by(node.partition))], node.schema, changes)


# Where rows go


@streaming_form(n.Sink, changes=same)
def sink(plan: Plan, node: n.Sink, before: bool) -> Planned:
    table, changes = ".".join(node.path), plan.changes(node.input)
    if node.overwrite:
        raise NotImplementedError(
            f"table {table} cannot be overwritten in streaming mode: use INSERT INTO or batch mode"
        )
    _check(table, node.sink, changes)
    check_conflicts(plan, node)
    wants_before = RowKind.UPDATE_BEFORE in node.sink.kinds
    key = _primary_key(node)
    if key is not None and may_conflict(plan, node, key) and node.wants_one_row:
        below = one_row(plan, node, key, _enforced(plan, node, plan.add(node.input, True)))
    elif wants_before:
        below = _enforced(plan, node, plan.add(node.input, True))
    else:
        scan = _scan_with_same_values(node.input)
        if scan is not None:
            plan.of_sinks.add(scan)
        below = upserts(plan, node.input, key, lambda rows: _enforced(plan, node, rows))
    spec = specs.Sink(node.sink.stream())
    together = None if key is None or _comes_together(plan, node, key) else by(key)
    if together is None and node.sink.together:
        together = by([node.input.names.index(name) for name in node.sink.together])
    edges = tuple(Edge(id, together) for id in below.ids)
    added = plan.program.add(f"Sink({table})", spec, edges, **_width(plan, node, below, together))
    return Planned((added.id,), node.schema, changes)


def _comes_together(plan: Plan, node: n.Sink, key: Key) -> bool:
    """Whether changes of a row can't overtake each other on their way to the tasks of the sink, though nothing is
    exchanged: one task makes them, and it hands them to one."""
    if plan.changes(node.input).append_only:
        return True
    if node.sink.parallelism is not None:
        return False
    # A materializer has them by the key already.
    return RowKind.UPDATE_BEFORE not in node.sink.kinds or not needs_materializer(plan, node.input, key)


def _scan_with_same_values(node: n.Rel) -> n.Scan | None:
    """The scan whose columns a node's columns are, if it computes none. A deletion may have the values of its key
    alone, so nothing may be computed of its other columns."""
    while isinstance(node, n.Watermark) or (
        isinstance(node, n.Project) and all(isinstance(each, Ref) for each in node.expressions)
    ):
        node = node.input
    return node if isinstance(node, n.Scan) else None


def _width(plan: Plan, node: n.Sink, below: Planned, together: Partitioner | None) -> dict[str, Any]:
    """How many subtasks write."""
    if node.sink.parallelism is None:
        return plan.width([(below, together)])
    if below.retracts and together is None:
        raise ChangelogError(
            f"table {'.'.join(node.path)}: 'sink.parallelism' would let changes of a row overtake each other: declare "
            f"a PRIMARY KEY, or leave it out"
        )
    return {"parallelism": node.sink.parallelism}


def _enforced(plan: Plan, node: n.Sink, below: Planned) -> Planned:
    """Add the operator that enforces the table's constraints, if the table has any."""
    config = EnforceConstraints.of(node.columns, plan.options.environment.configuration, **plan.options.common)
    if not config.needed:
        return below
    return plan.step("ConstraintEnforcer", config, [(below, None)], node.input.schema, below.changes)


def _check(table: str, sink: TableSink, changes: Changes) -> None:
    missing = []
    if changes.updates and RowKind.UPDATE_AFTER not in sink.kinds:
        missing.append("updates")
    if changes.deletes and RowKind.DELETE not in sink.kinds:
        missing.append("deletions")
    if missing:
        raise ChangelogError(
            f"table {table} takes no {' and no '.join(missing)}, but {changes.cause} makes them: write to a table with "
            f"a PRIMARY KEY of a connector that takes changes, or use a window"
        )


def _primary_key(node: n.Sink) -> Key | None:
    if not node.sink.keys:
        return None
    names = node.input.names
    return tuple(names.index(name) for name in node.sink.keys)
