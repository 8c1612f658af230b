"""Handing programs to a cluster."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from millrace.cluster import job_folder, submissions
from millrace.cluster.submissions import SubmittedProgram


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    folder = tmp_path / "cluster"
    folder.mkdir(mode=0o700)
    job_folder.make_folders(str(folder))
    return str(folder)


def program(id: str) -> SubmittedProgram:
    return SubmittedProgram(id, "/tmp", "job.py", {"words": ["job.py", "a"]}, (("k", "v"),), {"SECRET": "x"}, ("/p",))


def test_a_submission_comes_back_as_it_was(cluster: str) -> None:
    id = submissions.new_id()
    assert submissions.submit(cluster, program(id))
    path = submissions.take_up(cluster, id)
    assert path == os.path.join(cluster, "jobs", id)
    assert submissions.read_submission(path) == program(id)
    assert "SECRET" not in repr(program(id))


def test_the_same_id_twice_is_the_same_program(cluster: str) -> None:
    id = submissions.new_id()
    assert submissions.submit(cluster, program(id))
    assert not submissions.submit(cluster, program(id))
    assert submissions.take_up(cluster, id)
    assert not submissions.submit(cluster, program(id))
    assert submissions.take_up(cluster, id) is None
    os.rename(os.path.join(cluster, "jobs", id), os.path.join(cluster, "done", id))
    assert not submissions.submit(cluster, program(id))


def test_a_submission_that_comes_while_the_first_is_moved_on_is_not_taken_up(cluster: str) -> None:
    id = submissions.new_id()
    submissions.submit(cluster, program(id))
    submissions.take_up(cluster, id)
    os.mkdir(os.path.join(cluster, "submissions", id))  # the race that ``submit`` cannot see
    assert submissions.take_up(cluster, id) is None
    os.rename(os.path.join(cluster, "jobs", id), os.path.join(cluster, "done", id))
    assert submissions.take_up(cluster, id) is None


@pytest.mark.parametrize("id", ["", "xyz", "../../etc/passwd", "0" * 31, "0" * 33, "0" * 31 + "/"])
def test_an_id_is_32_digits(cluster: str, id: str) -> None:
    with pytest.raises(ValueError, match="32 hexadecimal digits"):
        submissions.submit(cluster, program(id))


def test_names_are_in_the_order_of_their_coming(cluster: str) -> None:
    ids = [submissions.new_id() for _ in range(5)]
    for id in ids:
        submissions.submit(cluster, program(id))
        time.sleep(0.02)  # the clock of file systems ticks every 10 ms, or more often
    assert job_folder.names(cluster, job_folder.SUBMISSIONS) == ids
