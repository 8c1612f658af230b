"""The jobs of a process: running ones first, then those that have ended, of which only so many are kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cluster.played import PlayedJob
from tests.cluster.test_job_documents import program
from tests.forks import Forked

from millrace.cluster import publishing
from millrace.cluster.documents import JobDocument
from millrace.cluster.publishing import Registry, published_jobs
from millrace.spark.jobs import client as known
from millrace.spark.jobs.client import LocalJobClient


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Registry:
    monkeypatch.setattr(known, "_watchers", [])
    monkeypatch.setattr(publishing, "ENDED", 2)
    found = Registry()
    known.watch(found)
    return found


def test_running_first_then_the_last_that_ended(jobs: Registry, tmp_path: Path) -> None:
    played = [PlayedJob(program(), tmp_path / str(number)) for number in range(4)]
    for number, job in enumerate(played):
        (tmp_path / str(number)).mkdir(exist_ok=True)
        job.start()
    assert [each.id for each in jobs.jobs()] == [job.job.job_id for job in played]
    for job in played[:3]:
        assert job.to_end() is None
    running, *over = jobs.jobs()
    assert [running.id, *(each.id for each in over)] == [played[n].job.job_id for n in (3, 2, 1)]
    assert [each.document().state for each in over] == ["FINISHED", "FINISHED"]
    assert all(each._client is None for each in over)
    assert played[3].to_end() is None


def test_jobs_that_run_already_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(known, "_watchers", [])
    job = PlayedJob(program(), tmp_path)
    job.start()
    late = Registry()
    known.watch(late)
    assert [each.id for each in late.jobs()] == [job.job.job_id]
    assert job.to_end() is None


def test_a_fork_has_none_of_the_jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Their threads stay with the parent; a supervisor that is a fork would archive them as its own."""
    monkeypatch.setattr(known, "_watchers", [])
    monkeypatch.setattr(publishing, "_registry", None)
    runs, over = (PlayedJob(program(), tmp_path / name) for name in ("runs", "over"))
    for job in (runs, over):
        job.start()
    assert len(published_jobs()) == 2
    assert over.to_end() is None
    assert len(published_jobs()) == 2
    child = Forked(lambda: sys.exit(len(published_jobs())))
    assert child.wait(60) == 0
    assert len(published_jobs()) == 2
    assert runs.to_end() is None


def test_what_goes_wrong_with_a_document_fails_no_job(
    jobs: Registry, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(client: LocalJobClient) -> JobDocument:
        raise LookupError("broken")

    monkeypatch.setattr(publishing, "_describe", broken)
    job = PlayedJob(program(), tmp_path)
    job.start()
    assert job.to_end() is None
    assert jobs.jobs() == []
    assert "could not be published" in caplog.text
