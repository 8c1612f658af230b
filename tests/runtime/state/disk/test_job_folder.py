"""Directories of jobs: whose they are, and when they go."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from millrace.runtime.state.disk.job_folder import delete_job_folder, job_folder
from millrace.runtime.state.disk.plan import OnDisk

HOLD = """
import sys
from millrace.runtime.state.disk.job_folder import job_folder
print(job_folder(sys.argv[1], sys.argv[2]), flush=True)
sys.stdin.read()
"""


def make_old(folder: Path) -> None:
    os.utime(folder / "in-use", (0, 0))


def test_a_folder_is_private_and_stays_the_same(tmp_path: Path) -> None:
    folder = Path(job_folder(str(tmp_path), "job"))
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert folder.stat().st_mode & 0o777 == 0o700
    assert job_folder(str(tmp_path), "job") == str(folder)
    delete_job_folder(str(tmp_path), "job")
    assert not folder.exists()
    delete_job_folder(str(tmp_path), "job")
    assert job_folder(str(tmp_path), "job") == str(folder)
    assert folder.exists()


def test_what_belongs_to_nobody_is_deleted_after_a_while(tmp_path: Path) -> None:
    jobs = Path(job_folder(str(tmp_path), "mine")).parent
    for name in ("abandoned", "fresh"):
        (jobs / name).mkdir()
        (jobs / name / "in-use").touch()
    make_old(jobs / "abandoned")
    make_old(jobs / "mine")
    job_folder(str(tmp_path), "next")
    assert sorted(path.name for path in jobs.iterdir()) == ["fresh", "mine", "next"], "mine is in use"


def test_the_folders_of_other_processes_stay(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path), "theirs"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        theirs = Path(other.stdout.readline().strip())
        make_old(theirs)
        job_folder(str(tmp_path), "one")
        assert theirs.exists()
        other.kill()
    job_folder(str(tmp_path), "two")
    assert not theirs.exists()


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    folder = Path(job_folder(str(tmp_path), "job"))
    (folder / "in-use").unlink()
    folder.rmdir()
    assert Path(job_folder(str(tmp_path), "job")).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list the open files of a process")
def test_a_process_that_sees_many_jobs_keeps_no_files_open(tmp_path: Path) -> None:
    for number in range(20):
        folder = job_folder(str(tmp_path), f"job-{number}")
        shutil.rmtree(folder)
    in_use = [target for target in map(os.path.realpath, Path("/proc/self/fd").iterdir()) if str(tmp_path) in target]
    assert len(in_use) <= 1


def test_tasks_are_divided_among_the_disks(tmp_path: Path) -> None:
    disks = [tmp_path / "a", tmp_path / "b"]
    plan = OnDisk(tuple(map(str, disks)))
    for partition in range(4):
        plan.state_of("job", (1, partition), dict)
    assert all((disk / f"millrace-state-{os.getuid()}" / "job").exists() for disk in disks)
    plan.discard("job")
    assert [list(next(disk.iterdir()).iterdir()) for disk in disks] == [[], []]


def test_others_must_not_write_there(tmp_path: Path) -> None:
    folder = Path(job_folder(str(tmp_path), "job")).parent
    folder.chmod(0o777)
    with pytest.raises(PermissionError, match=r"written to by everybody .* directory: set_db_storage_paths\(\)"):
        job_folder(str(tmp_path), "job")
