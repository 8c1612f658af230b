"""What ``open`` of a function is given."""

from __future__ import annotations

from millrace.metrics.metricbase import MetricGroup
from millrace.runtime.context.context import OperatorRuntimeContext


class TaskFunctionContext:
    """The methods of ``millrace.table.functions.udf.FunctionContext``, answered by the task."""

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
