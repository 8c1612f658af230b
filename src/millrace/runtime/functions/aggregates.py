"""The user's aggregate functions: on whole groups of rows, and on rows that are added and retracted batch by batch.

``GroupFunction`` is called when all rows of a group are there. ``UserAccumulators`` has an accumulator for each group,
to which rows are added, or from which they are retracted, one batch after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.aggregates.registry import Entry, in_sequence
from millrace.relational.rex import AggCall
from millrace.relational.values import to_internal, to_python
from millrace.runtime.bases.operator import NO_ELEMENT
from millrace.runtime.failure import OperatorError
from millrace.runtime.functions.runner import FunctionRunner, result_column, row_values


class GroupFunction:
    """An aggregate or table aggregate function. A vectorised one gets all rows in a single call of ``accumulate``, as
    one ``pandas.Series`` per argument."""

    def __init__(self, runner: FunctionRunner, call: AggCall) -> None:
        self._runner = runner
        self._call = call
        self._name: str = call.udf.name
        self.function = runner.of(call.udf)
        self._types = [arg.type for arg in call.args]

    def value(self, args: Sequence[pa.Array], length: int) -> Any:
        """The value of a group of ``length`` rows.

        :raises OperatorError: the function failed; so do the other methods.
        """
        return self.value_of(self._accumulated(args, length))

    def rows(self, args: Sequence[pa.Array], length: int, width: int) -> list[Sequence[Any]]:
        """The rows of a group, each of ``width`` values."""
        return self.rows_of(self._accumulated(args, length), width)

    def value_of(self, accumulator: Any) -> Any:
        """The result of ``get_value``; a single pandas value is returned as a Python value."""
        try:
            value = self.function.get_value(accumulator)
        except Exception as error:
            raise self.failed(error, "get_value") from error
        return value.item() if isinstance(value, (np.number, np.bool_)) else value

    def rows_of(self, accumulator: Any, width: int) -> list[Sequence[Any]]:
        """The rows that ``emit_value`` gives."""
        try:
            return [row_values(row, width) for row in self.function.emit_value(accumulator) or ()]
        except Exception as error:
            raise self.failed(error, "emit_value") from error

    def failed(self, error: Exception, method: str, args: Any = NO_ELEMENT) -> OperatorError:
        """The error to raise when a method of the function failed."""
        return self._runner.error(error, f"{method}() of {self._name}", args)

    def new(self) -> Any:
        """An accumulator of no rows."""
        try:
            return self.function.create_accumulator()
        except Exception as error:
            raise self.failed(error, "create_accumulator") from error

    def column(self, values: list[Any]) -> pa.Array:
        """The values of groups as a column of the declared type."""
        return result_column(self._runner, values, self._call.type, self._name)

    def _accumulated(self, args: Sequence[pa.Array], length: int) -> Any:
        accumulator = self.new()
        if self._call.udf.vectorized:
            self._accumulate_columns(accumulator, args)
        else:
            self._accumulate_rows(accumulator, self.arguments(args, length))
        return accumulator

    def _accumulate_columns(self, accumulator: Any, args: Sequence[pa.Array]) -> None:
        # pandas is slow to import, and most jobs have no such function.
        from millrace.runtime.functions.vectors import to_pandas

        try:
            self.function.accumulate(accumulator, *map(to_pandas, args))
        except Exception as error:
            raise self.failed(error, "accumulate") from error

    def _accumulate_rows(self, accumulator: Any, rows: Iterable[tuple[Any, ...]]) -> None:
        accumulate, values = self.function.accumulate, NO_ELEMENT
        try:
            for values in rows:
                accumulate(accumulator, *values)
        except Exception as error:
            raise self.failed(error, "accumulate", values) from error

    def arguments(self, args: Sequence[pa.Array], length: int) -> Any:
        """An iterator over the arguments of each row."""
        if not args:
            return [()] * length
        return zip(*(to_python(arg, kind) for arg, kind in zip(args, self._types)))


class UserAccumulators:
    """Accumulators of a row-wise function: any objects, None before the first row."""

    zero = None

    def __init__(self, function: GroupFunction) -> None:
        self._function = function

    def update(self, ids: Any, args: Sequence[pa.Array], signs: pa.Array, slots: list[Any]) -> None:
        """Add rows and retract rows; changes the accumulators in ``slots`` in place."""
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
        """Merge two accumulators into one."""
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
    """Apply a vectorised function to the rows of one group, in the form in which ``KeptPlaces`` calls it."""

    def value(entries: Sequence[Entry]) -> Any:
        rows = list(in_sequence(entries))
        args = [pa.array(values, each) for values, each in zip(zip(*rows), types)]
        return to_internal(function.value(args, len(rows)), call.type)

    return value
