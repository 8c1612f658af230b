"""How large the result of a plan is at most, by the statistics of the tables that it reads."""

from __future__ import annotations

from millrace.relational import nodes as n
from millrace.relational.fields import Schema
from millrace.relational.type_table import Family, family_of

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
