"""Jobs as a program sees them: identifier, state, what a function can know of its job (Flink's
``org.apache.flink.api.common.JobInfo``), the future that asynchronous operations return, the outcome, and the
client.
"""

from __future__ import annotations

import concurrent.futures
import enum
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

if TYPE_CHECKING:
    from millrace.metrics.report import MetricsReport


_HEX = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class JobID:
    """32 hexadecimal characters; raises ``ValueError`` on anything else.

    >>> len(str(JobID.generate()))
    32
    """

    value: str

    def __post_init__(self) -> None:
        if not isinstance(self.value, str) or not _HEX.fullmatch(self.value):
            raise ValueError(f"a JobID has 32 lower-case hexadecimal characters, got {self.value!r}")

    @staticmethod
    def generate() -> JobID:
        """A new random id."""
        return JobID(uuid.uuid4().hex)

    def __str__(self) -> str:
        return self.value


class JobStatus(enum.Enum):
    """States of a job once it has been accepted.

    >>> JobStatus.FINISHED.is_globally_terminal_state()
    True
    """

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    """Failed, clean-up under way."""
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    """Stopped here, but still recoverable elsewhere."""
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Whether the job has ended finally: it will not be restarted or recovered."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether the job is over for the process that ran it (adds ``SUSPENDED``)."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()


@dataclass(frozen=True)
class JobInfo:
    """Id and name of a job."""

    job_id: JobID
    job_name: str

    def get_job_id(self) -> JobID:
        return self.job_id

    def get_job_name(self) -> str:
        return self.job_name


T = TypeVar("T")
"""Type of the result."""


class CompletableFuture(Generic[T]):
    """A result that may not be available yet.

    ``future`` is what completes it (None: a fresh one, completed through ``future()``); ``py_class``, when
    given, converts its result.

        >>> future = CompletableFuture.of(3)
        >>> future.done(), future.result()
        (True, 3)
    """

    def __init__(
        self, future: concurrent.futures.Future[Any] | None = None, py_class: Callable[[Any], T] | None = None
    ) -> None:
        self._future: concurrent.futures.Future[Any] = concurrent.futures.Future() if future is None else future
        self._py_class = py_class

    @staticmethod
    def of(value: T) -> CompletableFuture[T]:
        """A future that is already completed with ``value``."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        future.set_result(value)
        return CompletableFuture(future)

    def future(self) -> concurrent.futures.Future[Any]:
        """The standard library's future underneath, for ``asyncio.wrap_future`` and callbacks."""
        return self._future

    def cancel(self) -> bool:
        """Try to cancel; whether the future is cancelled now.

        >>> CompletableFuture.of(3).cancel()
        False
        """
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether it completed in any way: with a result, with an exception, or by cancellation."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result, at most ``timeout`` seconds; raises what the operation raised."""
        value = self._future.result(timeout)
        return value if self._py_class is None else self._py_class(value)

    def exception(self) -> BaseException | None:
        """The exception it completed with; None when there is none or it is not done. Does not wait."""
        if not self._future.done():
            return None
        if self._future.cancelled():
            return concurrent.futures.CancelledError()
        return self._future.exception()

    def __str__(self) -> str:
        if not self.done():
            state = "Not completed"
        elif self.exception() is None:
            state = "Completed normally"
        else:
            state = "Completed exceptionally"
        return f"CompletableFuture[{state}]"


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
        """Values of all accumulators of the program. Those of Millrace (``millrace.records-read``) are available by
        name only."""
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
    """The result of a detached job, of which only the id is known."""

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
        """Take a savepoint while the job continues; the result is its path."""

    @abstractmethod
    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Name -> value of the job's accumulators, as of its last completed epoch."""

    @abstractmethod
    def get_metrics(self) -> MetricsReport:
        """The job's metrics, as of its last completed epoch (our addition)."""

    @abstractmethod
    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, once the job is over; completes with the job's exception when it failed."""
