"""A directory that tasks and driver do not share is refused by name, whichever side looks first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from millrace.checkpoint import shared_folder
from millrace.checkpoint.folder import Folder, open_folder
from millrace.checkpoint.shared_folder import FirstWrite, NotSharedError, SharedFolder, first_write, offer

TASK = """
import sys
from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.shared_folder import first_write
write = first_write(open_folder(sys.argv[1]), sys.argv[2])
print(write.host, write.process, write.path, write.size, sep="\\n")
"""


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_folder, "_done", {})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return open_folder(str(tmp_path / "driver"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Folder:
    """The folder of the same name on another machine."""
    return open_folder(str(tmp_path / "executor"))


def of_another_process(folder: Folder, token: str) -> FirstWrite:
    command = [sys.executable, "-c", TASK, folder.uri, token]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    host, process, path, size = done.stdout.split("\n")[:4]
    return FirstWrite(host, process, path, int(size))


def test_one_folder_is_fine(folder: Folder) -> None:
    token = offer(folder)
    here = first_write(folder, token)
    assert first_write(folder, token) is here, "once a process"
    there = of_another_process(folder, token)
    assert here.process != there.process
    driver = SharedFolder(folder)
    driver.check([here, None, there, here])
    driver.check([here, there])
    assert folder.files() == [shared_folder.TOKEN], "nothing is left of it"


def test_a_folder_without_the_token_is_refused_by_the_task(folder: Folder, elsewhere: Folder) -> None:
    token = offer(folder)
    with pytest.raises(NotSharedError, match=r"executor is not the same directory on .* as on the driver's machine"):
        first_write(elsewhere, token)
    with pytest.raises(NotSharedError, match="the driver's file token is missing there"):
        first_write(elsewhere, token)


def test_the_token_of_another_job_is_not_enough(folder: Folder, elsewhere: Folder) -> None:
    token = offer(folder)
    offer(elsewhere)
    with pytest.raises(NotSharedError, match="its file token is not the driver's"):
        first_write(elsewhere, token)


def test_what_the_driver_does_not_see_is_refused_by_the_driver(folder: Folder, elsewhere: Folder) -> None:
    token = offer(folder)
    elsewhere.write(shared_folder.TOKEN, [token.encode()])  # a copy, or a mount that does not write through
    write = first_write(elsewhere, token)
    with pytest.raises(NotSharedError, match=r"driver is not the same directory on .*seen/.* is missing here"):
        SharedFolder(folder).check([write])


def test_what_is_cut_short_is_refused(folder: Folder) -> None:
    write = first_write(folder, offer(folder))
    folder.write(write.path, [b"1"])
    with pytest.raises(NotSharedError, match="has 1 bytes here"):
        SharedFolder(folder).check([write])


def test_a_process_remembers_some_jobs(folder: Folder) -> None:
    for _ in range(40):
        first_write(folder, offer(folder))
    assert len(shared_folder._done) == shared_folder._JOBS
