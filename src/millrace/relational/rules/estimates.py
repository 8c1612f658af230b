"""How large the result of a plan is at most, by the statistics of the tables that it reads."""

from __future__ import annotations

from math import prod
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.fields import Schema
from millrace.relational.rex import Call, Rex, conjuncts
from millrace.relational.type_table import Family, family_of
from millrace.util.record import Record

_BYTES = {
    Family.BOOLEAN: 1,
    Family.INTEGER: 8,
    Family.APPROXIMATE: 8,
    Family.DECIMAL: 16,
    Family.DATE: 4,
    Family.TIME: 8,
    Family.TIMESTAMP: 8,
    Family.INSTANT: 8,
    Family.TEXT: 64,
}
_OTHERS = 256
_SHARES = {"=": 0.1, "IN": 0.2, "IS NULL": 0.1, "IS NOT NULL": 0.9, "<>": 0.9, "BETWEEN": 0.25}
_SHARES |= dict.fromkeys(("<", "<=", ">", ">="), 0.4)
_OTHER_SHARE = 0.4
_GROUPS = 0.2
"""groups of so many rows"""


def most_rows(plan: n.Rel) -> int | None:
    """Rows that a plan has at most; None: a table in it was never counted, or the node may multiply rows."""
    if isinstance(plan, n.Scan):
        return plan.rows
    if isinstance(plan, n.Values):
        return len(plan.rows)
    if isinstance(plan, n.Aggregate) and not plan.keys and plan.sets is None:
        return 1
    if isinstance(plan, n.Sort) and plan.fetch is not None:
        below = most_rows(plan.input)
        return plan.fetch if below is None else min(plan.fetch, below)
    if isinstance(plan, n.Aggregate) and plan.sets is not None:
        return None
    if isinstance(plan, (n.Filter, n.Project, n.Sort, n.Aggregate)):
        return most_rows(plan.input)
    if isinstance(plan, n.Join) and plan.kind in ("SEMI", "ANTI"):
        return most_rows(plan.left)
    return None


def most_bytes(plan: n.Rel) -> int | None:
    """About how large all these rows are in memory."""
    rows = most_rows(plan)
    return None if rows is None else rows * _width(plan.schema)


def _width(columns: Schema) -> int:
    return sum(_BYTES.get(family_of(column.type), _OTHERS) for column in columns) or 1


class Estimate(Record):
    """About how many rows a plan gives, and how many the table has that they come from."""

    rows: float
    table: float


def estimate(plan: n.Rel) -> Estimate | None:
    """None: it reads a table whose rows were never counted."""
    if isinstance(plan, n.Scan):
        rows = plan.rows if plan.rows is not None else _told(plan.source)
        return None if rows is None else Estimate(float(rows), float(rows))
    if isinstance(plan, n.Values):
        return Estimate(float(len(plan.rows)), float(len(plan.rows)))
    if isinstance(plan, n.Filter):
        below = estimate(plan.input)
        share = prod(_share(each) for each in conjuncts(plan.condition))
        return None if below is None else Estimate(max(below.rows * share, 1.0), below.table)
    if isinstance(plan, n.Aggregate):
        below = estimate(plan.input)
        if below is None:
            return None
        groups = below.rows * _GROUPS if plan.keys else 1.0
        return Estimate(groups, groups)
    if isinstance(plan, (n.Project, n.Sort, n.Watermark, n.Deduplicate)):
        return estimate(plan.input)
    if isinstance(plan, n.Join) and plan.kind in ("SEMI", "ANTI", "LEFT"):
        return estimate(plan.left)
    return None


def _told(source: Any) -> int | None:
    """What a source knows of itself, such as the heads of files."""
    rows: int | None = None if source is None else source.counted_rows()
    return rows


def _share(condition: Rex) -> float:
    """The share of rows that a condition lets through, by what kind it is."""
    return _SHARES.get(condition.function, _OTHER_SHARE) if isinstance(condition, Call) else _OTHER_SHARE
