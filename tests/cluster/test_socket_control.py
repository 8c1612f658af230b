"""Steering a job of another process through its socket; the job is a fake one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from millrace.cluster import rpc
from millrace.cluster.control import ElsewhereError, JobLine, JobOverError, UnknownJobError
from millrace.cluster.documents import FrameDocument, JobDocument, ThreadDocument
from millrace.cluster.rpc import CallServer, NotThereError, ask
from millrace.cluster.socket_control import JobFailedToAnswerError, JobsHere, SocketControl, SocketJobs, read_documents

ID = "a" * 32


class FakeControl:
    """A job that remembers what was asked of it."""

    id = ID

    def __init__(self, state: str = "RUNNING") -> None:
        self.state = state
        self.asked: list[tuple[Any, ...]] = []

    def document(self) -> JobDocument:
        return JobDocument(ID, "words", self.state, False, 2, 128, 1000, -1, 2000, {"RUNNING": 1000})

    def cancel(self) -> None:
        if self.state == "FINISHED":
            raise JobOverError(f"job {ID} is FINISHED")
        self.asked.append(("cancel",))

    def savepoint(self, directory: str | None, native: bool) -> Future[str]:
        return self._done(f"{directory}/sp", "savepoint", directory, native)

    def stop(self, directory: str | None, drain: bool, native: bool) -> Future[str]:
        return self._done(f"{directory}/sp", "stop", directory, drain, native)

    def checkpoint(self, full: bool) -> Future[int]:
        return self._done(7, "checkpoint", full)

    def query_state(self, operator: str, state: str, key: Any) -> Future[Any]:
        return self._done({key: (1, {2}, None, object)}, "query_state", operator, state, key)

    def threads(self, task_manager: str | None) -> list[ThreadDocument]:
        return [ThreadDocument("main", f"of {task_manager}")]

    def flame_graph(self, vertex: str, subtask: int | None, mode: str) -> FrameDocument:
        raise ValueError(f"no vertex {vertex}")

    def _done(self, result: Any, *asked: Any) -> Future[Any]:
        self.asked.append(asked)
        future: Future[Any] = Future()
        future.set_result(result)
        return future


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[FakeControl, str]]:
    control = FakeControl()
    here = JobsHere(lambda: [control])
    path = rpc.socket_path(str(tmp_path), rpc.CONTROL)
    server = CallServer(rpc.listen(path), here.calls(), "test")
    server.start()
    yield control, path
    server.close()


def test_a_job_is_the_same_from_afar(served: tuple[FakeControl, str]) -> None:
    fake, path = served
    far = SocketControl(ID, path)
    assert far.document() == fake.document()
    assert read_documents(path) == [fake.document()]
    far.cancel()
    assert far.savepoint("/d", True).result(30) == "/d/sp"
    assert far.stop(None, True, False).result(30) == "None/sp"
    assert far.checkpoint(True).result(30) == 7
    assert far.threads("1") == [ThreadDocument("main", "of 1")]
    expected = [("cancel",), ("savepoint", "/d", True), ("stop", None, True, False), ("checkpoint", True)]
    assert fake.asked == expected


def test_keys_and_values_of_state_travel_as_json(served: tuple[FakeControl, str]) -> None:
    fake, path = served
    answer = SocketControl(ID, path).query_state("op", "count", ["a", 1]).result(30)
    assert fake.asked == [("query_state", "op", "count", ("a", 1))]
    assert answer == {"('a', 1)": [1, [2], None, "<class 'object'>"]}


def test_what_a_job_refuses_arrives_in_its_words(served: tuple[FakeControl, str]) -> None:
    fake, path = served
    fake.state = "FINISHED"
    with pytest.raises(JobOverError, match="is FINISHED"):
        SocketControl(ID, path).cancel()
    with pytest.raises(JobFailedToAnswerError, match="no vertex v"):
        SocketControl(ID, path).flame_graph("v", None, "full")
    with pytest.raises(JobFailedToAnswerError, match="has no job bbbb"):
        SocketControl("b" * 32, path).cancel()


def test_a_process_that_is_gone_is_not_waited_for(served: tuple[FakeControl, str], tmp_path: Path) -> None:
    with pytest.raises(NotThereError, match="is not there"):
        SocketControl(ID, str(tmp_path / "nothing")).cancel()
    with pytest.raises(NotThereError, match="is not there"):
        SocketControl(ID, str(tmp_path / "nothing")).savepoint(None, False).result(30)


def test_a_process_that_hangs_is_waited_for_in_vain(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    server = CallServer(rpc.listen(path), {"hang": lambda connection: time.sleep(5)}, "test")
    server.start()
    with pytest.raises(NotThereError, match=r"the sleeper has not answered 'hang' for 0\.2 s"):
        ask(path, "the sleeper", "hang", 0.2)
    server.close()


def test_a_long_path_has_a_short_socket(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir(mode=0o700)
    path = rpc.socket_path(str(folder), "s")
    assert len(path) < 100
    assert path == rpc.socket_path(str(folder), "s") != rpc.socket_path(str(folder) + "x", "s")
    rpc.listen(path).close()


def test_the_jobs_of_a_program(served: tuple[FakeControl, str]) -> None:
    fake, path = served
    jobs = SocketJobs(path)
    assert jobs.jobs() == [JobLine(ID, "words", "RUNNING", 1000)]
    assert jobs.document(ID) == fake.document()
    assert jobs.savepoint(ID, "/d", False) == "/d/sp"
    with pytest.raises(UnknownJobError, match=f"Could not find Flink job .{'b' * 32}"):
        jobs.cancel("b" * 32)
    fake.state = "FINISHED"
    with pytest.raises(ElsewhereError, match="is FINISHED"):
        jobs.cancel(ID)
