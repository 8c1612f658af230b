"""What a job's functions find around themselves in a worker: import path, working directory, cached files."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.common.files.stores import settings
from millrace.spark.shipping.shipping import HOME, locate, spark_directory


@dataclass(frozen=True)
class Surroundings:
    """Travels with a job. Paths are locations (see ``shipping``)."""

    first: tuple[str, ...] = ()
    """to be imported from before anything else"""
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
    """what the driver knows of object stores and HDFS, with credentials"""

    def files(self) -> dict[str, str]:
        """The cached files' paths on this worker, by their names."""
        return {name: locate(location) for name, location in self.cached_files.items()}

    def enter(self, job_id: str) -> None:
        """Make this process one of the job's, until another job takes its turn in it."""
        global _first, _directory
        if self.stores:
            settings.take(self.stores)
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
        """What PyFlink's workers have in their environment."""
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
"""What the job at hand imports from before anything else."""
_directory = HOME
"""Where this process is."""
