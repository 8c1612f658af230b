"""Computes expressions that call the user's functions on columns; calls scalar and table functions on a batch of
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from operator import itemgetter, length_hint
from types import GeneratorType
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types import Row
from millrace.relational.functions import evaluate
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Column, Surroundings, find_scalar
from millrace.relational.precision import canonical
from millrace.relational.rex import Call, Literal, Ref, Rex, UdfCall, rewrite
from millrace.relational.rules.filters_and_projections import is_expensive
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.relational.values import to_python
from millrace.runtime.failure import check_complete
from millrace.runtime.functions.asynchronous import CallFailed
from millrace.runtime.functions.runner import FunctionRunner, result_column, result_rows, row_values


class Arguments:
    """The arguments of a function for ``length`` rows. No tuple is made for each row."""

    def __init__(self, columns: Sequence[list[Any]], length: int) -> None:
        self._columns = columns
        self._length = length
        self._remaining: Iterator[Any] = iter(())

    def __len__(self) -> int:
        return self._length

    def calls(self, function: Callable[..., Any]) -> Iterator[Any]:
        """The result of the function for each row. Ends early where the function raises ``StopIteration``."""
        if not self._columns:
            self._remaining = iter([()] * self._length)
            return starmap(function, self._remaining)
        first, *others = self._columns
        self._remaining = iter(first)
        return map(function, self._remaining, *others)

    def current(self) -> tuple[Any, ...]:
        """The arguments of the latest call."""
        return self.row(self._length - length_hint(self._remaining) - 1)

    def row(self, place: int) -> tuple[Any, ...]:
        """The arguments for a row."""
        return tuple([column[place] for column in self._columns])

    def rows(self) -> list[tuple[Any, ...]]:
        """The arguments for all rows."""
        return list(zip(*self._columns)) if self._columns else [()] * self._length


# Scalar functions


def call_with_rows(runner: FunctionRunner, call: UdfCall, arguments: Arguments) -> list[Any]:
    """The results of a row-wise function for each row.

    :raises OperatorError: the function failed.
    """
    function = runner.of(call.function).eval
    if call.asynchronous:
        try:
            return runner.concurrently(function, arguments.rows())
        except CallFailed as failed:
            raise runner.error(failed.cause, f"{call.name}()", failed.arguments) from failed.cause
    try:
        found = list(arguments.calls(function))
        check_complete(found, arguments)
    except Exception as error:
        raise runner.error(error, f"{call.name}()", arguments.current()) from error
    return found


def call_with_columns(runner: FunctionRunner, call: UdfCall, args: Sequence[pa.Array], length: int) -> pa.Array:
    """The result of a vectorised function for ``length`` rows.

    :raises OperatorError: the function failed, or its result has a wrong length or type.
    """
    # pandas is slow to import, and most jobs have no such function.
    from millrace.runtime.functions.vectors import batch_size, call_vectorized

    function, size = runner.of(call.function).eval, batch_size(runner.configuration)
    try:
        found = call_vectorized(function, args, arrow_type(call.type), length, size, call.name)
    except Exception as error:
        raise runner.error(error, f"{call.name}()") from error
    return canonical(found, call.type)


class Values:
    """The results of a call for a batch: a column, or Python values. The other form is made when it is requested."""

    def __init__(
        self, runner: FunctionRunner, call: UdfCall, column: pa.Array | None, values: list[Any] | None
    ) -> None:
        self._runner = runner
        self._call = call
        self._column = column
        self._values = values

    def column(self) -> pa.Array:
        if self._column is None:
            assert self._values is not None
            self._column = result_column(self._runner, self._values, self._call.type, self._call.name)
        return self._column

    def python(self) -> list[Any]:
        if self._values is None:
            self._values = to_python(self._column, self._call.type)
        return self._values


Given = Values | Column
"""The values of one argument."""


class FunctionEvaluator(Evaluator):
    """An evaluator that also calls the user's functions.

    Equal calls are made once. Results of one function that are arguments of another are passed on as Python values;
    columns are made only for built-in functions, vectorised ones, and for the result.
    """

    def __init__(self, columns: Sequence[pa.Array], surroundings: Surroundings, functions: FunctionRunner) -> None:
        super().__init__(columns, surroundings)
        self.functions = functions
        self._results: dict[tuple[int, ...], tuple[Sequence[Given], Values]] = {}
        """(id of the function, ids of its arguments) -> (the arguments, result); holding the arguments keeps their ids
        from being reused"""
        self._lists: dict[int, tuple[Column, list[Any]]] = {}
        """id of a column -> (the column, its values as a Python list)"""

    def over(self, columns: Sequence[pa.Array], surroundings: Surroundings) -> FunctionEvaluator:
        return FunctionEvaluator(columns, surroundings, self.functions)

    def value(self, expression: Rex) -> Column:
        return self._called(expression).column() if isinstance(expression, UdfCall) else super().value(expression)

    def arguments(self, args: Sequence[Rex]) -> Arguments:
        """The arguments of each row for a call."""
        return self._arguments(args, [self._given(arg) for arg in args])

    def some_rows(self, rows: Any, expression: Rex) -> pa.Array:
        """As in the base class; but a function that was called for all rows is not called again for some of them."""
        if len(rows) == self.length:
            return self.column(expression)
        known: list[pa.Array] = []

        def result(part: Rex) -> Rex | None:
            found = self._known_result(part) if isinstance(part, UdfCall) else None
            if found is None:
                return None
            known.append(found.column())
            return Ref(part.type, len(self._columns) + len(known) - 1)

        rewritten = rewrite(expression, result)
        if not known:
            return super().some_rows(rows, expression)
        return self.over([*self._columns, *known], self._surroundings).some_rows(rows, rewritten)

    def _known_result(self, call: UdfCall) -> Values | None:
        given: list[Given] = []
        for arg in call.args:
            if isinstance(arg, (Ref, Literal)):
                given.append(self.value(arg))
                continue
            found = self._known_result(arg) if isinstance(arg, UdfCall) else None
            if found is None:
                return None
            given.append(found)
        known = self._results.get((id(call.function), *map(id, given)))
        return None if known is None else known[1]

    def _called(self, call: UdfCall) -> Values:
        given = [self._given(arg) for arg in call.args]
        # Different functions of one name must not count as the same call.
        key = (id(call.function), *map(id, given))
        known = self._results.get(key)
        if known is not None:
            return known[1]
        found = self._make(call, given)
        if call.deterministic:
            self._results[key] = given, found
        return found

    def _make(self, call: UdfCall, given: Sequence[Given]) -> Values:
        if call.vectorized:
            columns = [self._whole(each) for each in given]
            return Values(self.functions, call, call_with_columns(self.functions, call, columns, self.length), None)
        values = call_with_rows(self.functions, call, self._arguments(call.args, given))
        return Values(self.functions, call, None, values)

    def _given(self, arg: Rex) -> Given:
        return self._called(arg) if isinstance(arg, UdfCall) else self.value(arg)

    def _arguments(self, args: Sequence[Rex], given: Sequence[Given]) -> Arguments:
        return Arguments([self._python(arg, each) for arg, each in zip(args, given)], self.length)

    def _python(self, arg: Rex, given: Given) -> list[Any]:
        if isinstance(arg, Literal):
            return [arg.value] * self.length
        return given.python() if isinstance(given, Values) else self._list(given, arg.type)

    def _list(self, column: Column, data_type: DataType) -> list[Any]:
        known = self._lists.get(id(column))
        if known is None:
            known = self._lists[id(column)] = column, to_python(self._whole(column), data_type)
        return known[1]

    def _whole(self, given: Given) -> pa.Array:
        if isinstance(given, Values):
            return given.column()
        if isinstance(given, pa.Scalar):
            return evaluate.repeat(given, self.length)
        return given.combine_chunks() if isinstance(given, pa.ChunkedArray) else given

    def _call(self, expression: Call) -> Column:
        function = find_scalar(expression.function)
        if function is not None and function.by_need is not None and is_expensive(expression):
            # A user's function may fail, or have side effects: in a CASE it is called only for the rows of its branch.
            return function.by_need(expression, self)
        return super()._call(expression)


# Table functions

Made = tuple[Any, list[pa.Array]]
"""(the input row of each produced row, in order, as numpy integers; the produced columns)"""


def made_rows(runner: FunctionRunner, wrapper: Any, arguments: Arguments, types: Sequence[DataType]) -> Made:
    """The rows that a table function produces for each input row, as columns of these types.

    :raises OperatorError: the function failed, or a value does not fit its type.
    """
    made: list[Any] = []
    ends: list[int] = []
    try:
        for results in arguments.calls(runner.of(wrapper).eval):
            if results is not None:
                kind = results.__class__
                made.extend(results if kind is GeneratorType or kind is list else result_rows(results))
            ends.append(len(made))
        check_complete(ends, arguments)
    except Exception as error:
        raise runner.error(error, f"{wrapper.name}()", arguments.current()) from error
    owners = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    cells = _cells(made, len(types))
    if cells is None:
        cells = _cells_of_each(runner, wrapper, arguments, made, owners, len(types))
    columns = [result_column(runner, values, each, wrapper.name) for values, each in zip(cells, types)]
    return owners, columns


def _cells(made: list[Any], width: int) -> list[list[Any]] | None:
    """The columns of rows that all have the same plain form; None if each row has to be inspected."""
    kinds = set(map(type, made))
    if kinds == {tuple} and set(map(len, made)) == {width}:
        return [list(map(itemgetter(place), made)) for place in range(width)]
    if width == 1 and not any(issubclass(kind, (tuple, Row)) for kind in kinds):
        return [made]
    return None


def _cells_of_each(
    runner: FunctionRunner, wrapper: Any, arguments: Arguments, made: list[Any], owners: Any, width: int
) -> list[list[Any]]:
    """The columns of rows in any mix of forms."""
    rows: list[Sequence[Any]] = []
    try:
        rows.extend(row_values(result, width) for result in made)
    except Exception as error:
        raise runner.error(error, f"{wrapper.name}()", arguments.row(int(owners[len(rows)]))) from error
    return [list(map(itemgetter(place), rows)) for place in range(width)]
