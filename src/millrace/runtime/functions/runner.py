"""Opens, closes and wraps the user's functions in a subtask: their life, their errors, and checks of their results.

A wrapper (``UdfCall.function``, ``AggCall.udf``, ``Correlate.udf``) has ``name``, ``function`` (an object with
``open``, ``close`` and the methods of its kind), ``vectorized``, ``asynchronous``, and ``result_type``, or ``row_type``
of a table function. Results are converted to the declared type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from millrace.common.types import Row
from millrace.metrics.metricbase import MetricGroup
from millrace.relational.rex import AggCall, Rex, SortKey, UdfCall, walk
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.runtime.bases.operator import NO_ELEMENT, OperatorContext
from millrace.runtime.bases.runtime_context import OperatorRuntimeContext
from millrace.runtime.failure import OperatorError
from millrace.runtime.functions.asynchronous import AsyncSettings, LoopThread, call_all


class TaskFunctionContext:
    """The task's implementation of ``millrace.table.functions.udf.FunctionContext``."""

    def __init__(self, runtime: OperatorRuntimeContext, metrics: bool) -> None:
        self._runtime = runtime
        self._metrics = metrics

    def get_metric_group(self) -> MetricGroup:
        """:raises RuntimeError: metrics are off (``python.metric.enabled``)."""
        if not self._metrics:
            raise RuntimeError("metrics are off: set python.metric.enabled to true")
        return self._runtime.get_metrics_group()

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._runtime.get_job_parameter(key, default_value)

    def get_cached_file(self, name: str) -> str:
        return self._runtime.get_distributed_cache().get_file(name)

    def get_task_name(self) -> str:
        return self._runtime.get_task_name()

    def get_task_name_with_subtasks(self) -> str:
        return self._runtime.get_task_name_with_subtasks()

    def get_number_of_parallel_subtasks(self) -> int:
        return self._runtime.get_number_of_parallel_subtasks()

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._runtime.get_max_number_of_parallel_subtasks()

    def get_index_of_this_subtask(self) -> int:
        return self._runtime.get_index_of_this_subtask()

    def get_attempt_number(self) -> int:
        return self._runtime.get_attempt_number()


def wrappers_in(part: Any) -> Iterator[Any]:
    """The wrapper (``table.udf``) of each call in a part of an operator's description."""
    if isinstance(part, Rex):
        yield from (each.function for each in walk(part) if isinstance(each, UdfCall))
    elif isinstance(part, AggCall):
        if part.udf is not None:
            yield part.udf
        yield from wrappers_in(tuple(part.inputs()))
    elif isinstance(part, SortKey):
        yield from wrappers_in(part.expression)
    elif isinstance(part, (tuple, list)):
        for each in part:
            yield from wrappers_in(each)


class FunctionRunner:
    """All functions of one operator in one subtask: each is opened and closed once, however often the plan uses it.

    ``evaluator.py`` and ``aggregates.py`` call the functions.
    """

    def __init__(
        self, context: OperatorContext, configuration: Mapping[str, str], wrappers: Iterable[Any] = ()
    ) -> None:
        self.configuration = configuration
        self.context = context
        self._wrappers = {id(wrapper): wrapper for wrapper in wrappers}
        self._functions = {id: wrapper.function for id, wrapper in self._wrappers.items()}
        self._opened: list[int] = []
        self._settings = AsyncSettings()
        self._loop: LoopThread | None = None

    def __bool__(self) -> bool:
        """Whether there are functions."""
        return bool(self._functions)

    def of(self, wrapper: Any) -> Any:
        """The function object of a wrapper."""
        return self._functions[id(wrapper)]

    def open(self) -> None:
        """Open the functions, and start the event loop of asynchronous ones.

        :raises OperatorError: a function cannot be opened; those before it are closed by ``close``.
        :raises ValueError: an option of asynchronous functions is not understood.
        """
        if any(each.asynchronous for each in self._wrappers.values()):
            self._settings = AsyncSettings.of(self.configuration)
            self._loop = LoopThread("millrace-async-udf")
            self._loop.start()
        metrics = self.configuration.get("python.metric.enabled", "true") == "true"
        for id, function in self._functions.items():
            try:
                function.open(TaskFunctionContext(self.context.runtime, metrics))
            except Exception as error:
                raise self.error(error, f"open() of {self._wrappers[id].name}") from error
            self._opened.append(id)

    def close(self) -> None:
        """Close the functions that were opened, all of them even if one fails.

        :raises OperatorError: the first one that failed.
        """
        opened, self._opened = self._opened, []
        failed: OperatorError | None = None
        for id in opened:
            try:
                self._functions[id].close()
            except Exception as error:
                failed = failed or self.error(error, f"close() of {self._wrappers[id].name}")
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.close()
        if failed is not None:
            raise failed

    def __enter__(self) -> FunctionRunner:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def error(self, error: BaseException, where: str, args: Any = NO_ELEMENT) -> OperatorError:
        """The error to raise when the user's code failed.

        :param where: the method, e.g. ``open() of name``.
        :param args: the arguments of the failed call.
        """
        return self.context.error(error, args, f" in {where}")

    def concurrently(self, function: Any, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The results of an asynchronous function for each row, with the settings ``table.exec.async-scalar.*``. Raises
        what ``call_all`` raises."""
        assert self._loop is not None, "the runner is open"
        return call_all(self._loop, function, rows, self._settings)


_MISFITS = (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError)


def result_column(runner: FunctionRunner, values: list[Any], data_type: DataType, name: str) -> pa.Array:
    """Results of the function ``name`` as a column.

    :raises OperatorError: a value does not fit into the declared type.
    """
    try:
        column = to_arrow(values, data_type)
        if column.null_count and not data_type.is_nullable:
            raise TypeError("the type has no NULL")
    except _MISFITS as error:
        wrong = next((value for value in values if not _fits(value, data_type)), None)
        told = TypeError(f"{name}() is declared as {data_type} and returned {wrong!r}: {error}")
        raise runner.error(told, f"{name}()", wrong) from error
    return column


def _fits(value: Any, data_type: DataType) -> bool:
    try:
        missing = to_arrow([value], data_type).null_count
    except Exception:
        return False
    return data_type.is_nullable or not missing


def result_rows(results: Any) -> Any:
    """The rows that a table function returned. As in PyFlink, None is no row, and a value that is no list, range or
    iterator is one row."""
    if results is None:
        return ()
    return results if isinstance(results, (list, range, Iterator)) else (results,)


def row_values(result: Any, width: int) -> Sequence[Any]:
    """The values of one row: a Row, a tuple or a list of ``width`` values; a single value need not be wrapped.

    :raises ValueError: it has another number of values.
    """
    values: Sequence[Any]
    if isinstance(result, tuple):
        values = result
    elif isinstance(result, Row):
        values = tuple(result)
    else:
        # The list of a function with one column is its value, an array.
        values = result if isinstance(result, list) and width != 1 else (result,)
    if len(values) != width:
        raise ValueError(f"the function makes rows of {width} columns, but gave {result!r}")
    return values
