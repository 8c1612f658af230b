"""What a driver leaves for its successor. No Spark is needed, so this is not below tests/spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.spark.job_records import (
    JobRecord,
    RecoveredJob,
    begin_job,
    read_jobs,
    record_end,
    record_job,
    recoverable_job,
    use,
)

RESTART = {"restart-strategy.type": "none"}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "jobs")
    use(path)
    yield path
    use(None)


def test_jobs_are_counted_and_nothing_is_written_without_a_file() -> None:
    use(None)
    assert [begin_job("a", RESTART), begin_job("b", None)] == [0, 1]
    record_job(0, "a", "/chk")
    record_end("a", "FINISHED")
    assert recoverable_job(0) is None


def test_a_file_that_is_not_there_names_no_job(tmp_path: Path) -> None:
    assert read_jobs(str(tmp_path / "none")) == []


def test_a_job_with_a_checkpoint_can_be_recovered(path: str) -> None:
    index = begin_job("a", RESTART)
    assert recoverable_job(index) is None
    record_job(index, "a", "/chk/a")
    assert recoverable_job(index) == RecoveredJob(0, "a", "/chk/a")
    assert read_jobs(path) == [JobRecord(0, "a", RESTART, RecoveredJob(0, "a", "/chk/a"))]


def test_a_job_that_has_ended_is_not_recovered(path: str) -> None:
    record_job(begin_job("a", RESTART), "a", "/chk/a")
    record_end("a", "FINISHED")
    assert recoverable_job(0) is None
    assert read_jobs(path)[0].status == "FINISHED"


def test_a_job_keeps_its_id_in_the_next_driver(path: str) -> None:
    record_job(begin_job("a", RESTART), "a", "/chk/a")
    found = RecoveredJob(0, "a", "/chk/a")
    use(path)
    assert begin_job("made for nothing", RESTART) == 0
    assert recoverable_job(0) == found
    assert read_jobs(path) == [JobRecord(0, "a", RESTART, found)]
    record_end("a", "CANCELED")
    assert read_jobs(path) == [JobRecord(0, "a", RESTART, found, "CANCELED")]


def test_a_job_that_was_not_recoverable_is_another_one_in_the_next_driver(path: str) -> None:
    begin_job("a", RESTART)
    use(path)
    record_job(begin_job("b", RESTART), "b", "/chk/b")
    assert read_jobs(path) == [JobRecord(0, "b", RESTART, RecoveredJob(0, "b", "/chk/b"))]


def test_several_jobs(path: str) -> None:
    for name in "abc":
        begin_job(name, None if name == "b" else RESTART)
    record_job(2, "c", "/chk/c")
    record_end("b", "FAILED")
    assert [(job.job_id, job.restart, job.status, job.recoverable is None) for job in read_jobs(path)] == [
        ("a", RESTART, None, True),
        ("b", None, "FAILED", True),
        ("c", RESTART, None, False),
    ]


def test_a_line_that_was_cut_off_spoils_no_other(path: str) -> None:
    begin_job("a", RESTART)
    with open(path, "a") as file:
        file.write('{"begin": 1, "job_')
    record_job(0, "a", "/chk/a")
    assert read_jobs(path) == [JobRecord(0, "a", RESTART, RecoveredJob(0, "a", "/chk/a"))]


def test_a_checkpoint_alone_names_a_job_with_the_default_strategy(path: str) -> None:
    record_job(0, "a", "/chk/a")
    assert read_jobs(path) == [JobRecord(0, "a", {}, RecoveredJob(0, "a", "/chk/a"))]
