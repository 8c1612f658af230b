"""How many archives a history server keeps."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster.rest.samples import job_id, sample_job

from millrace.cluster.history import EVERYTHING, HistoryHolder, Retained, list_archives, retained, write_archive


def test_the_newest_are_kept() -> None:
    jobs = [(30, "c"), (10, "a"), (20, "b")]
    assert EVERYTHING.beyond(jobs, 100) == []
    assert Retained(jobs=2).beyond(jobs, 100) == ["a"]
    assert Retained(millis=75).beyond(jobs, 100) == ["b", "a"]
    assert Retained(jobs=1, millis=85).beyond(jobs, 100) == ["b", "a"]


def test_what_options_say() -> None:
    jobs, age = "historyserver.archive.retained-jobs", "historyserver.archive.retained-ttl"
    assert retained({}) == retained({jobs: "-1"}) == EVERYTHING
    assert retained({jobs: "5", age: "1 d"}) == Retained(5, 86_400_000)
    for wrong in ({jobs: "0"}, {jobs: "-2"}, {jobs: "all"}, {age: "0 s"}):
        with pytest.raises(ValueError):
            retained(wrong)


def test_others_are_deleted_and_files_of_others_stay(tmp_path: Path) -> None:
    folder = str(tmp_path / "archives")
    now = time.time_ns() // 1_000_000
    for number in (1, 2, 3):
        write_archive(folder, replace(sample_job(number, "FINISHED"), ended=now - 1000 * number))
    foreign = tmp_path / "archives" / f"{'f' * 32}.json"
    foreign.write_text("{}")
    holder = HistoryHolder([folder], retained=Retained(jobs=2))
    assert [job.id for job in holder.jobs()] == [job_id(1), job_id(2)]
    assert {each.id for each in list_archives(folder)} == {job_id(1), job_id(2), "f" * 32}
    assert holder.job(job_id(3)) is None
