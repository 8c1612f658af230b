"""The RuntimeContext that user functions see."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from millrace.common.accumulators import Accumulator, DoubleCounter, Histogram, IntCounter, LongCounter
from millrace.common.files.distributed_cache import DistributedCache
from millrace.common.functions import RuntimeContext
from millrace.common.jobs.job_id import JobID
from millrace.common.jobs.job_info import JobInfo
from millrace.common.state import (
    StateDescriptor,
)
from millrace.metrics.metricbase import MetricGroup
from millrace.runtime.clocks import now_millis
from millrace.runtime.context.global_aggregate import SubtaskAggregates
from millrace.runtime.context.measures import Measures
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.state_time import StateTime


class OperatorRuntimeContext(RuntimeContext):
    """Who this subtask is, its metrics and, on a keyed stream, its state."""

    def __init__(
        self,
        task_name: str,
        subtask: int,
        parallelism: int,
        max_parallelism: int,
        attempt: int = 0,
        job_parameters: dict[str, str] | None = None,
        job: JobInfo | None = None,
        cached_files: Mapping[str, str] | None = None,
        clock: Callable[[], int] = now_millis,
    ) -> None:
        self._task_name = task_name
        self._subtask = subtask
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._attempt = attempt
        self._job_parameters = job_parameters or {}
        self._job = job if job is not None else JobInfo(JobID("0" * 32), task_name)
        self._cache = DistributedCache(cached_files or {})
        self.measures = Measures(clock)
        self.aggregates = SubtaskAggregates()
        self.keyed: KeyedStateBackend | None = None
        """set by keyed operators"""
        self.new_keyed_state: Callable[[StateTime], KeyedStateBackend] = KeyedStateBackend
        """how they make it"""
        self.restored_checkpoint: int | None = None
        """the epoch at whose end the state was that this copy goes on from; None: it begins"""

    def get_task_name(self) -> str:
        return self._task_name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._subtask

    def get_attempt_number(self) -> int:
        return self._attempt

    def get_task_name_with_subtasks(self) -> str:
        return f"{self._task_name} ({self._subtask + 1}/{self._parallelism})"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._job_parameters.get(key, default_value)

    def get_global_job_parameters(self) -> dict[str, str]:
        return dict(self._job_parameters)

    def get_job_info(self) -> JobInfo:
        return self._job

    def get_metrics_group(self) -> MetricGroup:
        return self.measures.metrics

    def get_distributed_cache(self) -> DistributedCache:
        return self._cache

    def get_global_aggregate_manager(self) -> SubtaskAggregates:
        return self.aggregates

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        self.measures.accumulators.add(name, accumulator)

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        return self.measures.accumulators.get(name)

    def get_int_counter(self, name: str) -> IntCounter:
        return self.measures.accumulators.get_or_add(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        return self.measures.accumulators.get_or_add(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        return self.measures.accumulators.get_or_add(name, DoubleCounter)

    def get_histogram(self, name: str) -> Histogram:
        return self.measures.accumulators.get_or_add(name, Histogram)

    def without_state(self) -> OperatorRuntimeContext:
        """For functions beside the operator, such as key selectors: they have no keyed state."""
        context = copy.copy(self)
        context.keyed = None
        return context

    def get_any(self, state_descriptor: StateDescriptor) -> Any:
        if self.keyed is None:
            raise RuntimeError(
                f"Keyed state {state_descriptor.get_name()!r} can only be used on a keyed stream, i.e. after key_by()."
            )
        return self.keyed.get_any(state_descriptor)
