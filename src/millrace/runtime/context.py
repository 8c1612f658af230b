"""The RuntimeContext that user functions see."""

from __future__ import annotations

from typing import Any

from millrace.datastream.functions import RuntimeContext
from millrace.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from millrace.metrics.metricbase import MetricGroup
from millrace.runtime.state.backend import KeyedStateBackend


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
        metrics: MetricGroup | None = None,
    ) -> None:
        self._task_name = task_name
        self._subtask = subtask
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._attempt = attempt
        self._job_parameters = job_parameters or {}
        self._metrics = metrics if metrics is not None else MetricGroup()
        self.keyed: KeyedStateBackend | None = None
        """set by keyed operators"""

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

    def get_metrics_group(self) -> MetricGroup:
        return self._metrics

    def _backend(self, descriptor: StateDescriptor) -> KeyedStateBackend:
        if self.keyed is None:
            raise RuntimeError(
                f"Keyed state {descriptor.get_name()!r} can only be used on a keyed stream, i.e. after key_by()."
            )
        return self.keyed

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        return self._backend(state_descriptor).get_state(state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return self._backend(state_descriptor).get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        return self._backend(state_descriptor).get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        return self._backend(state_descriptor).get_reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState[Any, Any]:
        return self._backend(state_descriptor).get_aggregating_state(state_descriptor)
