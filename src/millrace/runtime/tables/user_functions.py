"""The user's scalar and table functions in a task: the one place that knows what the Table API wraps them in.

A wrapper (``UdfCall.function``, ``Correlate.udf``) has ``name``, ``function`` (an object with ``open``, ``eval`` and
``close``) and ``result_type``, or ``row_type`` of a table function.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millrace.metrics.metricbase import MetricGroup
from millrace.runtime.context import OperatorRuntimeContext
from millrace.runtime.tables.base import TableOperator


class TaskFunctionContext:
    """What ``open`` of a function is given: the methods of ``millrace.table.udf.FunctionContext``."""

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


class UserFunction:
    """One function of the user in one subtask."""

    def __init__(self, wrapper: Any) -> None:
        self.name: str = wrapper.name
        self.function = wrapper.function
        self.eval: Any = getattr(self.function, "eval", None)
        """None for an aggregate function"""


class UserFunctions:
    """All functions of an operator: each is opened and closed once, however often it is called in the plan."""

    def __init__(self, operator: TableOperator[Any], wrappers: Iterable[Any]) -> None:
        self._operator = operator
        self._functions = {id(wrapper): UserFunction(wrapper) for wrapper in wrappers}
        self._opened: list[UserFunction] = []

    def of(self, wrapper: Any) -> UserFunction:
        return self._functions[id(wrapper)]

    def open(self) -> None:
        context = self._operator.context
        metrics = self._operator.config.environment.configuration.get("python.metric.enabled", "true") == "true"
        for each in self._functions.values():
            try:
                each.function.open(TaskFunctionContext(context.runtime, metrics))
            except Exception as error:
                raise context.error(error, during=f" in open() of {each.name}") from error
            self._opened.append(each)

    def close(self) -> None:
        opened, self._opened = self._opened, []
        for each in opened:
            try:
                each.function.close()
            except Exception as error:
                raise self._operator.context.error(error, during=f" in close() of {each.name}") from error
