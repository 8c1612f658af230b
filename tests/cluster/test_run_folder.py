"""What runs for a user on a machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.cluster import run_folder
from millrace.cluster.run_folder import CLUSTER, FOREGROUND, Entry, Process, this_process
from millrace.util.folders import NotPrivateError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(run_folder.RUN_DIRECTORY, str(tmp_path / "run"))
    return tmp_path / "run"


def dead() -> Process:
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    found = run_folder.process_of(child.pid)
    child.wait()
    return found


def test_what_lives_is_found(folder: Path) -> None:
    place = run_folder.new_folder("cluster")
    run_folder.register(place, Entry(CLUSTER, this_process(), "http://127.0.0.1:8081", began=2))
    other = run_folder.new_folder("run-1")
    run_folder.register(other, Entry(FOREGROUND, this_process(), program="job.py", began=1))
    found = run_folder.find()
    assert [each.name for each in found] == ["run-1", "cluster"]
    assert [each.name for each in run_folder.find(CLUSTER)] == ["cluster"]
    assert found[1].token == run_folder.read_token(place) and len(found[1].token) >= 32
    assert found[1].token not in repr(found[1])
    for path in (folder, folder / "cluster"):
        assert path.stat().st_mode & 0o777 == 0o700
    assert (folder / "cluster" / "token").stat().st_mode & 0o777 == 0o600


def test_the_token_outlives_the_server() -> None:
    first = run_folder.read_token(run_folder.new_folder("cluster"))
    assert run_folder.read_token(run_folder.new_folder("cluster")) == first


def test_the_dead_are_not_found(folder: Path) -> None:
    for name, kind in (("cluster", CLUSTER), ("run-1", FOREGROUND)):
        run_folder.register(run_folder.new_folder(name), Entry(kind, dead()))
    assert run_folder.find() == []
    assert os.listdir(folder) == ["cluster"]  # its jobs are in there; that of a dead program is removed


def test_another_process_with_the_number_of_a_dead_one_is_not_it() -> None:
    here = this_process()
    assert here.is_alive
    assert not Process(here.pid, here.started + 1, here.machine).is_alive
    assert not Process(here.pid, here.started, "elsewhere").is_alive


def test_what_others_can_write_to_is_refused(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(NotPrivateError):
        run_folder.find()
