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
from millrace.common.config_values import split_list
from millrace.common.jobs import JobStatus
from millrace.util.folders import make_private

if TYPE_CHECKING:
    from millrace.cluster.documents import JobDocument


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


def write_configuration(folder: str, configuration: Mapping[str, str], files: Mapping[str, str] | None = None) -> None:
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
    from millrace.cluster.documents import JobDocument

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
    """Let the cluster log below a directory, in a folder with its name; None: in its own folder. Logs that it has come
    along, unless they lie in another directory that was named.

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
"""Beginnings of keys that are settled when Spark starts."""
_OF_EACH_PROGRAM = ("spark.log.level", "spark.app.name")


@dataclass(frozen=True)
class SessionFacts:
    """What cannot be changed any more when the session runs."""

    versions: Mapping[str, str]
    """of Python, with its place, and of packages"""
    settings: Mapping[str, str] = field(repr=False)
    """those that say how Spark starts"""
    idle_seconds: float
    began: int
    """ms since the epoch"""


def facts_of(configuration: Mapping[str, str], idle_seconds: float, began: int) -> SessionFacts:
    """Those of a session that this Python starts."""
    return SessionFacts(versions(), spark_part(configuration), idle_seconds, began)


def versions() -> dict[str, str]:
    """What is installed here."""
    found = {"Python": f"{sys.version.split()[0]} in {sys.prefix}", "Millrace": _millrace()}
    for name in _PACKAGES:
        if (known := _version(name)) is not None:
            found[name] = known
    return found


def _version(package: str) -> str | None:
    """What is installed of a package, by the name of the folder with its metadata: to read those takes longer than all
    else that a command does before it hands its program over."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    begin, end = f"{package}-", ".dist-info"
    beside = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
    names = (name for name in beside if name.startswith(begin) and name.endswith(end))
    return next((name[len(begin) : -len(end)] for name in names), None)


def _millrace() -> str:
    """With its place and the newest change of a module: a copy that is worked on has one version for long. Folders also
    change when Python keeps there what it has compiled."""
    package = os.path.dirname(os.path.abspath(millrace.__file__))
    modules = [os.path.join(folder, name) for folder, _, names in os.walk(package) for name in names]
    changes = [os.stat(module).st_mtime for module in modules if module.endswith(".py")]
    return f"{millrace.__version__} in {package} of {max(changes):.0f}, {len(changes)} modules"


def spark_part(configuration: Mapping[str, str]) -> dict[str, str]:
    """What a configuration says about Spark's start."""
    found = {
        key: value for key, value in configuration.items() if key.startswith(_OF_SPARK) and key not in _OF_EACH_PROGRAM
    }
    for key in _JARS & found.keys():
        jars = _sparks(split_list(found.pop(key)))
        if jars:
            found[key] = ";".join(jars)
    return found


def _sparks(jars: Iterable[str]) -> list[str]:
    """Jars that Spark gets. Those of Flink's own that are not there are left out, so Spark starts as without them."""
    from millrace.datastream.dependencies import is_flinks_and_missing  # few programs have any

    return [jar for jar in jars if not is_flinks_and_missing(jar)]


def why_not(facts: SessionFacts, configuration: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """Why a program does not run on a session, in a few words; None: it does.

    :param here: the versions where the program is.
    """
    changed = _different(facts.versions, here)
    if changed:
        return f"it was started with another {' and '.join(changed)}"
    # What the program says nothing about is as whoever started the session wanted it.
    other = sorted(key for key, value in spark_part(configuration).items() if facts.settings.get(key) != value)
    if other:
        return f"it has other settings: {', '.join(other)}"
    return None


def _different(one: Mapping[str, str], other: Mapping[str, str]) -> Iterable[str]:
    return sorted(key for key in {*one, *other} if one.get(key) != other.get(key))


def write_facts(folder: str, facts: SessionFacts) -> None:
    """Keep them in the session's folder."""
    write_file(os.path.join(folder, _FILE), encode(facts))


def read_facts(folder: str) -> SessionFacts:
    """Those of a session.

    :raises OSError, ValueError: there are none.
    """
    with open(os.path.join(folder, _FILE), "rb") as file:
        return decode(file.read(), SessionFacts)
