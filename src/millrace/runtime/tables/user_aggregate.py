"""Aggregate functions of the user: general ones row by row, pandas ones on all rows of a group.

``AggCall.udf`` is a wrapper (``table.udf``) with ``name``, ``vectorized`` and ``function``: an object with ``open``,
``close``, ``create_accumulator``, ``accumulate``, ``retract``, ``merge`` and ``get_value``. A vectorised one is given
one ``pandas.Series`` an argument, with all rows of the group, by a single call of ``accumulate``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.functions.aggregate_parts import Entry
from millrace.relational.functions.aggregates_collections import in_sequence
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow, to_internal, to_python
from millrace.runtime.tables.keys import Ids
from millrace.runtime.tables.vectors import to_pandas


class UserAccumulators:
    """Accumulators of a general function: any objects, None before the first row."""

    zero = None

    def __init__(self, function: Any, types: Sequence[DataType], result: DataType) -> None:
        self._function = function
        self._types = types
        self._result = result

    def update(self, ids: Ids, args: Sequence[pa.Array], signs: pa.Array, slots: list[Any]) -> None:
        """Add rows, and take rows back; ``slots`` has the accumulators and is changed here."""
        function = self._function
        columns = [to_python(arg, each) for arg, each in zip(args, self._types)]
        rows = zip(*columns) if columns else [()] * len(ids)
        for id, sign, values in zip(ids.tolist(), signs.to_pylist(), rows):
            if not sign:
                continue
            accumulator = slots[id]
            if accumulator is None:
                accumulator = slots[id] = function.create_accumulator()
            (function.accumulate if sign > 0 else function.retract)(accumulator, *values)

    def absorb(self, slot: Any, other: Any) -> Any:
        if slot is None or other is None:
            return other if slot is None else slot
        self._function.merge(slot, [other])
        return slot

    def results(self, slots: Sequence[Any]) -> pa.Array:
        function = self._function
        create, value = function.create_accumulator, function.get_value
        return to_arrow([value(create() if slot is None else slot) for slot in slots], self._result)


def pandas_result(function: Any, types: Sequence[pa.DataType], result: DataType) -> Callable[[Sequence[Entry]], Any]:
    """A pandas function on the rows of one group, in the form that ``KeptPlaces`` calls it."""

    def call(entries: Sequence[Entry]) -> Any:
        columns = zip(*in_sequence(entries))
        accumulator = function.create_accumulator()
        function.accumulate(accumulator, *(to_pandas(pa.array(values, each)) for values, each in zip(columns, types)))
        value = function.get_value(accumulator)
        return to_internal(value.item() if hasattr(value, "item") else value, result)

    return call
