"""Expressions that call functions of the user, computed on columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from millrace.relational.functions import evaluate
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Column, Surroundings, find_scalar
from millrace.relational.rex import Call, Literal, Ref, Rex, UdfCall, rewrite
from millrace.relational.rules.determinism import is_expensive
from millrace.relational.types import DataType
from millrace.relational.values import to_python
from millrace.runtime.functions.arguments import Arguments
from millrace.runtime.functions.results import result_column
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.functions.scalars import call_with_columns, call_with_rows


class Values:
    """The results of a call for a batch: a column, or Python values. The other form is made when it is asked for."""

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
    """An evaluator that also calls functions of the user.

    Equal calls are made once. Where one function is given what another one returned, the values are handed over as
    they are; columns are made only for built-in functions, vectorised ones, and for the result.
    """

    def __init__(self, columns: Sequence[pa.Array], surroundings: Surroundings, functions: FunctionRunner) -> None:
        super().__init__(columns, surroundings)
        self.functions = functions
        self._results: dict[tuple[int, ...], tuple[Sequence[Given], Values]] = {}
        """with the arguments, whose ids must not be given to others"""
        self._lists: dict[int, tuple[Column, list[Any]]] = {}
        """columns as Python values"""

    def over(self, columns: Sequence[pa.Array], surroundings: Surroundings) -> FunctionEvaluator:
        return FunctionEvaluator(columns, surroundings, self.functions)

    def value(self, expression: Rex) -> Column:
        return self._called(expression).column() if isinstance(expression, UdfCall) else super().value(expression)

    def arguments(self, args: Sequence[Rex]) -> Arguments:
        """The arguments of each row for a call."""
        return self._arguments(args, [self._given(arg) for arg in args])

    def some_rows(self, rows: Any, expression: Rex) -> pa.Array:
        """As in the base class. A function that was called for all rows is not called again for some of them."""
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
        # Calls are equal that call different functions of one name.
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
            # A function of the user may fail in any way, or have effects: in a CASE it sees the rows of its branch.
            return function.by_need(expression, self)
        return super()._call(expression)
