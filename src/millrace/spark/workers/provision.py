"""Provides a job's workers with what the program's functions need, packages of a requirements.txt included.

Packages are installed once for all jobs that have the same requirements.txt.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace.common.files import store_settings
from millrace.datastream.job_settings import Dependencies, Requirements
from millrace.spark.java import user_cache
from millrace.spark.sessions.session import Workplace
from millrace.spark.workers.shipping import SPARK, Shipping, WorkerSurroundings
from millrace.util.folders import make_private
from millrace.util.system import system_zone

if TYPE_CHECKING:
    from pyspark import SparkContext


SHOWN_LINES = 15
"""Lines of pip's output that an error shows."""


class RequirementsError(RuntimeError):
    """The packages can't be installed; the text ends with what pip says."""


def install(requirements: Requirements, python: str | None = None) -> str:
    """The folder with the packages, for the interpreter ``python``; made by pip if it is not there yet.

    The folder is found again by the text of the requirements and the packages beside them: what pip chose for a
    package without a version stays until the folder is deleted.
    """
    interpreter = python if python is not None and os.path.isfile(python) else sys.executable
    folder = user_cache("requirements", _key(requirements, interpreter))
    make_private(os.path.dirname(folder))  # before anything is imported from there
    if os.path.isdir(folder):
        return folder
    temporary = tempfile.mkdtemp(prefix="installing-", dir=os.path.dirname(folder))
    try:
        _pip(requirements, interpreter, temporary)
        try:
            os.rename(temporary, folder)
        except OSError:
            if not os.path.isdir(folder):  # another process was faster
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _pip(requirements: Requirements, interpreter: str, target: str) -> None:
    command = [interpreter, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-warn-conflicts"]
    command += ["--target", target, "--requirement", requirements.path]
    if requirements.packages is not None:
        command += ["--no-index", "--find-links", requirements.packages]
    # Paths in a requirements file are relative to the folder where pip runs, so pip runs beside the file.
    folder = os.path.dirname(requirements.path)
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        said = "\n".join(f"  {line}" for line in done.stdout.strip().splitlines()[-SHOWN_LINES:])
        raise RequirementsError(f"{requirements.origin}: pip can't install {requirements.path}:\n{said}")


def _key(requirements: Requirements, interpreter: str) -> str:
    with open(requirements.path, "rb") as file:
        parts = [file.read(), f"{os.path.realpath(interpreter)} {sys.version}".encode()]
    if requirements.packages is not None:
        for entry in sorted(os.scandir(requirements.packages), key=lambda entry: entry.name):
            found = entry.stat()
            parts.append(f"{entry.name} {found.st_size} {found.st_mtime_ns}".encode())
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:24]


@dataclass(frozen=True)
class Provision:
    """What a job's workers are provided with."""

    surroundings: WorkerSurroundings
    python: str | None = None
    """their interpreter; None: the one of the session"""


def provide(place: Workplace, needs: Dependencies, paths: tuple[str, ...], zone: str = "") -> Provision:
    """Install the required packages and bring everything to the workers. Errors as ``install`` and ``ship``."""
    packages = install(needs.requirements, needs.executable) if needs.requirements is not None else None
    return ship(place, needs, packages, paths, zone)


def ship(
    place: Workplace, needs: Dependencies, packages: str | None, paths: tuple[str, ...], zone: str = ""
) -> Provision:
    """Bring everything to the workers.

    :param packages: the folder of the installed requirements.
    :param paths: this process's import path, for workers on the same machine.
    :param zone: the session's time zone.
    :raises FileNotFoundError: there is no such interpreter.
    """
    shipping = Shipping(place.session.sparkContext, place.local)
    installed = ""
    imports = [shipping.python_file(path) for path in reversed(needs.files)]  # the last comes first
    if packages is not None:
        installed = shipping.folder(packages)
        imports.append(installed)
    archives = {archive.target: shipping.archive(archive.path) for archive in needs.archives}
    cached = {}
    for file in needs.cached_files:
        folder = os.path.isdir(file.path)
        cached[file.name] = shipping.folder(file.path) if folder else shipping.file(file.path, file.executable)
    python = needs.executable and _in_archive(needs.executable, archives)
    if python and place.local and shutil.which(python) is None:
        raise FileNotFoundError(f"no such Python for the workers: {needs.executable}")
    last = paths if place.local else ()
    around = WorkerSurroundings(
        tuple(imports),
        last,
        tuple(archives.items()),
        cached,
        installed,
        zone or system_zone(),
        store_settings.shipped(),
    )
    return Provision(around, python)


def _in_archive(executable: str, archives: dict[str, str]) -> str:
    """The path of an interpreter that may lie in an archive, as the process sees it that starts the workers."""
    for target, location in archives.items():
        if executable.startswith(f"{target}/"):
            # Spark unpacks into the folder that its executors run in.
            base = location.replace(SPARK, "./", 1) if location.startswith(SPARK) else location
            return base + executable.removeprefix(target)
    return executable


@contextlib.contextmanager
def interpreter(context: SparkContext, python: str | None) -> Iterator[None]:
    """Plans that are made inside run their Python in this interpreter; the rest of the session keeps its own."""
    before = context.pythonExec
    context.pythonExec = python or before
    try:
        yield
    finally:
        context.pythonExec = before
