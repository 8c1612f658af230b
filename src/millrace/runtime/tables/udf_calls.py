"""Scalar functions of the user: a projection, or a filter, that calls them.

The calls of an operator are made in one pass over a batch, inner ones first. Where one function is given what another
one returned, the values are handed over as they are; columns are made only for built-in functions and for the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat, starmap
from typing import Any

import pyarrow as pa

from millrace.relational.arrow import arrow_type
from millrace.relational.nodes import Schema
from millrace.relational.rex import Literal, Ref, Rex, UdfCall, refs, rewrite, walk
from millrace.relational.rows import Rows
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow, to_python
from millrace.runtime.asynchronous.loop import LoopThread
from millrace.runtime.operators.base import failing
from millrace.runtime.tables.async_calls import AsyncSettings, CallFailed, call_all
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.user_functions import UserFunctions


@dataclass(frozen=True, kw_only=True)
class UdfProject(TableConfig):
    """A ``Filter`` and a ``Project`` whose expressions call functions of the user at any depth."""

    input: Schema
    condition: Rex | None = None
    """rows for which it is not TRUE are left out, before the expressions are computed"""
    expressions: tuple[Rex, ...] | None = None
    """None: the columns of the input"""

    def operator(self) -> UdfProjectOperator:
        return UdfProjectOperator(self)


class UdfProjectOperator(TableOperator[UdfProject]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        config, width = self.config, len(self.config.input)
        self._condition = _Steps(width, () if config.condition is None else (config.condition,))
        self._projection = _Steps(width, config.expressions or ())
        calls = [*self._condition.calls, *self._projection.calls]
        self._functions = UserFunctions(self, [call.function for call in calls])
        self._loop = LoopThread("millrace-async-udf") if any(call.asynchronous for call in calls) else None

    def open(self) -> None:
        configuration = self.config.environment.configuration
        self._settings = AsyncSettings.of(configuration)
        if self._loop is not None:
            self._loop.start()
        self._functions.open()

    def close(self) -> None:
        self._functions.close()
        if self._loop is not None:
            self._loop.close()

    def receive(self, rows: Rows, input: int) -> None:
        if self.config.condition is not None:
            found = self._compute(rows, self._condition)
            rows = rows.where(found[0])
        if self.config.expressions is not None and len(rows):
            rows = rows.with_columns(self._compute(rows, self._projection))
        self.emit_rows(rows)

    def _compute(self, rows: Rows, steps: _Steps) -> list[pa.Array]:
        values = _Values(self, rows, [column.type for column in self.config.input])
        for call in steps.calls:
            values.add(self._call(call, values, len(rows)), call)
        return [values.column(expression) for expression in steps.results]

    def _call(self, call: UdfCall, values: _Values, length: int) -> Any:
        """The results: a list of Python values, or a column of a vectorised function."""
        if call.vectorized:
            return self._call_vectorized(call, [values.column(arg) for arg in call.args], length)
        args = [values.python(arg) for arg in call.args]
        # A constant has no end, and without arguments zip has nothing to zip.
        rows = list(islice(zip(*args), length)) if args else [()] * length
        function = self._functions.of(call.function).eval
        if call.asynchronous:
            return self._call_async(call, function, rows)
        remaining = iter(rows)
        try:
            return list(starmap(function, remaining))
        except Exception as error:
            raise self._failed(call, error, failing(rows, remaining)) from error

    def _call_async(self, call: UdfCall, function: Any, rows: list[tuple[Any, ...]]) -> list[Any]:
        assert self._loop is not None
        try:
            return call_all(self._loop, function, rows, self._settings)
        except CallFailed as failed:
            raise self._failed(call, failed.cause, failed.arguments) from failed.cause

    def _call_vectorized(self, call: UdfCall, args: list[pa.Array], length: int) -> pa.Array:
        # pandas is slow to import, and most jobs have no such function.
        from millrace.runtime.tables.vectors import batch_size, call_vectorized

        function, size = self._functions.of(call.function).eval, batch_size(self.config.environment.configuration)
        try:
            return call_vectorized(function, args, arrow_type(call.type), length, size, call.name)
        except Exception as error:
            raise self.context.error(error, during=f" in {call.name}()") from error

    def _failed(self, call: UdfCall, error: BaseException, args: tuple[Any, ...]) -> Exception:
        return self.context.error(error, args, f" in {call.name}()")


class _Steps:
    """Expressions, taken apart: the calls of functions in the order in which they can be made, each with its arguments
    over the columns of the input and the results of the calls before it, then what is computed of all of them."""

    def __init__(self, width: int, expressions: Sequence[Rex]) -> None:
        self._width = width
        self._known: dict[UdfCall, int] = {}
        self.calls: list[UdfCall] = []
        self.results = [self._taken_apart(expression) for expression in expressions]

    def _taken_apart(self, expression: Rex) -> Rex:
        return rewrite(expression, lambda part: self._result_of(part) if isinstance(part, UdfCall) else None)

    def _result_of(self, call: UdfCall) -> Ref:
        call = replace(call, args=tuple(self._taken_apart(arg) for arg in call.args))
        known = self._known.get(call) if call.deterministic else None
        if known is None:
            known = self._width + len(self.calls)
            self._known[call] = known
            self.calls.append(call)
        return Ref(call.type, known)


class _Values:
    """The columns of a batch and the results of calls, in the forms that are asked for."""

    def __init__(self, operator: TableOperator[Any], rows: Rows, types: Sequence[DataType]) -> None:
        self._operator = operator
        self._length = len(rows)
        # A batch of no columns has one nevertheless, which carries its length.
        self._columns: list[pa.Array | None] = list(rows.columns)[: len(types)]
        self._lists: list[list[Any] | None] = [None] * len(self._columns)
        self._types = list(types)
        self._calls: dict[int, UdfCall] = {}

    def add(self, results: Any, call: UdfCall) -> None:
        """The next column, the results of a call: a list of Python values, or a column."""
        is_list = isinstance(results, list)
        self._columns.append(None if is_list else results)
        self._lists.append(results if is_list else None)
        self._calls[len(self._types)] = call
        self._types.append(call.type)

    def python(self, expression: Rex) -> Any:
        """The values of an expression as a list in the form that functions take, or a constant without end."""
        if isinstance(expression, Literal):
            return repeat(expression.value)
        if not isinstance(expression, Ref):
            return to_python(self.column(expression), expression.type)
        known = self._lists[expression.index]
        if known is None:
            known = self._lists[expression.index] = to_python(self._column(expression.index), expression.type)
        return known

    def column(self, expression: Rex) -> pa.Array:
        if isinstance(expression, Ref):
            return self._column(expression.index)
        needed = refs(expression)
        columns = [self._column(index) if index in needed else None for index in range(len(self._columns))]
        return self._operator.evaluator(columns, self._length).column(expression)

    def _column(self, index: int) -> pa.Array:
        known = self._columns[index]
        if known is None:
            values = self._lists[index]
            assert values is not None
            known = self._columns[index] = _column_of(values, self._calls[index])
        return known


def _column_of(values: list[Any], call: UdfCall) -> pa.Array:
    """
    :raises TypeError: a value does not fit into the declared type.
    """
    try:
        column = to_arrow(values, call.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, AttributeError, OverflowError) as error:
        wrong = next((value for value in values if not _fits(value, call.type)), None)
        raise TypeError(f"{call.name}() is declared as {call.type} and returned {wrong!r}: {error}") from error
    if column.null_count and not call.type.is_nullable:
        raise TypeError(f"{call.name}() is declared as {call.type} and returned None")
    return column


def _fits(value: Any, data_type: DataType) -> bool:
    try:
        to_arrow([value], data_type)
    except Exception:
        return False
    return True


def calls_functions(expression: Rex) -> bool:
    """Whether there is a call of a user's scalar function in an expression: ``UdfProject`` computes it."""
    return any(isinstance(part, UdfCall) for part in walk(expression))
