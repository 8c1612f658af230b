"""INSERT .. ON CONFLICT: what becomes of several rows with one primary key of the sink."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.common.config_values import is_on
from millrace.common.types import RowKind
from millrace.relational import nodes as n
from millrace.relational.types import BigIntType, DataType
from millrace.runtime.tables.ordering.conflicts import Conflicts, Stamp
from millrace.runtime.tables.ordering.deduplicate import Deduplicate, OneRow
from millrace.table.planner.changes import Key
from millrace.table.planner.ordered_keys import ordered_keys
from millrace.table.planner.plan import Plan, Planned, by
from millrace.table.planner.upserts import same_each_time
from millrace.table.values.problems import problem

ERROR = "ERROR"
REQUIRED = "table.exec.sink.require-on-conflict"
_WAYS = "ON CONFLICT DO DEDUPLICATE (the last row stays), DO NOTHING (the first one) or DO ERROR"


def check_conflicts(plan: Plan, node: n.Sink) -> None:
    """What can be known before anything runs.

    :raises TableException: the clause has no meaning for this sink, or is wanted and not there.
    """
    table, kinds = ".".join(node.path), node.sink.kinds
    key = tuple(node.input.names.index(name) for name in node.sink.keys)
    if not node.on_conflict:
        wanted = is_on(plan.options.environment.configuration, REQUIRED)
        if wanted and key and RowKind.UPDATE_BEFORE not in kinds and may_conflict(plan, node, key):
            raise problem(
                f"several rows of the query may have one primary key of {table} ({', '.join(node.sink.keys)}): say "
                f"what becomes of them with {_WAYS}, or set {REQUIRED} to false"
            )
        return
    clause = f"ON CONFLICT DO {node.on_conflict}"
    why = _no_upserts(node)
    if why:
        raise problem(f"{clause} is for sinks of upserts, and {table} {why}: leave the clause out")
    if not node.wants_one_row:
        return
    for source in _without_watermark(node.input):
        raise problem(f"{clause} needs a watermark of each table that is read, and {source} declares none")


def may_conflict(plan: Plan, node: n.Sink, key: Key) -> bool:
    """Whether rows that are no versions of one row may have one primary key."""
    return not any(set(each) <= set(key) for each in ordered_keys(node.input, plan.changes))


def compares_changes(plan: Plan, node: n.Sink) -> bool:
    """Whether a sink gets the rows of a watermark together, since they may conflict and change."""
    if not node.wants_one_row or not node.sink.keys or plan.changes(node.input).append_only:
        return False
    return may_conflict(plan, node, tuple(node.input.names.index(name) for name in node.sink.keys))


def one_row(plan: Plan, node: n.Sink, key: Key, below: Planned) -> Planned:
    """Rows of which one has a primary key: the first, or a second one is an error."""
    types = tuple(column.type for column in node.input.schema)
    if not plan.changes(node.input).append_only:
        return _of_changes(plan, node, key, below, types)
    common = {**plan.options.common, "meaning": plan.meanings.of_upserts(node.input, key, None)}
    config = Deduplicate(keys=key, types=types, last=False, **common)
    if node.on_conflict == ERROR:
        config = OneRow(keys=key, types=types, last=False, problem=_second_row(node), **common)
    return plan.step("SinkConflicts", config, [(below, by(key))], node.input.schema, below.changes)


def _of_changes(plan: Plan, node: n.Sink, key: Key, below: Planned, types: tuple[DataType, ...]) -> Planned:
    unique = min(ordered_keys(node.input, plan.changes), key=len, default=None)
    config = Conflicts(
        keys=key,
        types=types,
        unique=unique,
        compared=same_each_time(node.input),
        problem=_second_row(node) if node.on_conflict == ERROR else None,
        meaning=(*plan.meanings.of_upserts(node.input, key, unique), f"ON CONFLICT DO {node.on_conflict}"),
        **plan.options.common,
    )
    schema = (*node.input.schema, n.Field("$watermark", BigIntType(False)))
    stamped = plan.step("WatermarkStamp", Stamp(**plan.options.common), [(below, None)], schema, below.changes)
    return plan.step("SinkConflicts", config, [(stamped, by(key))], node.input.schema, below.changes)


def _second_row(node: n.Sink) -> str:
    return f"ON CONFLICT DO ERROR: table {'.'.join(node.path)} gets a second row with the primary key"


def _no_upserts(node: n.Sink) -> str:
    if node.sink.kinds <= {RowKind.INSERT}:
        return "only takes insertions"
    if RowKind.UPDATE_BEFORE in node.sink.kinds:
        return "takes the old rows of updates, too"
    return "" if node.sink.keys else "has no primary key"


def _without_watermark(node: n.Rel) -> Iterator[str]:
    """The tables that are read and have no watermark."""
    if isinstance(node, n.Watermark):
        return
    if isinstance(node, (n.Scan, n.StreamScan)):
        yield ".".join(node.path) if isinstance(node, n.Scan) else "a DataStream"
    for each in node.inputs:
        yield from _without_watermark(each)
