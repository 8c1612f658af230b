"""Brings files to the workers. Those on this machine find them where they are, others get them through Spark.

A *location* is a path, or ``spark:NAME`` for what lies in the folder that Spark downloads into. ``locate`` makes a path
of it on the worker.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING

from millrace.datastream.settings.dependencies import import_path
from millrace.spark.archives import zip_modules
from millrace.spark.shipping.unpacking import unpack
from millrace.util.passing_folder import new_folder

if TYPE_CHECKING:
    from pyspark import SparkContext

SPARK = "spark:"


def _current_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # somebody has deleted it
        return os.sep


HOME = _current_directory()
"""Where this process began: Spark's folder is relative to it, also when a job has changed the directory."""

_spark_directory: str | None = None
"""The folder that Spark downloads into, if Spark does not say so itself in this process."""

_added: set[tuple[str, str]] = set()
"""(Spark application, name) of what was added: Spark keeps it until the session ends."""


def locate(location: str) -> str:
    """The path on this worker."""
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
    """What one job ships."""

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
