"""The folder of a cluster: what there is to run, what runs, what has run.

    configuration.json          of the cluster; files.json: what of it stands in configuration files
    spark/                      its own master and workers of Spark, if it has any
    submissions/ID              programs that no process has taken up yet
    jobs/ID                     programs that run: the same folder, moved, with what happens to it
    done/ID                     programs that have ended: the same folder, moved again
    archive/ID.json             the last document of each job
    programs                    uploaded programs
    running/ID                  the uploaded program of a job, which may be deleted while the job runs
    logs                        of the cluster's processes, and ID.log and ID.out of programs that run detached

A folder only ever moves as a whole, so a program is in one of these places, whatever dies at whatever moment. Logs lie
below ``env.log.dir`` if that is set. A session also writes down what it was started with, so a program finds out
whether it may run there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

import millrace
from millrace.cluster.durable_files import copy_file, decode, encode, is_unfinished, sweep, write_file
from millrace.common.configuration import split_list
from millrace.common.jobs import JobStatus
from millrace.util.folders import make_private

if TYPE_CHECKING:
    from millrace.cluster.documents import JobDocument


SUBMISSIONS, JOBS, DONE, ARCHIVE, LOGS = "submissions", "jobs", "done", "archive", "logs"
PROGRAMS, RUNNING = "programs", "running"
CONFIGURATION, FILES = "configuration.json", "files.json"
OVER = frozenset(status.name for status in JobStatus if status.is_globally_terminal_state())
"""Names of the states of jobs that have ended."""
UNKNOWN_SECONDS = 3600.0
"""How long an uploaded program's copy for a job stays without a submission of that job."""
TEXT_LINES = 30
"""last lines of a program's log that are shown as the reason of its failure"""
DOCUMENTS = "documents.json"
"""file in a program's folder with the last documents of its jobs"""


def make_folders(folder: str) -> None:
    """Make what is missing of a cluster's folder."""
    for name in (SUBMISSIONS, JOBS, DONE, ARCHIVE, LOGS, PROGRAMS, RUNNING):
        make_private(os.path.join(folder, name))


def write_configuration(folder: str, configuration: Mapping[str, str], files: Mapping[str, str] | None = None) -> None:
    """:param files: the part of the configuration that only configuration files set."""
    write_file(os.path.join(folder, FILES), json.dumps(dict(files or {})).encode())
    write_file(os.path.join(folder, CONFIGURATION), json.dumps(dict(configuration)).encode())


def read_configuration(folder: str) -> dict[str, str]:
    """The configuration that the cluster was started with."""
    return _read(os.path.join(folder, CONFIGURATION))


def read_files(folder: str) -> dict[str, str]:
    """The part of the cluster's configuration that comes from files; a program's own files override it."""
    try:
        return _read(os.path.join(folder, FILES))
    except FileNotFoundError:
        return {}  # an earlier version has started it


def _read(path: str) -> dict[str, str]:
    with open(path, "rb") as file:
        found: dict[str, str] = json.load(file)
    return found


def names(folder: str, place: str) -> list[str]:
    """The names of the programs in one of the folders, the oldest first."""
    base = os.path.join(folder, place)
    found = []
    for name in os.listdir(base):
        with contextlib.suppress(FileNotFoundError):  # moved on meanwhile
            if not is_unfinished(name):
                found.append((os.stat(os.path.join(base, name)).st_ctime_ns, name))
    return [name for _, name in sorted(found)]


def place_of(folder: str, name: str) -> str | None:
    """The folder that a program is in now; None if it was never submitted."""
    for place in (SUBMISSIONS, JOBS, DONE, SUBMISSIONS, JOBS, DONE):  # twice: it may move on while we look
        path = os.path.join(folder, place, name)
        if os.path.isdir(path):
            return path
    return None


def keep_program(folder: str, job: str, path: str) -> str:
    """Copy an uploaded program for a job, which reads it again at each restart; returns the copy's path."""
    parent = os.path.join(folder, RUNNING, job)
    make_private(parent)
    kept = os.path.join(parent, os.path.basename(path))
    try:
        os.link(path, kept)
    except FileExistsError:  # a repeated request
        pass
    except OSError:  # `web.upload.dir` may be on another file system
        with open(path, "rb") as content:
            copy_file(content, kept)
    return kept


def forget_program(folder: str, job: str) -> None:
    """Remove a job's copy of its uploaded program, because the job has ended."""
    shutil.rmtree(os.path.join(folder, RUNNING, job), ignore_errors=True)


def sweep_folders(folder: str) -> None:
    """Remove unfinished files of dead processes."""
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
    """Write the documents of a running program's jobs."""
    write_file(os.path.join(program, DOCUMENTS), encode(documents))


def read_documents(program: str) -> list[JobDocument]:
    """The last written documents of a program's jobs; empty if it has started none."""
    from millrace.cluster.documents import JobDocument

    try:
        with open(os.path.join(program, DOCUMENTS), "rb") as file:
            return decode(file.read(), list[JobDocument])
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return []


