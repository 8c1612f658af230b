"""SINGLE_VALUE: the value of a subquery that must give one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.relational.functions.aggregates.parts import Accumulation, Entry, Keeping
from millrace.relational.functions.aggregates.registry import aggregate
from millrace.relational.functions.signatures import ANY, first, takes
from millrace.relational.rex import AggCall


class SingleValue(Keeping):
    """The only value; several rows are an error, as SQL wants it."""

    skips_nulls = False

    def result(self, entries: Sequence[Entry]) -> Any:
        rows = sum(entry[1] for entry in entries)
        if rows > 1:
            raise ValueError(f"a subquery that stands for one value gave {rows} rows")
        return entries[0][0][0]


@aggregate("SINGLE_VALUE", takes(ANY, result=first))
def plan(call: AggCall, retracts: bool) -> Accumulation:
    return SingleValue()
