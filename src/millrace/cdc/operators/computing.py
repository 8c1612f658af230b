"""Rows through the rules of a transform, a batch at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millrace.cdc.operators.elements import Batch
from millrace.cdc.rules.layout import Layout
from millrace.cdc.rules.tables import Applied
from millrace.cdc.rules.transforms import Bound
from millrace.common.types import RowKind
from millrace.relational.casting import cast_to
from millrace.relational.functions.evaluate import Evaluator, repeat
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Ref
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Rows, concat, record_batch
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.runner import FunctionRunner

_EVENT_TYPES = pa.array([str(kind) for kind in RowKind])


def transformed(batch: Batch, applied: Applied, around: Surroundings, functions: FunctionRunner | None) -> Batch | None:
    """The rows as the rules make them; None if none is left. A row goes by the first rule whose filter it passes.

    An update that leaves what the filters let through is a deletion, one that enters it an insertion.
    """
    if not applied.rules:
        return batch
    evaluator = _evaluator(batch, around, functions)
    rest = np.ones(len(batch.rows), bool)
    parts: list[Rows] = []
    places: list[Any] = []
    for rule in applied.rules:
        mine = rest & _passing(batch, rule, evaluator)
        rest &= ~mine
        where = np.flatnonzero(mine)
        if len(where):
            parts.append(_projected(batch, rule, applied.layout, where, evaluator))
            places.append(where)
    if not parts:
        return None
    order = np.concatenate(places)
    rows = concat(parts)
    if len(parts) > 1:
        sorting = np.argsort(order, kind="stable")
        rows, order = rows.take(sorting), order[sorting]
    paired = _paired(rows, order, batch.rows.kind_values())
    soft = any(rule.soft_delete for rule in applied.rules)
    return batch.with_rows(_soft(batch, paired) if soft else paired, applied.layout.schema)


def _evaluator(batch: Batch, around: Surroundings, functions: FunctionRunner | None) -> Evaluator:
    count, table = len(batch.rows), batch.table
    texts = [repeat(pa.scalar(text), count) for text in (table.namespace, table.schema, table.table)]
    times = repeat(pa.scalar(0, pa.int64()), count) if batch.times is None else pa.array(batch.times)
    columns = [*batch.rows.columns, *texts, _EVENT_TYPES.take(pa.array(batch.rows.kind_values())), times]
    return Evaluator(columns, around) if functions is None else FunctionEvaluator(columns, around, functions)


def _passing(batch: Batch, rule: Bound, evaluator: Evaluator) -> Any:
    if rule.condition is None:
        return np.ones(len(batch.rows), bool)
    passing = evaluator.mask(rule.condition)
    if batch.keys_only:
        # What an old row had is not known: if it was never there, its deletion does no harm.
        passing = passing | ~batch.rows.adds()
    return passing


def _projected(batch: Batch, rule: Bound, layout: Layout, where: Any, evaluator: Evaluator) -> Rows:
    outputs = [cast_to(each, kind) for each, kind in zip(rule.outputs, layout.schema.types)]
    if len(where) == len(batch.rows):
        columns = [evaluator.column(each) for each in outputs]
    else:
        columns = [
            evaluator.column(each).take(pa.array(where)) if isinstance(each, Ref) else evaluator.some_rows(where, each)
            for each in outputs
        ]
    return Rows(record_batch(columns, len(where)), batch.rows.kind_values()[where])


def _paired(rows: Rows, order: Any, before: Any) -> Rows:
    """Updates of which one side is gone are deletions or insertions."""
    kinds = rows.kind_values().copy()
    if not len(kinds):
        return rows
    old = kinds == UPDATE_BEFORE
    follows = np.zeros(len(kinds), bool)
    follows[:-1] = (order[1:] == order[:-1] + 1) & (kinds[1:] == UPDATE_AFTER)
    kinds[old & ~follows] = DELETE
    # A new side that had an old one in the source, and has none any more.
    had = np.zeros(len(kinds), bool)
    inside = order > 0
    had[inside] = before[order[inside] - 1] == UPDATE_BEFORE
    has = np.zeros(len(kinds), bool)
    has[1:] = follows[:-1] & old[:-1]
    kinds[(kinds == UPDATE_AFTER) & had & ~has] = INSERT
    return Rows(rows.batch, kinds)


def _soft(batch: Batch, rows: Rows) -> Rows:
    """Deletions as insertions of what the row was.

    :raises ValueError: that is not known.
    """
    kinds = rows.kind_values().copy()
    gone = kinds == DELETE
    if batch.keys_only and gone.any():
        raise ValueError(
            f"table {batch.table}: SOFT_DELETE needs the old rows as a whole, and the log has their keys only: set "
            f"REPLICA IDENTITY FULL (PostgreSQL) or binlog_row_image=FULL (MySQL)"
        )
    kinds[gone] = INSERT
    return Rows(rows.batch, kinds)
