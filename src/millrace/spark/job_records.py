"""Ids of jobs, and what the driver of ``millrace run`` leaves for its successor: its jobs and their last checkpoints.

The first job of a submitted program has the id that was chosen with the submission. The record is a file of JSON lines
which only grows, so that no death of the driver spoils it. The process that watches the driver names the file with
``use``. Without that (``python program.py``) nothing is recorded and nothing recovered.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from millrace.util.system import write_all

_chosen: str | None = None


def choose(job_id: str | None) -> None:
    """Give the next job of this process this id; None: that job makes an id of its own."""
    global _chosen
    _chosen = job_id


def next_id(own: str) -> str:
    """Return the id for the job that is submitted now, and forget the chosen one.

    :param own: its id, if none was chosen.
    """
    global _chosen
    chosen, _chosen = _chosen, None
    return chosen or own


_path: str | None = None
_indexes = itertools.count()


@dataclass(frozen=True)
class RecoveredJob:
    """A job of a driver that died: its checkpoints are below ``checkpoint_dir``. It keeps its id in the next driver."""

    index: int
    job_id: str
    checkpoint_dir: str


@dataclass(frozen=True)
class JobRecord:
    """All that is known of the job that the program submits as its ``index``-th, in this driver or those before."""

    index: int
    job_id: str
    restart: Mapping[str, str] | None = None
    """configuration of its restart policy; None: it takes no checkpoints that outlive the driver"""
    recoverable: RecoveredJob | None = None
    status: str | None = None
    """the job's final status (``JobStatus`` name); None: the job has not ended"""
    cancelling: bool = False
    """whether the job is being cancelled; if its driver dies meanwhile, no other driver resumes the job"""

    @property
    def end(self) -> str | None:
        """The final status of the job, or ``CANCELED`` if it was being cancelled when its driver died; None: the job
        goes on."""
        return self.status or ("CANCELED" if self.cancelling else None)


def use(path: str | None) -> None:
    """Record in this file from now on, and recover from it; jobs are counted from 0 again."""
    global _path, _indexes
    _path, _indexes = path, itertools.count()


def scratch() -> str | None:
    """A directory for files that are not needed after the driver's death; None: use the system's temporary directory.

    The process that watches the driver deletes it with the file.
    """
    return None if _path is None else os.path.dirname(_path)


def begin_job(job_id: str, restart: Mapping[str, str] | None) -> int:
    """A job is submitted: its index in the program (0, 1, ...), with and without a file.

    ``restart``: the configuration of its restart policy if it takes checkpoints that outlive the driver, else None.
    """
    index = next(_indexes)
    _append({"begin": index, "job_id": job_id, "restart": None if restart is None else dict(restart)})
    return index


def record_job(index: int, job_id: str, directory: str) -> None:
    """Record that the job's checkpoints are below ``directory``. Call this before the job's first checkpoint counts."""
    _append({"checkpoint": index, "job_id": job_id, "directory": directory})


def record_end(job_id: str, status: str) -> None:
    """Record that the job has ended with this status. A job whose driver was lost has not ended."""
    _append({"end": job_id, "status": status})


def record_cancelling(job_id: str) -> None:
    """Record that the job is being cancelled, so that it counts as cancelled if its driver dies before its end."""
    _append({"cancel": job_id})


def recoverable_job(index: int) -> RecoveredJob | None:
    """What an earlier driver of this program has left of its ``index``-th job, if that had not ended."""
    if _path is None:
        return None
    for job in read_jobs(_path):
        if job.index == index and job.status is None:
            return job.recoverable
    return None


def read_jobs(path: str) -> list[JobRecord]:
    """The jobs that a file names, by index."""
    jobs: dict[int, JobRecord] = {}
    for line in _lines(path):
        if "begin" in line:
            index = line["begin"]
            before = jobs.get(index)
            recoverable = None if before is None else before.recoverable
            job_id = line["job_id"] if recoverable is None else recoverable.job_id
            jobs[index] = JobRecord(index, job_id, line["restart"], recoverable)
        elif "checkpoint" in line:
            index = line["checkpoint"]
            found = RecoveredJob(index, line["job_id"], line["directory"])
            before = jobs.get(index, JobRecord(index, found.job_id, {}))
            jobs[index] = replace(before, job_id=found.job_id, recoverable=found)
        elif "end" in line or "cancel" in line:
            for job in jobs.values():
                if job.job_id == line.get("end"):
                    jobs[job.index] = replace(job, status=line["status"])
                    break
                if job.job_id == line.get("cancel"):
                    jobs[job.index] = replace(job, cancelling=True)
                    break
    return [jobs[index] for index in sorted(jobs)]


def _append(line: Mapping[str, Any]) -> None:
    if _path is None:
        return
    # One write to a file opened for appending: lines of several jobs don't mix.
    file = os.open(_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        write_all(file, f"\n{json.dumps(line)}\n".encode())  # a new line, should the one before be cut off
    finally:
        os.close(file)


def _lines(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return []
    found = []
    for line in text.splitlines():
        with contextlib.suppress(ValueError):  # cut off when the driver died, or when the disk was full
            found.append(json.loads(line))
    return found
