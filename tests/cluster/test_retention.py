"""What goes of jobs that have ended, and when."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cluster.documents import job

from millrace.cluster import job_folder, retention, submissions
from millrace.cluster.retention import Limits, expire, limits
from millrace.cluster.submissions import Outcome, SubmittedProgram, new_id, submit, take_up

NOW = 2_000_000_000.0
HOUR = 3600.0


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    folder = str(tmp_path / "cluster")
    os.mkdir(folder, 0o700)
    job_folder.make_folders(folder)
    return folder


def ran(cluster: str, ago: float, *more: str, place: str = job_folder.DONE) -> str:
    """A program whose jobs ended so long ago: one with its id, and more; the id."""
    id = new_id()
    submit(cluster, SubmittedProgram(id, "/"))
    program = take_up(cluster, id)
    assert program is not None
    documents = [job(id=each, state="FINISHED") for each in (id, *more)]
    job_folder.write_documents(program, documents)
    for document in documents:
        job_folder.archive(cluster, document)
        path = os.path.join(cluster, job_folder.ARCHIVE, f"{document.id}.json")
        os.utime(path, (NOW - ago, NOW - ago))
    if place == job_folder.DONE:
        submissions.write_outcome(program, Outcome(0, int((NOW - ago) * 1000)))
        os.rename(program, os.path.join(cluster, job_folder.DONE, id))
    for name in (f"{id}.log", f"{id}.out", f"{id}.out.1"):
        Path(cluster, job_folder.LOGS, name).touch()
    return id


def shown(cluster: str) -> set[str]:
    return {id for id, _ in job_folder.archived(cluster)}


def left(cluster: str) -> set[str]:
    """The programs that are left, each with all of its logs."""
    done = set(os.listdir(os.path.join(cluster, job_folder.DONE)))
    logs = {name.partition(".")[0] for name in os.listdir(os.path.join(cluster, job_folder.LOGS))}
    assert logs - set(os.listdir(os.path.join(cluster, job_folder.JOBS))) == done
    return done


def test_what_is_old_goes_with_program_and_logs(cluster: str) -> None:
    young, old = ran(cluster, HOUR - 1), ran(cluster, HOUR + 1)
    expire(cluster, Limits(), NOW)
    assert shown(cluster) == left(cluster) == {young}
    expire(cluster, Limits(), NOW + 2)
    assert shown(cluster) == left(cluster) == set()
    assert old != young


def test_of_too_many_the_oldest_go(cluster: str) -> None:
    ids = [ran(cluster, 100.0 + age) for age in range(4)]
    expire(cluster, Limits(jobs=2), NOW)
    assert shown(cluster) == left(cluster) == set(ids[:2])
    expire(cluster, Limits(jobs=0), NOW)
    assert shown(cluster) == left(cluster) == set()


def test_who_waits_for_the_end_of_a_job_has_time_to_see_it(cluster: str) -> None:
    just = ran(cluster, 30.0)
    expire(cluster, Limits(seconds=0.0, jobs=0), NOW)
    assert shown(cluster) == left(cluster) == {just}
    expire(cluster, Limits(seconds=0.0, jobs=0), NOW + 40)
    assert shown(cluster) == left(cluster) == set()


def test_the_jobs_of_a_program_that_runs_stay(cluster: str) -> None:
    other = new_id()
    id = ran(cluster, 2 * HOUR, other, place=job_folder.JOBS)
    expire(cluster, Limits(), NOW)
    assert shown(cluster) == {id, other}


def test_a_program_stays_as_long_as_one_of_its_jobs(cluster: str) -> None:
    later = new_id()
    id = ran(cluster, 2 * HOUR, later)
    path = os.path.join(cluster, job_folder.ARCHIVE, f"{later}.json")
    os.utime(path, (NOW - 100, NOW - 100))
    expire(cluster, Limits(), NOW)
    assert shown(cluster) == {later}
    assert left(cluster) == {id}


def test_a_program_without_a_job_goes_too(cluster: str) -> None:
    id = new_id()
    submit(cluster, SubmittedProgram(id, "/"))
    program = take_up(cluster, id)
    assert program is not None
    submissions.write_outcome(program, Outcome(0, int((NOW - HOUR + 10) * 1000)))
    os.rename(program, os.path.join(cluster, job_folder.DONE, id))
    expire(cluster, Limits(), NOW)
    assert job_folder.place_of(cluster, id) is not None
    expire(cluster, Limits(), NOW + 20)
    assert job_folder.place_of(cluster, id) is None


def test_nothing_goes_that_has_to_be_archived_elsewhere_first(cluster: str) -> None:
    id = ran(cluster, 2 * HOUR)
    expire(cluster, Limits(elsewhere=True), NOW)
    assert shown(cluster) == {id}
    kept = Path(cluster, job_folder.ARCHIVE, f"{id}{retention.RETAINED_ELSEWHERE}")
    kept.touch()
    expire(cluster, Limits(elsewhere=True), NOW)
    assert shown(cluster) == set() and not kept.exists()


def test_what_a_dead_process_began_to_remove_is_removed(cluster: str) -> None:
    half = Path(cluster, job_folder.DONE, ".unfinished-1")
    half.mkdir()
    (half / "file").touch()
    expire(cluster, Limits(), NOW)
    assert not half.exists()


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, Limits(HOUR, 2**31 - 1)),
        ({"jobstore.expiration-time": "60"}, Limits(60.0)),
        ({"completed-application-store.expiration-time": "2 min"}, Limits(120.0)),
        ({"jobstore.max-capacity": "5"}, Limits(jobs=5)),
        ({"completed-application-store.max-capacity": "6", "jobstore.max-capacity": "5"}, Limits(jobs=6)),
        ({"jobmanager.archive.fs.dir": "/archives"}, Limits(elsewhere=True)),
    ],
)
def test_limits_are_flinks(configuration: dict[str, str], expected: Limits) -> None:
    assert limits(configuration) == expected


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="soon"):
        limits({"jobstore.expiration-time": "soon"})
