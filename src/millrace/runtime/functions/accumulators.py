"""Aggregate functions whose rows come, and are taken back, one batch after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.functions.aggregates.collections import in_sequence
from millrace.relational.functions.aggregates.parts import Entry
from millrace.relational.rex import AggCall
from millrace.relational.values import to_internal
from millrace.runtime.bases.base import NO_ELEMENT
from millrace.runtime.functions.groups import GroupFunction


class UserAccumulators:
    """Accumulators of a function of rows: any objects, None before the first row."""

    zero = None

    def __init__(self, function: GroupFunction) -> None:
        self._function = function

    def update(self, ids: Any, args: Sequence[pa.Array], signs: pa.Array, slots: list[Any]) -> None:
        """Add rows, and take rows back; ``slots`` has the accumulators and is changed here."""
        accumulate, retract = self._function.function.accumulate, self._function.function.retract
        rows = self._function.arguments(args, len(ids))
        sign, values = 1, NO_ELEMENT
        try:
            for id, sign, values in zip(ids.tolist(), signs.to_pylist(), rows):
                if not sign:
                    continue
                accumulator = slots[id]
                if accumulator is None:
                    accumulator = slots[id] = self._function.new()
                (accumulate if sign > 0 else retract)(accumulator, *values)
        except Exception as error:
            raise self._function.failed(error, "accumulate" if sign > 0 else "retract", values) from error

    def absorb(self, slot: Any, other: Any) -> Any:
        """Two accumulators as one."""
        if slot is None or other is None:
            return other if slot is None else slot
        try:
            self._function.function.merge(slot, [other])
        except Exception as error:
            raise self._function.failed(error, "merge") from error
        return slot

    def results(self, slots: Sequence[Any]) -> pa.Array:
        """The value of each accumulator."""
        function = self._function
        return function.column([function.value_of(function.new() if slot is None else slot) for slot in slots])


def of_entries(
    function: GroupFunction, call: AggCall, types: Sequence[pa.DataType]
) -> Callable[[Sequence[Entry]], Any]:
    """A vectorised function on the rows of one group, in the form that ``KeptPlaces`` calls it."""

    def value(entries: Sequence[Entry]) -> Any:
        rows = list(in_sequence(entries))
        args = [pa.array(values, each) for values, each in zip(zip(*rows), types)]
        return to_internal(function.value(args, len(rows)), call.type)

    return value
