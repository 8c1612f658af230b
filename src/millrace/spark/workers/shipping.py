"""Ships a job to the workers, with the files, import path, working directory and classes that its functions need.

Workers on this machine find files where they are, others get them through Spark. A *location* is a path, or
``spark:NAME`` for a file in the folder that Spark downloads into; ``locate`` makes a path of it on the worker. A
worker's ``__main__`` is PySpark's daemon, so the classes of the program's main module travel once and are put where
pickle looks for them; otherwise every packet would hold them.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import logging
import os
import pickle
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from millrace.activate import activate
from millrace.common.configuration import to_int
from millrace.common.files import store_settings
from millrace.configuration.own_options import OUTPUT_LEVEL, OUTPUT_LINES, default_of
from millrace.datastream.job_settings import import_path
from millrace.graph.serialize import pickles
from millrace.runtime.operators.job_graph import JobGraph
from millrace.spark.archives import unpack, zip_modules
from millrace.util.by_value import pickled_by_value
from millrace.util.folders import new_folder

if TYPE_CHECKING:
    from pyspark import SparkContext


SPARK = "spark:"


def _current_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # another process has deleted it
        return os.sep


HOME = _current_directory()
"""Where this process began: Spark's folder is relative to it, also when a job has changed the directory."""

_spark_directory: str | None = None
"""The folder that Spark downloads into, if Spark does not say so itself in this process."""

_added: set[tuple[str, str]] = set()
"""(Spark application, name) of the files that were added to Spark, which keeps them until the application ends"""


def locate(location: str) -> str:
    """Return the path of a location on this worker."""
    if not location.startswith(SPARK):
        return location
    return os.path.join(spark_directory(), location.removeprefix(SPARK))


def spark_directory() -> str:
    """The absolute path of the folder that Spark downloads into, on a worker or owner."""
    if _spark_directory is not None:
        return _spark_directory
    from pyspark import SparkFiles

    return os.path.normpath(os.path.join(HOME, SparkFiles.getRootDirectory()))


def use_spark_directory(path: str) -> None:
    """In a process that is no worker of Spark's: what a worker says about that folder."""
    global _spark_directory
    _spark_directory = os.path.normpath(os.path.join(HOME, path))


class Shipping:
    """Makes locations of the files of one job."""

    def __init__(self, context: SparkContext, local: bool) -> None:
        """``local``: whether the workers run on this machine."""
        self._context = context
        self._local = local

    def python_file(self, path: str) -> str:
        """The location to import from, for a .py, .zip, .egg or .whl file or a folder."""
        if self._local:
            return import_path(path)
        if os.path.isdir(path):
            return self.folder(path)
        if not path.endswith(".py"):
            return self.file(path)
        return self._add(path, ".zip", functools.partial(_zip_module, path))

    def file(self, path: str, executable: bool = False) -> str:
        """A file as it is, or made executable; a URI is read by Spark."""
        if "://" in path:
            self._context.addFile(path)
            return SPARK + path.rpartition("/")[2]
        # Spark makes every file executable.
        if not self._local:
            return self._add(path, f"-{os.path.basename(path)}", functools.partial(_link, path))
        return _executable(path) if executable and not os.access(path, os.X_OK) else path

    def folder(self, path: str) -> str:
        """A folder with all that is in it, but compiled Python."""
        return path if self._local else self._add(path, ".tgz", functools.partial(_pack, path))

    def archive(self, path: str) -> str:
        """The folder that an archive was unpacked into."""
        folder = os.path.join(_staging(), f"{_digest(path)}-unpacked")
        if not os.path.isdir(folder):
            unpack(path, folder)
        return self.folder(folder)

    def _add(self, path: str, suffix: str, make: Callable[[str], object]) -> str:
        """Give Spark a file that ``make`` makes of ``path``; a .tgz file is unpacked on the workers."""
        key = _digest(path)
        name = key + suffix
        staged = os.path.join(_staging(), name)
        shipped = (str(self._context.applicationId), name)
        if shipped not in _added:
            if not os.path.exists(staged):
                make(staged)
            if suffix == ".tgz":
                self._context.addArchive(f"{staged}#{key}")
            else:
                self._context.addFile(staged)
            _added.add(shipped)
        return SPARK + (key if suffix == ".tgz" else name)


