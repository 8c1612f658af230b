"""Process-wide settings of ``millrace run`` and ``info``: defaults of new environments, and who submits jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millrace.common.configuration import Configuration

if TYPE_CHECKING:
    from millrace.spark.jobs.submit import SparkJobClient


@dataclass(frozen=True)
class Submission:
    """A program that is about to be submitted as a job."""

    plan: Callable[[], str]
    """gives Flink's plan JSON"""
    start: Callable[[], SparkJobClient]
    """submits the job"""
    collecting: bool
    """whether the program reads the job's results, so that the job may have to wait for it"""


Submitter = Callable[[Submission], "SparkJobClient"]

_defaults = Configuration()


def set_defaults(configuration: Configuration) -> None:
    """Replace the defaults; environments made from now on begin with them."""
    global _defaults
    _defaults = Configuration(configuration)


def get_defaults() -> Configuration:
    """A copy of the defaults."""
    return Configuration(_defaults)


def _start(submission: Submission) -> SparkJobClient:
    return submission.start()


_submitter: Submitter = _start


def set_submitter(submitter: Submitter | None) -> None:
    """Let ``submitter`` handle what is executed from now on; None: submit it at once."""
    global _submitter
    _submitter = submitter or _start


def get_submitter() -> Submitter:
    return _submitter
