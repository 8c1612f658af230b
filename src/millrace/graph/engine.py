"""What runs jobs: the engine, as programs see it. Spark's is the entry point ``spark``; tests may use another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from millrace.util.plugins import ENGINES, load

if TYPE_CHECKING:
    from millrace.datastream.job_settings import JobSettings
    from millrace.runtime.operators.job_graph import JobGraph


class Engine(Protocol):
    """Runs the job graphs of programs, and the plans of tables in batch mode."""

    def begun_ahead(self, configuration: Mapping[str, str]) -> AbstractContextManager[None]:
        """While the block prepares a job, the engine may begin to start."""

    def submit(self, job: JobGraph, settings: JobSettings) -> Any:
        """Start a job and return its client. What can be seen to be wrong before it runs is raised here."""

    def portable(self, job: JobGraph, settings: JobSettings) -> Any:
        """The job as a value that another process can start."""

    def batch_tables(self) -> Any:
        """What runs, explains and converts plans in batch mode: ``table.sessions.session.Engine``."""


_chosen: list[Engine] = []


def engine() -> Engine:
    """The engine that jobs of this process run on: the one chosen last, else Spark's.

    :raises LookupError: Millrace is not installed.
    """
    if _chosen:
        return _chosen[-1]
    found: Engine = load(ENGINES, "spark")()
    return found


@contextmanager
def using(chosen: Engine) -> Iterator[None]:
    """Run jobs on another engine within the block, in all threads of the process."""
    _chosen.append(chosen)
    try:
        yield
    finally:
        _chosen.remove(chosen)
