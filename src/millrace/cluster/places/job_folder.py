"""The folder of a cluster: what there is to run, what runs, what has run.

    configuration.json          of the cluster; files.json: what of it stands in configuration files
    spark/                      its own master and workers of Spark, if it has any
    submissions/ID              programs that nobody has taken up yet
    jobs/ID                     programs that run: the same folder, moved, with what happens to it
    done/ID                     programs that have ended: the same folder, moved again
    archive/ID.json             the last document of each job
    programs                    uploaded programs
    running/ID                  the uploaded program of a job, which may be deleted while the job runs
    logs                        of the cluster's processes, and ID.log and ID.out of programs that nobody waits for

A folder only ever moves as a whole, so a program is in one of these places, whatever dies at whatever moment.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from millrace.cluster.documents.codec import decode, encode
from millrace.cluster.places.durable import copy_file, is_unfinished, sweep, write_file
from millrace.common.jobs.job_status import JobStatus
from millrace.util.private_folder import make_private

if TYPE_CHECKING:  # who hands a program over reads no documents, and need not wait for their types
    from millrace.cluster.documents.job import JobDocument

SUBMISSIONS, JOBS, DONE, ARCHIVE, LOGS = "submissions", "jobs", "done", "archive", "logs"
PROGRAMS, RUNNING = "programs", "running"
CONFIGURATION, FILES = "configuration.json", "files.json"
OVER = frozenset(status.name for status in JobStatus if status.is_globally_terminal_state())
"""States of jobs that have ended."""
UNKNOWN_SECONDS = 3600.0
"""How long a kept program may wait for its submission."""
TEXT_LINES = 30
"""of a log, which tell why a program has failed"""
DOCUMENTS = "documents.json"
"""in the folder of a program: its jobs, as they were last"""


def make_folders(folder: str) -> None:
    """Make what is missing of a cluster's folder."""
    for name in (SUBMISSIONS, JOBS, DONE, ARCHIVE, LOGS, PROGRAMS, RUNNING):
        make_private(os.path.join(folder, name))


def write_configuration(
    folder: str, configuration: Mapping[str, str], files: Mapping[str, str] | None = None
) -> None:
    """:param files: the part of it that only configuration files have said."""
    write_file(os.path.join(folder, FILES), json.dumps(dict(files or {})).encode())
    write_file(os.path.join(folder, CONFIGURATION), json.dumps(dict(configuration)).encode())


def read_configuration(folder: str) -> dict[str, str]:
    """What the cluster was started with."""
    return _read(os.path.join(folder, CONFIGURATION))


def read_files(folder: str) -> dict[str, str]:
    """The part of it that configuration files have said: those of a program count more."""
    try:
        return _read(os.path.join(folder, FILES))
    except FileNotFoundError:
        return {}  # an earlier version has started it


def _read(path: str) -> dict[str, str]:
    with open(path, "rb") as file:
        found: dict[str, str] = json.load(file)
    return found


def names(folder: str, place: str) -> list[str]:
    """The programs in one of the places, the oldest first."""
    base = os.path.join(folder, place)
    found = []
    for name in os.listdir(base):
        with contextlib.suppress(FileNotFoundError):  # moved on meanwhile
            if not is_unfinished(name):
                found.append((os.stat(os.path.join(base, name)).st_ctime_ns, name))
    return [name for _, name in sorted(found)]


def place_of(folder: str, name: str) -> str | None:
    """Where a program is: its folder. None: it was never submitted."""
    for place in (SUBMISSIONS, JOBS, DONE, SUBMISSIONS, JOBS, DONE):  # twice: it may move on while we look
        path = os.path.join(folder, place, name)
        if os.path.isdir(path):
            return path
    return None


def keep_program(folder: str, job: str, path: str) -> str:
    """Keep an uploaded program for a job, which reads it again when it is started again; the path of what is kept."""
    parent = os.path.join(folder, RUNNING, job)
    make_private(parent)
    kept = os.path.join(parent, os.path.basename(path))
    try:
        os.link(path, kept)
    except FileExistsError:  # the same request once more
        pass
    except OSError:  # `web.upload.dir` may be on another file system
        with open(path, "rb") as content:
            copy_file(content, kept)
    return kept


def forget_program(folder: str, job: str) -> None:
    """The job is over."""
    shutil.rmtree(os.path.join(folder, RUNNING, job), ignore_errors=True)


def sweep_folders(folder: str) -> None:
    """Remove what dead processes have left of things that they had begun."""
    for place in ("", SUBMISSIONS, JOBS, ARCHIVE, PROGRAMS):
        sweep(os.path.join(folder, place))
    for name in names(folder, JOBS):
        sweep(os.path.join(folder, JOBS, name))
    for name in names(folder, RUNNING):
        known = place_of(folder, name)
        if known is None:
            with contextlib.suppress(FileNotFoundError):
                old = time.time() - os.stat(os.path.join(folder, RUNNING, name)).st_mtime > UNKNOWN_SECONDS
                if old:
                    forget_program(folder, name)
        elif known == os.path.join(folder, DONE, name):
            forget_program(folder, name)


def write_documents(program: str, documents: list[JobDocument]) -> None:
    """The jobs of a program that runs, as they are now."""
    write_file(os.path.join(program, DOCUMENTS), encode(documents))


def read_documents(program: str) -> list[JobDocument]:
    """The jobs of a program as they were last; none: it has not begun one."""
    from millrace.cluster.documents.job import JobDocument

    try:
        with open(os.path.join(program, DOCUMENTS), "rb") as file:
            return decode(file.read(), list[JobDocument])
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return []


def archive(folder: str, document: JobDocument) -> None:
    """Keep the last document of a job."""
    write_file(os.path.join(folder, ARCHIVE, f"{document.id}.json"), encode(document))


def is_archived(folder: str, job: str) -> bool:
    return os.path.exists(os.path.join(folder, ARCHIVE, f"{job}.json"))


def archived(folder: str) -> Iterator[tuple[str, str]]:
    """The jobs that have ended: id, and path of the document."""
    base = os.path.join(folder, ARCHIVE)
    for name in os.listdir(base):
        if name.endswith(".json") and not is_unfinished(name):
            yield name.removesuffix(".json"), os.path.join(base, name)


def read_archive(path: str) -> JobDocument | None:
    from millrace.cluster.documents.job import JobDocument

    try:
        with open(path, "rb") as file:
            return decode(file.read(), JobDocument)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def tail(path: str, lines: int = TEXT_LINES) -> str:
    """The last lines of a text."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-lines:]).rstrip()
    except OSError:
        return ""