@functools.cache
def _staging() -> str:
    """Spark reads from here as long as the session lives."""
    directory = new_folder("ship")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def _digest(path: str) -> str:
    """A name for what lies at a path now: two files of one name, and a file that was changed, don't meet."""
    path = os.path.realpath(path)
    inside = (os.path.join(current, name) for current, _, names in os.walk(path) for name in names)
    digest = hashlib.sha256(path.encode())
    for file in sorted(inside) if os.path.isdir(path) else [path]:
        found = os.lstat(file)
        digest.update(f"{file} {found.st_size} {found.st_mtime_ns}".encode())
    return digest.hexdigest()[:16]


def _link(path: str, target: str) -> None:
    try:
        os.link(path, target)
    except OSError:  # another disk
        shutil.copy2(path, target)


def _executable(path: str) -> str:
    copy = os.path.join(_staging(), f"{_digest(path)}-{os.path.basename(path)}")
    shutil.copy2(path, copy)
    os.chmod(copy, 0o755)
    return copy


def _zip_module(path: str, target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy2(path, folder)
        zip_modules(folder, target)


def _pack(folder: str, target: str) -> None:
    def wanted(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
        return None if os.path.basename(entry.name) == "__pycache__" else entry

    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        archive.add(folder, arcname=".", filter=wanted)


@dataclass(frozen=True)
class WorkerSurroundings:
    """The surroundings that a job's functions need in a worker; travels with the job. Paths are locations (see the
    module)."""

    first: tuple[str, ...] = ()
    """locations that are searched for imports before anything else"""
    last: tuple[str, ...] = ()
    """the driver's import path, for workers on the same machine"""
    archives: tuple[tuple[str, str], ...] = ()
    """(path below the working directory, location of the unpacked archive)"""
    cached_files: Mapping[str, str] = field(default_factory=dict)
    packages: str = ""
    """location of the folder of the required packages"""
    zone: str = ""
    """the session's time zone"""
    stores: Mapping[str, str] = field(default_factory=dict, repr=False)
    """the driver's settings for object stores and HDFS, with credentials"""

    def files(self) -> dict[str, str]:
        """The cached files' paths on this worker, by their names."""
        return {name: locate(location) for name, location in self.cached_files.items()}

    def enter(self, job_id: str) -> None:
        """Give this process the job's surroundings, until another job's are entered."""
        global _first, _directory
        if self.stores:
            store_settings.take(self.stores)
        self._set_variables()
        first = [locate(location) for location in self.first]
        kept = [path for path in sys.path if path not in _first and path not in first]
        sys.path[:] = [*kept[:1], *first, *kept[1:], *(path for path in self.last if path not in kept)]
        _first = frozenset(first)
        wanted = self._working_directory(job_id) if self.archives else HOME
        if wanted != _directory:
            os.chdir(wanted)
            _directory = wanted

    def _set_variables(self) -> None:
        """Set the environment variables that PyFlink's workers have."""
        variables = {
            "python": sys.executable,
            "_PYTHON_WORKER_MEMORY_LIMIT": str(_memory()),
            "TABLE_LOCAL_TIME_ZONE": self.zone,
            "_PYTHON_REQUIREMENTS_INSTALL_DIR": locate(self.packages) if self.packages else "",
        }
        for name, value in variables.items():
            if value:
                os.environ[name] = value
            else:
                os.environ.pop(name, None)  # another job's

    def _working_directory(self, job_id: str) -> str:
        """A folder in which the job's archives appear.

        An executor runs in a folder of its own already, the one that Spark downloads into; leaving it would spoil the
        relative paths that Spark imports from.
        """
        directory = spark_directory()
        if directory != HOME:
            directory = os.path.join(directory, f"millrace-{job_id}")
        for target, location in self.archives:
            link = os.path.join(directory, target)
            os.makedirs(os.path.dirname(link), exist_ok=True)
            temporary = f"{link}.{os.getpid()}.tmp"
            os.symlink(locate(location), temporary)
            os.replace(temporary, link)  # another job may have had another archive there
        return directory


def _memory() -> int:
    """Bytes that a worker may have: what Spark allows it, or the machine's."""
    allowed = int(os.environ.get("PYSPARK_EXECUTOR_MEMORY_MB", "-1"))
    return allowed << 20 if allowed > 0 else os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


_first: frozenset[str] = frozenset()
"""Locations that the current job's imports are searched in first."""
_directory = HOME
"""The current directory of this process."""


LEVEL, LINES = OUTPUT_LEVEL.key, OUTPUT_LINES.key
DEFAULT_LEVEL, DEFAULT_LINES = default_of(OUTPUT_LEVEL), default_of(OUTPUT_LINES)


@dataclass(frozen=True)
class Output:
    """What a job wants to be done with its functions' output; travels with the job."""

    level: int = logging.getLevelName(DEFAULT_LEVEL)
    """what functions log below this level is dropped"""
    lines: int = DEFAULT_LINES
    """the most lines a second that reach the driver from each subtask of an operator"""
    driver: str | None = None
    """the socket on which the driver listens, if it runs on the same machine"""


def output_wanted(configuration: Mapping[str, str]) -> Output:
    """Read the output settings from the configuration.

    :raises ValueError: a value is not valid.
    """
    name, lines = configuration.get(LEVEL, DEFAULT_LEVEL).upper(), configuration.get(LINES)
    return Output(logging.getLevelName(name), DEFAULT_LINES if lines is None else max(to_int(lines), 0))


def main_classes() -> bytes:
    """The classes that the main module of this process defines, as far as they can be pickled."""
    main = sys.modules["__main__"]
    classes = {
        name: value for name, value in vars(main).items() if isinstance(value, type) and value.__module__ == "__main__"
    }
    return pickled_by_value({name: cls for name, cls in classes.items() if pickles(cls)})


def install_main_classes(payload: bytes) -> None:
    """Put them into this process's main module; those of an earlier job are replaced."""
    vars(sys.modules["__main__"]).update(pickle.loads(payload))


@dataclass(frozen=True)
class ShippedJob:
    """A job, with all that the processes of its tasks need to run it."""

    job_id: str
    payload: bytes
    state: str
    """the folder where tasks keep their state"""
    main_classes: bytes
    key_groups: Mapping[str, int] = field(default_factory=dict)
    """uid of an operator -> number of its key groups"""
    surroundings: WorkerSurroundings = field(default_factory=WorkerSurroundings)
    pyflink: bool = False
    """whether the program's modules import ``pyflink`` and mean Millrace"""
    token: str | None = None
    """a token that the driver has written into the state folder; None: tasks need not check that the folder is shared
    """
    result_files: bool = False
    """whether the driver can read files that tasks write into the state folder: then large results go there"""
    retries: int = 0
    """how often a task that fails in the job's first attempt runs again by itself, see ``failover``"""
    output: Output = field(default_factory=Output)

    def prepare(self) -> None:
        """Make this process able to run what belongs to the job."""
        self.surroundings.enter(self.job_id)
        if self.pyflink:
            activate()
        install_main_classes(self.main_classes)

    def load(self) -> JobGraph:
        """A fresh copy of the job."""
        job: JobGraph = pickle.loads(self.payload)
        return replace(job, cached_files=self.surroundings.files())

    def encode(self) -> bytes:
        return pickle.dumps(self, protocol=5)

    @staticmethod
    def decode(content: bytes) -> ShippedJob:
        """Unpickle a shipped job; only for bytes that ``encode`` made in this job's driver."""
        job: ShippedJob = pickle.loads(content)
        return job


def digest(content: bytes) -> str:
    """A short name for a shipped job."""
    return hashlib.sha256(content).hexdigest()[:16]
