"""The engine as programs see it: what runs jobs. Spark's is the entry point ``spark``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from millrace.util.plugins import ENGINES, load

if TYPE_CHECKING:
    from millrace.datastream.job_settings import JobSettings
    from millrace.runtime.operators.job_graph import JobGraph


class Engine(Protocol):
    """Runs the job graphs of programs, and the plans of tables in batch mode."""

    def started_early(self, configuration: Mapping[str, str]) -> AbstractContextManager[None]:
        """While the block prepares a job, the engine may begin to start."""

    def submit(self, job: JobGraph, settings: JobSettings) -> Any:
        """Start a job and return its client. What can be seen to be wrong before it runs is raised here."""

    def portable(self, job: JobGraph, settings: JobSettings) -> Any:
        """The job as a value that another process can start."""

    def batch_tables(self) -> Any:
        """What runs, explains and converts plans in batch mode: ``table.sessions.session.Engine``."""


def engine() -> Engine:
    """The engine that the jobs of programs run on.

    :raises LookupError: Millrace is not installed.
    """
    found: Engine = load(ENGINES, "spark")()
    return found
