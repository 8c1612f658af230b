"""Scripts and the jobs that they start."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.cluster.sql.fake_job import FakeJob

from millrace.cli.sql.client import Client
from millrace.cli.sql.start import Script, run_scripts
from millrace.common.jobs import JobStatus
from millrace.runtime.failure import Failure, JobFailedError

INSERT = "INSERT INTO t VALUES (1);"
FAILURE = JobFailedError(Failure("Calc", 0, "", "ValueError: bad"))


@pytest.fixture
def ending(client: Client, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Lets something happen once the script waits for its jobs."""

    def let(happen: Callable[[], None]) -> None:
        wait = client.executor.jobs.wait

        def waiting() -> Any:
            threading.Thread(target=happen).start()
            return wait()

        monkeypatch.setattr(client.executor.jobs, "wait", waiting)

    return let


def test_a_script_waits_for_its_jobs(client: Client, jobs: list[FakeJob], ending: Callable[..., None]) -> None:
    ending(lambda: [job.end(JobStatus.FINISHED) for job in jobs])
    assert run_scripts(client, [Script(INSERT), Script(INSERT)]) == 0
    assert [job.status for job in jobs] == [JobStatus.FINISHED] * 2


def test_one_job_that_fails_is_the_end(
    client: Client, jobs: list[FakeJob], ending: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    ending(lambda: jobs[1].end(JobStatus.FAILED, FAILURE))
    assert run_scripts(client, [Script(f"{INSERT} {INSERT}")]) == 1
    assert "ValueError: bad" in capsys.readouterr().out
    assert jobs[0].status is JobStatus.RUNNING, "whoever made the client cancels its jobs"


def test_jobs_of_a_script_that_fails_are_named(
    client: Client, jobs: list[FakeJob], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_scripts(client, [Script(f"{INSERT} SHOW NONSENSE;", "a.sql"), Script(INSERT)]) == 1
    found = capsys.readouterr().out
    assert "a.sql:1:32: " in found
    assert "[WARNING] job job1 (insert 1) runs, and is cancelled." in found
    assert len(jobs) == 1


def test_quit_ends_all_scripts(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_scripts(client, [Script("QUIT;"), Script("SHOW CATALOGS;")]) == 0
    assert capsys.readouterr().out == ""
