"""Functions of the user as the engine calls them: the one place that knows the wrappers of ``table.udf``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from millrace.common.configuration import Configuration
from millrace.common.execution_config import ExecutionConfig
from millrace.common.types import Row
from millrace.relational.arrow import arrow_type
from millrace.relational.evaluate import Evaluator, repeat
from millrace.relational.functions.registry import Column, Surroundings, find_scalar
from millrace.relational.rex import Call, Rex, UdfCall, walk
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow, to_python
from millrace.table.udf import FunctionContext


class UserFunctions:
    """The functions of one task: each is opened once, when it is first called, and closed at the end."""

    def __init__(self, configuration: dict[str, str]) -> None:
        parameters = ExecutionConfig(Configuration.from_dict(configuration)).get_global_job_parameters()
        self._context = FunctionContext(None, parameters)  # type: ignore[arg-type]
        self._configuration = configuration
        self._open: dict[int, Any] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def function(self, wrapper: Any) -> Any:
        """The opened function object of a wrapper."""
        found = self._open.get(id(wrapper))
        if found is None:
            found = wrapper.function
            found.open(self._context)
            self._open[id(wrapper)] = found
        return found

    def scalar(self, call: UdfCall, args: Sequence[pa.Array], length: int) -> pa.Array:
        """A row, vectorised or asynchronous function over columns."""
        function = self.function(call.function)
        if call.vectorized:
            return self._vectorized(function, call, args, length)
        rows = _rows(args, [arg.type for arg in call.args], length)
        if call.asynchronous:
            values = self._run(_gather(function, rows))
        else:
            values = [function.eval(*row) for row in rows]
        return to_arrow(list(values), call.type)

    def _vectorized(self, function: Any, call: UdfCall, args: Sequence[pa.Array], length: int) -> pa.Array:
        # pandas is slow to import, and most queries have no such function.
        from millrace.runtime.tables.vectors import batch_size, call_vectorized

        size = batch_size(self._configuration)
        return call_vectorized(function.eval, args, arrow_type(call.type), length, size, call.name)

    def aggregate(self, wrapper: Any, types: Sequence[DataType]) -> Callable[[Sequence[pa.Array], int], Any]:
        """What makes the value of a group of its arguments (as columns) and how many rows it has."""
        function = self.function(wrapper)

        def value(args: Sequence[pa.Array], length: int) -> Any:
            return function.get_value(_accumulated(function, wrapper, args, types, length))

        return value

    def table_aggregate(
        self, wrapper: Any, types: Sequence[DataType], width: int
    ) -> Callable[[Sequence[pa.Array], int], list[Any]]:
        """What makes the rows of a group, each a tuple of ``width`` values or a Row."""
        function = self.function(wrapper)

        def rows(args: Sequence[pa.Array], length: int) -> list[Any]:
            found = function.emit_value(_accumulated(function, wrapper, args, types, length))
            return [_as_row(each, width) for each in found or ()]

        return rows

    def _run(self, work: Any) -> Any:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(work)

    def close(self) -> None:
        for function in self._open.values():
            function.close()
        self._open.clear()
        if self._loop is not None:
            self._loop.close()
            self._loop = None


def _accumulated(function: Any, wrapper: Any, args: Sequence[pa.Array], types: Sequence[DataType], length: int) -> Any:
    """The accumulator of all rows of a group. A vectorised function takes them at once."""
    accumulator = function.create_accumulator()
    if wrapper.vectorized:
        from millrace.runtime.tables.vectors import to_pandas

        function.accumulate(accumulator, *map(to_pandas, args))
    else:
        for row in _rows(args, types, length):
            function.accumulate(accumulator, *row)
    return accumulator


def _as_row(value: Any, width: int) -> Any:
    """One result of a function with ``width`` columns: a single value need not be wrapped."""
    if isinstance(value, (Row, tuple)):
        return value
    return (value,) if width == 1 or not isinstance(value, list) else value


async def _gather(function: Any, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    return await asyncio.gather(*(function.eval(*row) for row in rows))


def _rows(args: Sequence[pa.Array], types: Sequence[DataType], length: int) -> Iterable[tuple[Any, ...]]:
    if not args:
        return [()] * length
    return zip(*(to_python(arg, kind) for arg, kind in zip(args, types)))


class UserEvaluator(Evaluator):
    """An evaluator that also calls functions of the user: those inside each other without leaving the process."""

    def __init__(self, columns: Sequence[pa.Array], surroundings: Surroundings, functions: UserFunctions) -> None:
        super().__init__(columns, surroundings)
        self._functions = functions
        self._called: dict[tuple[int, ...], tuple[Sequence[Column], Column]] = {}
        """with the arguments, whose ids must not be given to others"""

    def over(self, columns: Sequence[pa.Array], surroundings: Surroundings) -> UserEvaluator:
        return UserEvaluator(columns, surroundings, self._functions)

    def value(self, expression: Rex) -> Column:
        return self._user_call(expression) if isinstance(expression, UdfCall) else super().value(expression)

    def _user_call(self, call: UdfCall) -> Column:
        given = [self.value(arg) for arg in call.args]
        # Calls are equal that call different functions of one name.
        key = (id(call.function), *map(id, given))
        known = self._called.get(key)
        if known is None or not call.deterministic:
            args = [repeat(each, self.length) if isinstance(each, pa.Scalar) else each for each in given]
            known = self._called[key] = given, self._functions.scalar(call, args, self.length)
        return known[1]

    def _call(self, expression: Call) -> Column:
        function = find_scalar(expression.function)
        if function is not None and function.by_need is not None and _calls_user(expression):
            # A function of the user may fail in any way, or have effects: in a CASE it sees the rows of its branch.
            return function.by_need(expression, self)
        return super()._call(expression)


def _calls_user(expression: Rex) -> bool:
    return any(isinstance(part, UdfCall) for part in walk(expression))


def table_rows(
    function: Any, args: Sequence[pa.Array], types: Sequence[DataType], length: int, width: int
) -> Iterator[list[Any]]:
    """What a table function makes of each row: rows of ``width`` values."""
    for row in _rows(args, types, length):
        found = function.eval(*row)
        if found is None:
            yield []
        elif isinstance(found, (list, range, Iterator)):
            yield [_as_row(each, width) for each in found]
        else:
            # One result: a text or a tuple is not many of them.
            yield [_as_row(found, width)]
