"""What the holder of a cluster says of an engine that is not there, and of one that fails."""

from __future__ import annotations

import builtins
import errno
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from millrace.cluster import job_folder, rpc
from millrace.cluster.documents import TaskManagerDocument
from millrace.cluster.processes import server
from millrace.cluster.processes.server import ClusterHolder
from millrace.cluster.processes.spark_daemons import read_record
from millrace.cluster.rpc import NotThereError, RefusedError, SilentError
from millrace.cluster.run_folder import describe_engine, read_entry


@pytest.fixture
def holder(tmp_path: Path) -> ClusterHolder:
    job_folder.make_folders(str(tmp_path))
    return ClusterHolder(str(tmp_path), {})


def test_an_engine_that_is_being_started_has_no_task_managers(holder: ClusterHolder) -> None:
    assert list(holder.task_managers()) == []


def test_an_engine_that_fails_says_so(holder: ClusterHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RefusedError("Py4JException", "Method getProcessCpuLoad([]) does not exist")

    monkeypatch.setattr(server, "ask", refuse)
    with pytest.raises(RefusedError, match="getProcessCpuLoad"):
        holder.task_managers()
    assert not issubclass(RefusedError, NotThereError)


def manager(id: str) -> TaskManagerDocument:
    return TaskManagerDocument(id, "host", 1, 2, 2, 0, 2, 0, 0, 0, 0)


def test_an_engine_that_is_too_busy_has_those_that_it_had(
    holder: ClusterHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not none: what it would have said is not known."""
    told = [msgspec.to_builtins([manager("1")])]

    def answer(*_: object) -> object:
        if told:
            return told.pop()
        raise SilentError("the engine has not answered 'task_managers' for 5 s")

    monkeypatch.setattr(server, "ask", answer)
    assert [list(holder.task_managers()) for _ in range(3)] == [[manager("1")]] * 3


def test_an_engine_that_has_never_answered_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It listens, and says nothing."""
    folder = tmp_path / "c"
    job_folder.make_folders(str(folder))
    monkeypatch.setattr(server, "ENGINE_SECONDS", 0.05)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as engine:
        engine.bind(rpc.socket_path(str(folder), rpc.ENGINE))
        engine.listen()
        with pytest.raises(SilentError, match=r"the engine has not answered 'task_managers' for 0.05 s"):
            ClusterHolder(str(folder), {}).task_managers()


@pytest.mark.parametrize("read", [read_entry, describe_engine, lambda folder: read_record(folder, "master")])
def test_a_file_that_cannot_be_read_is_not_a_file_that_is_not_there(
    read: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process without free descriptors does not say that no cluster runs."""
    assert read(str(tmp_path)) is None

    def exhausted(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(builtins, "open", exhausted)
    with pytest.raises(OSError, match="Too many open files"):
        read(str(tmp_path))
