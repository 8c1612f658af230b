"""Turns the changes of a table into upserts (rows without their old content), and resolves INSERT .. ON CONFLICT,
where several rows have one primary key of the sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from millrace.common.configuration import is_on
from millrace.common.types import RowKind
from millrace.relational import nodes as n
from millrace.relational.types import BigIntType, DataType
from millrace.runtime.tables.changelog import DropUpdateBefore, UpsertMaterialize
from millrace.runtime.tables.ordering.conflicts import Conflicts, Stamp
from millrace.runtime.tables.ordering.deduplicate import Deduplicate, OneRow
from millrace.table.planner.plan import Key, Plan, Planned, by, computed_anew, ordered_keys
from millrace.table.values.program_errors import problem


def upserts(plan: Plan, input: n.Rel, key: Key | None, through: Callable[[Planned], Planned]) -> Planned:
    """The rows of a node without what they were before.

    :param key: what the consumer knows rows by; None: by the key that they have.
    :param through: what they pass on their way.
    """
    changes = plan.changes(input)
    known_by = ordered_keys(input, plan.changes)
    materialized = key is not None and needs_materializer(plan, input, key)
    below = through(plan.add(input, materialized))
    if materialized:
        assert key is not None
        types = tuple(column.type for column in input.schema)
        unique = min(known_by, key=len, default=None)
        meaning = plan.meanings.of_upserts(input, key, unique)
        config = UpsertMaterialize(
            keys=key,
            types=types,
            unique=unique,
            compared=same_each_time(input),
            meaning=meaning,
            input_columns=(plan.meanings.origins(input),),
            **plan.options.common,
        )
        return plan.step("SinkMaterializer", config, [(below, by(key))], input.schema, changes)
    if changes.updates:
        drop = DropUpdateBefore(**plan.options.common)
        return plan.step("DropUpdateBefore", drop, [(below, None)], input.schema, changes)
    return below


def same_each_time(node: n.Rel) -> tuple[int, ...] | None:
    """The columns that a row has again when it is taken back; None: all. What is computed of each change by itself, as
    RAND(), has another value then."""
    changing = computed_anew(node)
    return tuple(place for place in range(len(node.schema)) if place not in changing) if changing else None


def needs_materializer(plan: Plan, input: n.Rel, key: Key) -> bool:
    """Whether the changes of a node's rows do not come in the order that a primary key needs."""
    return not plan.changes(input).append_only and not _is_by(ordered_keys(input, plan.changes), key)


def _is_by(known_by: Iterable[Key], key: Key) -> bool:
    """Whether rows that follow each other under one primary key are versions of one row."""
    return any(set(each) <= set(key) for each in known_by)


# ON CONFLICT

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
