"""Process-wide settings: what new environments begin with (configuration files, ``-D``), and who submits jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from millrace.common.configuration import Configuration
from millrace.configuration.files import file_settings

if TYPE_CHECKING:
    from millrace.graph.nodes import Graph
    from millrace.runtime.jobs.job import JobGraph
    from millrace.spark.jobs.client import LocalJobClient
    from millrace.spark.jobs.submit import JobSettings, SparkJobClient


class Portable(Protocol):
    """A job with all that another process needs to run it. It is pickled on its way there."""

    @property
    def job_id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def configuration(self) -> Mapping[str, str]: ...

    def start(self) -> LocalJobClient:
        """Run it in this process."""


@dataclass(frozen=True)
class Submission:
    """A program that is about to be submitted as a job."""

    plan: Callable[[], str]
    """gives Flink's plan JSON"""
    start: Callable[[], SparkJobClient]
    """submits the job"""
    collecting: bool
    """whether the program reads the job's results, so that the job may have to wait for it"""
    prepare: Callable[[], tuple[JobGraph, JobSettings]] | None = None
    """gives what would be submitted; None: it is a query of batch mode"""
    portable: Callable[[], Portable] | None = None
    """gives it for another process; None: this one has to run it, since it reads its rows or holds what it reads"""
    elsewhere: bool = False
    """whether the configuration says that it runs on a cluster: ``execution.target: remote``"""
    graph: Callable[[], Graph] | None = None
    """gives the program's nodes as the program made them, before any pass; None: it is a query of batch mode"""


Submitter = Callable[[Submission], "SparkJobClient"]

_defaults: Configuration | None = None


def set_defaults(configuration: Configuration | None) -> None:
    """Replace the defaults; environments made from now on begin with them. None: with the configuration files."""
    global _defaults
    _defaults = None if configuration is None else Configuration(configuration)


def get_defaults() -> Configuration:
    """A copy of the defaults.

    :raises ConfigurationError: there are none yet, and the configuration files are wrong.
    """
    return Configuration.from_dict(file_settings()) if _defaults is None else Configuration(_defaults)


def _start(submission: Submission) -> SparkJobClient:
    """Commands, which set submitters of their own, have decided already where a program runs."""
    if not submission.elsewhere:
        return submission.start()
    if submission.portable is not None:
        from millrace.cluster.remote.handing_over import cluster_named, hand_over

        portable = submission.portable()
        client: Any = hand_over(portable, cluster_named(portable.configuration))
        return client  # type: ignore[no-any-return]
    if submission.prepare is not None:
        raise ValueError(
            "execution.target is remote, and this program reads the results of its job itself: run all of it on the "
            "cluster, with `millrace run`"
        )
    return submission.start()


_submitter: Submitter = _start


def set_submitter(submitter: Submitter | None) -> None:
    """Let ``submitter`` handle what is executed from now on; None: submit it at once."""
    global _submitter
    _submitter = submitter or _start


def hands_over() -> bool:
    """Whether jobs are handed to the cluster that the configuration names: no command has decided otherwise."""
    return _submitter is _start


def get_submitter() -> Submitter:
    return _submitter
