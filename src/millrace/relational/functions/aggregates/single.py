"""SINGLE_VALUE: the value of a subquery that must give one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.relational.functions.aggregates.parts import Accumulation, Entry, Keeping
from millrace.relational.functions.aggregates.registry import aggregate
from millrace.relational.functions.aggregates.spark_texts import Texts
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


def _text(call: AggCall, texts: Texts) -> str:
    count, first_value = texts.call("count(1)"), texts.call(f"first({texts.args[0]})")
    return f"CASE WHEN {count} > 1 THEN raise_error('a scalar subquery gave more than one row') ELSE {first_value} END"


@aggregate("SINGLE_VALUE", takes(ANY, result=first), spark=_text)
def plan(call: AggCall, retracts: bool) -> Accumulation:
    return SingleValue()
