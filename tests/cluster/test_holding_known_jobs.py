"""The jobs of a cluster, from files and from the sockets of processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.processes.running import Small, wait_for

from millrace.cluster import job_folder
from millrace.cluster.control import JobOverError
from millrace.cluster.documents import JobDocument
from millrace.cluster.processes.server import ClusterHolder, NotRunningError
from millrace.cluster.run_folder import CLUSTER, Entry, register, this_process
from millrace.spark import job_records


def document(id: str, state: str, started: int = 1000, ended: int = -1) -> JobDocument:
    return JobDocument(id, f"job {id[0]}", state, False, 1, 128, started, ended, ended, {state: started})


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Small]:
    with Small(tmp_path / "cluster") as made:
        yield made


def test_what_has_ended_is_known_from_its_archive(small: Small) -> None:
    job_folder.archive(small.folder, document("a" * 32, "FINISHED", ended=2000))
    job_folder.archive(small.folder, document("b" * 32, "CANCELED", ended=3000))
    Path(small.folder, "archive", "c.json").write_text("{")  # damaged
    holder = ClusterHolder(small.folder, {"s3.secret-key": "x", "rest.port": "1"})
    assert [job.id[0] for job in holder.jobs()] == ["b", "a"]
    finished, canceled = holder.control("a" * 32), holder.control("b" * 32)
    assert finished is not None and canceled is not None
    canceled.cancel()  # it has happened already
    with pytest.raises(JobOverError, match="is FINISHED"):
        finished.cancel()
    with pytest.raises(JobOverError, match="is CANCELED"):
        canceled.savepoint(None, False)
    assert holder.control("d" * 32) is None
    assert holder.configuration() == {"s3.secret-key": "******", "rest.port": "1"}


def test_a_program_that_waits_is_a_job_that_can_be_cancelled(small: Small) -> None:
    id = small.submit("wait")
    holder = ClusterHolder(small.folder, {})
    assert [(job.id, job.name, job.state) for job in holder.jobs()] == [(id, "small", "CREATED")]
    small.start()
    small.begun(id)
    wait_for(lambda: "waiting" in small.output(id), "the program waits")
    control = holder.control(id)
    assert control is not None
    with pytest.raises(NotRunningError, match="no process drives it"):
        control.stop(None, False, False)
    control.cancel()
    small.outcome(id)
    assert [(job.id, job.state) for job in holder.jobs()] == [(id, "CANCELED")]


def test_a_job_whose_process_hangs_is_shown_as_it_was_last(small: Small) -> None:
    id = small.submit("wait")
    os.rename(os.path.join(small.folder, "submissions", id), os.path.join(small.folder, "jobs", id))
    job_folder.write_documents(os.path.join(small.folder, "jobs", id), [document(id, "RESTARTING")])
    register(small.folder, Entry(CLUSTER, this_process()))
    Path(small.folder, "token").write_text("x")
    holder = ClusterHolder(small.folder, {})
    assert [(job.id, job.state) for job in holder.jobs()] == [(id, "RESTARTING")]


def test_a_job_without_a_process_is_not_said_to_run(small: Small) -> None:
    id = small.submit("wait")
    os.rename(os.path.join(small.folder, "submissions", id), os.path.join(small.folder, "jobs", id))
    job_folder.write_documents(os.path.join(small.folder, "jobs", id), [document(id, "RUNNING")])
    holder = ClusterHolder(small.folder, {})
    assert [job.state for job in holder.jobs()] == ["SUSPENDED"]  # nobody goes on with it
    Path(small.folder, "token").write_text("x")
    register(small.folder, Entry(CLUSTER, this_process()))
    holder = ClusterHolder(small.folder, {})
    assert [job.state for job in holder.jobs()] == ["FAILING"]  # the supervisor will see


def test_a_job_whose_process_died_after_its_end_has_ended_so(small: Small) -> None:
    """The end is recorded, and nobody could say so any more."""
    small.start()
    id = small.submit("wait")
    pid = small.begun(id)
    program = os.path.join(small.folder, "jobs", id)
    wait_for(lambda: "waiting" in small.output(id), "the program waits")
    job_folder.write_documents(program, [document(id, "RUNNING")])
    job_records.use(os.path.join(program, "work", "jobs"))
    try:
        job_records.begin_job(id, {})
        job_records.record_end(id, "FINISHED")
    finally:
        job_records.use(None)
    os.kill(pid, signal.SIGKILL)
    small.outcome(id)
    assert [job.state for job in ClusterHolder(small.folder, {}).jobs()] == ["FINISHED"]


def test_an_end_is_seen_at_once(small: Small) -> None:
    """Who has heard of the end of a job sees it, though the last look was before."""
    id = small.submit("wait")
    os.rename(os.path.join(small.folder, "submissions", id), os.path.join(small.folder, "jobs", id))
    job_folder.write_documents(os.path.join(small.folder, "jobs", id), [document(id, "RUNNING")])
    holder = ClusterHolder(small.folder, {})
    for _ in range(3):
        job_folder.archive(small.folder, document(id, "FINISHED", ended=2000))
        found = holder.job(id)
        assert found is not None and found.state == "FINISHED"
        assert [job.state for job in holder.jobs()] == ["FINISHED"]
        time.sleep(0.2)


def test_logs_are_those_of_the_folder(small: Small, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    Path(small.folder, "logs", "server.log").write_text("hello")
    holder = ClusterHolder(small.folder, {})
    assert [(log.name, log.size) for log in holder.logs(None)] == [("server.log", 5)]
    assert list(holder.read_log(None, "server.log") or ()) == [b"hello"]
    log = Path(small.folder, "logs", "server.log")
    long = bytes(range(256)) * 1024
    log.write_bytes(long)
    pieces = holder.read_log(None, "server.log")
    assert pieces is not None
    first = next(iter(pieces))
    with log.open("ab") as file:
        file.write(b"more")  # it grows while it is read
    assert first + b"".join(pieces) == long and len(first) < len(long)
    for name in ("../token", "../../secret", str(tmp_path / "secret"), "", "."):
        assert holder.read_log(None, name) is None
    assert holder.logs("driver") == []
    assert holder.task_managers() == []
