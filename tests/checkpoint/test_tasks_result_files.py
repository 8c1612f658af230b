"""Results that go through the folder of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.task_storage import JobResults, ResultsLostError, TaskResults
from millrace.runtime.coordination.checkpoints import AtOnce


@pytest.fixture(params=["local", "remote"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    return open_folder(str(tmp_path) if request.param == "local" else f"memory://{tmp_path}")


PARTS = [b"one", b"", b"two" * 1000]


def test_what_the_heard_run_has_written_is_taken_and_nothing_stays(folder: Folder) -> None:
    job = JobResults(folder, AtOnce())
    job.begin_epoch(3)
    heard, unheard = (TaskResults(folder, 3, (1, 0), run) for run in (7, 8))
    other = TaskResults(folder, 3, (1, 1), 7)
    unheard.write([b"nobody has heard of this"])
    first, second, third = heard.write(PARTS), other.write([b"x"]), heard.write([b"y"])
    unheard.write([b"nor of this"])
    assert len(folder.files()) == 5
    assert list(job.take([first, b"between", second, third])) == [*PARTS, b"between", b"x", b"y"]
    assert folder.files() == []


def test_a_file_goes_as_soon_as_it_is_read(folder: Folder) -> None:
    job = JobResults(folder, AtOnce())
    job.begin_epoch(1)
    task = TaskResults(folder, 1, (0, 0), 1)
    taken = job.take([task.write([b"a"]), task.write([b"b"])])
    assert (next(taken), next(taken)) == (b"a", b"b")
    assert len(folder.files()) == 1


def test_an_epoch_that_failed_leaves_nothing_once_another_one_is_taken(folder: Folder) -> None:
    job = JobResults(folder, AtOnce())
    job.begin_epoch(1)
    TaskResults(folder, 1, (0, 0), 1).write([b"failed"])
    job.begin_epoch(2)
    assert list(job.take([b"good"])) == [b"good"]
    assert folder.files() == []


def test_the_end_of_the_job_takes_what_was_not_taken(folder: Folder) -> None:
    folder.write("0-0/1-1.delta", [b"state"])
    TaskResults(folder, 1, (0, 0), 1).write([b"late"])
    JobResults(folder, AtOnce()).close()
    assert folder.files() == ["0-0/1-1.delta"]


def test_a_file_that_is_missing_or_damaged_is_named(folder: Folder) -> None:
    task = TaskResults(folder, 1, (0, 0), 1)
    changed, cut, gone = task.write([b"abc"]), task.write([b"abc"]), task.write([b"abc"])
    folder.write(changed.path, [b"abd"])
    folder.write(cut.path, [b"ab"])
    folder.delete(gone.path)
    for result in (changed, cut, gone):
        with pytest.raises(ResultsLostError, match=result.path):
            list(JobResults(folder, AtOnce()).take([result]))
