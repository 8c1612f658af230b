"""GROUP BY."""

from __future__ import annotations

from millrace.relational.fields import Schema
from millrace.relational.nodes.base import Single
from millrace.relational.rex import AggCall
from millrace.relational.rex_text import agg_text, named, sets_text


class Aggregate(Single):
    """GROUP BY: the key columns, then the aggregates. ``sets`` are GROUPING SETS as positions in ``keys`` (one set of
    all keys for a plain GROUP BY; the columns outside a set are NULL). Without keys there is one row, also of nothing.
    """

    keys: tuple[int, ...]
    """columns of the input"""
    aggregates: tuple[AggCall, ...]
    columns: Schema
    sets: tuple[tuple[int, ...], ...] | None = None
    """None: all keys"""

    def details(self) -> list[str]:
        source = self.input.schema
        parts = [f"keys={named(self.keys, source)}"] if self.keys else []
        if self.sets is not None:
            parts.append(sets_text(self.keys, self.sets, source))
        return parts + [agg_text(call, source) for call in self.aggregates]


class TableAggregate(Single):
    """A table aggregate function of the user: for every group any number of rows, each behind the keys."""

    keys: tuple[int, ...]
    call: AggCall
    columns: Schema
