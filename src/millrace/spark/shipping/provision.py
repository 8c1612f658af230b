"""Provides a job's workers with what the program's functions need."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace.common.files.stores import settings
from millrace.datastream.settings.dependencies import Dependencies
from millrace.spark.sessions.session import Workplace
from millrace.spark.shipping.requirements import install
from millrace.spark.shipping.shipping import SPARK, Shipping
from millrace.spark.shipping.surroundings import Surroundings
from millrace.util.system_zone import system_zone

if TYPE_CHECKING:
    from pyspark import SparkContext


@dataclass(frozen=True)
class Provision:
    """What a job's workers are provided with."""

    surroundings: Surroundings
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
    around = Surroundings(
        tuple(imports), last, tuple(archives.items()), cached, installed, zone or system_zone(), settings.shipped()
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