def archive(folder: str, document: JobDocument) -> None:
    """Write the final document of a job into the archive."""
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
    from millrace.cluster.documents import JobDocument

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


# Logs


def place_logs(cluster: str, directory: str | None) -> None:
    """Let the cluster write its logs below a directory, in a folder with the cluster's name; None: in its own folder.
    Existing logs are moved along, unless they are in another directory that was configured.

    :raises NotPrivateError: others can write there.
    """
    here = os.path.join(cluster, LOGS)
    there = None if directory is None else os.path.join(os.path.abspath(directory), os.path.basename(cluster))
    if there is not None:
        make_private(there)
    if os.path.islink(here):
        if there is not None and os.path.realpath(here) == os.path.realpath(there):
            return
        os.unlink(here)
    if there is None:
        make_private(here)
        return
    if os.path.isdir(here):
        for name in os.listdir(here):
            shutil.move(os.path.join(here, name), os.path.join(there, name))
        os.rmdir(here)
    os.symlink(there, here)


# What a session was started with

_FILE = "session.json"
_PACKAGES = ("pyspark", "pyarrow", "pandas", "numpy", "cloudpickle")
_JARS = {"pipeline.jars", "pipeline.classpaths"}
_OF_SPARK = ("spark.", "env.java.", *sorted(_JARS))
"""Prefixes of keys that take effect when Spark starts, and only then."""
_OF_EACH_PROGRAM = ("spark.log.level", "spark.app.name")


@dataclass(frozen=True)
class SessionFacts:
    """The settings of a session that are fixed when it starts."""

    versions: Mapping[str, str]
    """versions of Python, with its path, and of packages"""
    settings: Mapping[str, str] = field(repr=False)
    """the options that Spark was started with"""
    idle_seconds: float
    began: int
    """ms since the epoch"""


def facts_of(configuration: Mapping[str, str], idle_seconds: float, began: int) -> SessionFacts:
    """The facts of a session that runs in this Python."""
    return SessionFacts(versions(), spark_part(configuration), idle_seconds, began)


def versions() -> dict[str, str]:
    """The versions of Python and packages in this process."""
    found = {"Python": f"{sys.version.split()[0]} in {sys.prefix}", "Millrace": _millrace()}
    for name in _PACKAGES:
        if (known := _version(name)) is not None:
            found[name] = known
    return found


def _version(package: str) -> str | None:
    """The version of a package, from the name of its metadata folder: reading the metadata would take longer than the
    rest of a submission."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    begin, end = f"{package}-", ".dist-info"
    beside = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
    names = (name for name in beside if name.startswith(begin) and name.endswith(end))
    return next((name[len(begin) : -len(end)] for name in names), None)


def _millrace() -> str:
    """Millrace's version with its path, the time of its newest module and their number: a working copy changes without
    a new version. The times of folders don't count, since Python writes its caches there."""
    package = os.path.dirname(os.path.abspath(millrace.__file__))
    modules = [os.path.join(folder, name) for folder, _, names in os.walk(package) for name in names]
    changes = [os.stat(module).st_mtime for module in modules if module.endswith(".py")]
    return f"{millrace.__version__} in {package} of {max(changes):.0f}, {len(changes)} modules"


def spark_part(configuration: Mapping[str, str]) -> dict[str, str]:
    """The part of a configuration that takes effect when Spark starts."""
    found = {
        key: value for key, value in configuration.items() if key.startswith(_OF_SPARK) and key not in _OF_EACH_PROGRAM
    }
    for key in _JARS & found.keys():
        jars = _sparks(split_list(found.pop(key)))
        if jars:
            found[key] = ";".join(jars)
    return found


def _sparks(jars: Iterable[str]) -> list[str]:
    """The jars that Spark gets: without Flink's own jars that do not exist here."""
    from millrace.datastream.job_settings import is_flinks_and_missing  # few programs have any

    return [jar for jar in jars if not is_flinks_and_missing(jar)]


def why_not(facts: SessionFacts, configuration: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """Why a program cannot run in a session, in a few words; None: it can.

    :param here: the versions where the program is.
    """
    changed = _different(facts.versions, here)
    if changed:
        return f"it was started with another {' and '.join(changed)}"
    # Keys that the program does not set have the values of the session.
    other = sorted(key for key, value in spark_part(configuration).items() if facts.settings.get(key) != value)
    if other:
        return f"it has other settings: {', '.join(other)}"
    return None


def _different(one: Mapping[str, str], other: Mapping[str, str]) -> Iterable[str]:
    return sorted(key for key in {*one, *other} if one.get(key) != other.get(key))


def write_facts(folder: str, facts: SessionFacts) -> None:
    """Write the facts into the session's folder."""
    write_file(os.path.join(folder, _FILE), encode(facts))


def read_facts(folder: str) -> SessionFacts:
    """The facts of the session in a folder.

    :raises OSError, ValueError: there are none.
    """
    with open(os.path.join(folder, _FILE), "rb") as file:
        return decode(file.read(), SessionFacts)
