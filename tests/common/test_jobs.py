"""JobID, JobStatus, JobExecutionResult, JobClient and CompletableFuture."""

from __future__ import annotations

import concurrent.futures
import pickle

import pytest

from millrace.common.jobs import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus


def test_job_ids() -> None:
    job_id = JobID.generate()
    assert len(str(job_id)) == 32
    assert int(str(job_id), 16) >= 0
    assert job_id != JobID.generate()
    assert {JobID(str(job_id)), pickle.loads(pickle.dumps(job_id))} == {job_id}
    for wrong in ("", "x" * 32, "0" * 31, "A" * 32, None):
        with pytest.raises(ValueError, match="32 lower-case hexadecimal"):
            JobID(wrong)  # type: ignore[arg-type]


def test_terminal_states() -> None:
    over = {status.name for status in JobStatus if status.is_terminal_state()}
    over_for_good = {status.name for status in JobStatus if status.is_globally_terminal_state()}
    assert over_for_good == {"FAILED", "CANCELED", "FINISHED"}
    assert over == over_for_good | {"SUSPENDED"}


def test_result() -> None:
    job_id = JobID("0" * 32)
    result = JobExecutionResult(job_id, 12, {"lines": 3})
    assert (result.get_job_id(), result.get_net_runtime()) == (job_id, 12)
    assert result.get_accumulator_result("lines") == 3
    assert result.get_accumulator_result("words") is None
    result.get_all_accumulator_results().clear()
    assert result.get_all_accumulator_results() == {"lines": 3}
    assert f"Job with JobID {job_id} has finished.\nJob Runtime: 12 ms" in str(result)
    assert "- lines (int): 3" in str(result)
    assert "Accumulator" not in str(JobExecutionResult(job_id, 1))


def test_completed_futures() -> None:
    future = CompletableFuture.of(5)
    assert (future.done(), future.cancelled(), future.cancel()) == (True, False, False)
    assert (future.result(), future.exception()) == (5, None)
    assert str(future) == "CompletableFuture[Completed normally]"


def test_futures_convert_their_result() -> None:
    inner: concurrent.futures.Future[int] = concurrent.futures.Future()
    future = CompletableFuture(inner, str)
    assert future.future() is inner
    assert (future.done(), future.exception()) == (False, None)
    assert str(future) == "CompletableFuture[Not completed]"
    with pytest.raises(concurrent.futures.TimeoutError):
        future.result(timeout=0)
    inner.set_result(5)
    assert future.result() == "5"


def test_failed_futures() -> None:
    future: CompletableFuture[int] = CompletableFuture()
    error = OSError("no")
    future.future().set_exception(error)
    assert future.exception() is error
    assert str(future) == "CompletableFuture[Completed exceptionally]"
    with pytest.raises(OSError, match="no"):
        future.result()


def test_cancelled_futures() -> None:
    future: CompletableFuture[int] = CompletableFuture()
    assert future.cancel()
    assert future.cancelled()
    assert future.done()
    assert isinstance(future.exception(), concurrent.futures.CancelledError)
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()


def test_the_client_is_an_interface() -> None:
    assert JobClient.__abstractmethods__ == {
        "get_job_id",
        "get_job_status",
        "cancel",
        "stop_with_savepoint",
        "trigger_savepoint",
        "get_accumulators",
        "get_metrics",
        "get_job_execution_result",
    }
