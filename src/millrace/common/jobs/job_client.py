"""What a program can ask of a job that it submitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from millrace.common.jobs.completable_future import CompletableFuture
from millrace.common.jobs.job_execution_result import JobExecutionResult
from millrace.common.jobs.job_id import JobID
from millrace.common.jobs.job_status import JobStatus

if TYPE_CHECKING:
    from millrace.metrics.report import MetricsReport

__all__ = ["JobClient"]


class JobClient(ABC):
    """A handle on one job; ``StreamExecutionEnvironment.execute_async`` returns one.

        >>> sink = env.from_collection([1]).print()
        >>> client = env.execute_async("one")
        1
        >>> client.get_job_execution_result().result().get_all_accumulator_results()
        {}
    """

    @abstractmethod
    def get_job_id(self) -> JobID:
        """The id of the job."""

    @abstractmethod
    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """The status of the job, as a future."""

    @abstractmethod
    def cancel(self) -> CompletableFuture[Any]:
        """Cancel the job; the future completes when the request has been accepted."""

    @abstractmethod
    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Take a savepoint and stop; the result is its path. ``advance_to_end_of_event_time``: fire timers first."""

    @abstractmethod
    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint while the job goes on; the result is its path."""

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Name -> value of the job's accumulators, as of its last completed epoch."""

    @abstractmethod
    def get_metrics(self) -> MetricsReport:
        """The job's metrics, as of its last completed epoch (our addition)."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, once the job is over; completes with the job's exception when it failed."""
