"""The outcome of a finished job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from millrace.common.jobs.job_id import JobID

if TYPE_CHECKING:
    from millrace.metrics.report import MetricsReport

__all__ = ["DetachedJobExecutionResult", "JobExecutionResult"]


class JobExecutionResult:
    """Id, run time, accumulators and metrics of a finished job.

        >>> sink = env.from_collection([1]).print()
        >>> result = env.execute()
        1
        >>> result.get_net_runtime() >= 0
        True
    """

    def __init__(
        self,
        job_id: JobID,
        net_runtime_ms: int,
        accumulators: Mapping[str, Any] | None = None,
        metrics: MetricsReport | None = None,
    ) -> None:
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})
        self._metrics = metrics

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """Run time of the job in ms, without planning and submission."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """Value of one accumulator, None when the job had no such accumulator.

            >>> class Counted(MapFunction):
            ...     def open(self, runtime_context):
            ...         self.seen = runtime_context.get_int_counter("seen")
            ...     def map(self, value):
            ...         self.seen.add(1)
            ...         return value
            >>> sink = env.from_collection(["a", "b"]).map(Counted()).print()
            >>> env.execute().get_accumulator_result("seen")
            a
            b
            2
        """
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """Those of the program. What Millrace counts itself (``millrace.records-read``) is there by name."""
        return {name: value for name, value in self._accumulators.items() if not name.startswith("millrace.")}

    def get_metrics(self) -> MetricsReport:
        """The job's metrics at its end (our addition). Raises ``RuntimeError`` if they were not gathered.

            >>> sink = env.from_collection([1]).print()
            >>> metrics = env.execute().get_metrics()
            1
        """
        if self._metrics is None:
            raise RuntimeError(f"no metrics of job {self._job_id} were gathered")
        return self._metrics

    def __str__(self) -> str:
        lines = [
            "Program execution finished",
            f"Job with JobID {self._job_id} has finished.",
            f"Job Runtime: {self._net_runtime_ms} ms",
        ]
        if self._accumulators:
            lines.append("Accumulator Results:")
            lines += [f"- {name} ({type(value).__name__}): {value}" for name, value in self._accumulators.items()]
        return "\n".join(lines)


class DetachedJobExecutionResult(JobExecutionResult):
    """What is known of a job that is not waited for: its id."""

    def __init__(self, job_id: JobID) -> None:
        super().__init__(job_id, -1)

    def get_net_runtime(self) -> NoReturn:
        self._refuse()

    def get_accumulator_result(self, accumulator_name: str) -> NoReturn:
        self._refuse()

    def get_all_accumulator_results(self) -> NoReturn:
        self._refuse()

    def get_metrics(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise RuntimeError(f"job {self._job_id} was submitted, and not waited for (execution.attached is false)")

    def __str__(self) -> str:
        return f"DetachedJobExecutionResult: JobID={self._job_id}"
