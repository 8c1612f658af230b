"""Where rows come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import RowKind
from millrace.connectors.collection import CollectionSource
from millrace.relational import nodes as n
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import goes_by_key
from millrace.relational.types import RowType
from millrace.relational.values import to_arrow
from millrace.runtime.jobs import specs
from millrace.runtime.tables.changelog import ChangelogNormalize
from millrace.runtime.tables.stream_rows import FromElements
from millrace.table.planner.changes import Changes, append
from millrace.table.planner.forms import streaming_form
from millrace.table.planner.plan import Plan, Planned, by
from millrace.table.values.stream_types import data_type_of_info

_ROWS_A_BATCH = 8_192


def _changes_of_scan(node: Any, inputs: list[Changes]) -> Changes:
    kinds = getattr(node.source, "kinds", frozenset({RowKind.INSERT}))
    primary = getattr(node.source, "primary_key", ())
    columns = node.projected if node.projected is not None else range(len(node.columns))
    place = {column: index for index, column in enumerate(columns)}
    keys = {tuple(place[each] for each in primary)} if primary and all(each in place for each in primary) else set()
    updates = RowKind.UPDATE_AFTER in kinds
    deletes = RowKind.DELETE in kinds
    cause = f"table {'.'.join(node.path)}" if updates or deletes else ""
    return Changes(updates, deletes, frozenset(keys), cause)


def _changes_of_stream_scan(node: Any, inputs: list[Changes]) -> Changes:
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
    repeated = not before and id(node) in plan.of_sinks and node.source.repeats_deletions
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
