"""The directories of jobs on this machine: locked while a process uses them, deleted when their job has ended.

A worker on another machine is not informed when a job ends. So each job that begins deletes abandoned directories.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from contextlib import suppress

from millrace.util.folders import NotPrivateError, make_private

ABANDONED_SECONDS = 3_600.0
"""Time (s) without a worker on this machine after which a job's state here is deleted; it can be rebuilt."""
_MARK = "in-use"

_marks: dict[str, int] = {}
"""directory of a job -> open lock file, which is locked as long as this process lives"""


def job_folder(root: str, job_id: str) -> str:
    """The directory of a job below ``root``, for as long as this process lives.

    :raises PermissionError: the directory for state below ``root`` belongs to another user.
    """
    folder = os.path.join(_private(root), job_id)
    mark = os.path.join(folder, _MARK)
    if folder not in _marks or not os.path.exists(mark):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _release_deleted()
        handle = os.open(mark, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(handle, fcntl.LOCK_SH)
        os.utime(mark)
        _marks[folder] = handle
        _delete_abandoned(os.path.dirname(folder))
    return folder


def delete_job_folder(root: str, job_id: str) -> None:
    """Delete the directory of a job that has ended."""
    folder = os.path.join(_private(root), job_id)
    shutil.rmtree(folder, ignore_errors=True)
    if folder in _marks:
        os.close(_marks.pop(folder))


def _release_deleted() -> None:
    """Close the lock files of jobs whose directories were deleted, because a process may run many jobs."""
    for folder in list(_marks):
        if not os.path.exists(os.path.join(folder, _MARK)):
            os.close(_marks.pop(folder))


def _private(root: str) -> str:
    """The directory for the state of this user's jobs. Other users must not be able to write there, because its files
    are unpickled."""
    folder = os.path.join(root, f"millrace-state-{os.getuid()}")
    try:
        make_private(folder)
    except NotPrivateError as error:
        raise NotPrivateError(f"{error}: set_db_storage_paths() takes it") from None
    return folder


def _delete_abandoned(jobs: str) -> None:
    for name in os.listdir(jobs):
        folder = os.path.join(jobs, name)
        with suppress(OSError):  # somebody uses it, or deletes it, too
            mark = os.open(os.path.join(folder, _MARK), os.O_RDWR)
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - os.fstat(mark).st_mtime > ABANDONED_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(mark)
