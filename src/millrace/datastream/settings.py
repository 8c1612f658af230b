"""Settings beyond those of PyFlink: what new environments of this process begin with (configuration files, ``-D``) and
what submits jobs, and the savepoint or checkpoint that a job begins with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

from millrace.common.configuration import Configuration, to_boolean
from millrace.common.files import store_settings
from millrace.configuration.files import file_settings
from millrace.util.plugins import LAUNCHERS, load

if TYPE_CHECKING:
    from millrace.datastream.job_settings import JobSettings
    from millrace.graph.program import Graph
    from millrace.runtime.operators.job_graph import JobGraph
    from millrace.spark.jobs.client import LocalJobClient
    from millrace.spark.jobs.submit import SparkJobClient


# Defaults of this process


class Portable(Protocol):
    """A job with everything that another process needs to run it. It is pickled on its way there."""

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
    """makes Flink's plan JSON"""
    start: Callable[[], SparkJobClient]
    """submits the job"""
    collecting: bool
    """whether the program reads the job's results, so that the job may have to wait for it"""
    prepare: Callable[[], tuple[JobGraph, JobSettings]] | None = None
    """makes the job and its settings without starting it; None: a query in batch mode"""
    portable: Callable[[], Portable] | None = None
    """makes the job for another process; None: this process must run it, since it reads the job's rows or holds its
    input"""
    elsewhere: bool = False
    """whether the configuration runs the job on a cluster: ``execution.target: remote``"""
    graph: Callable[[], Graph] | None = None
    """makes the program's nodes as the program defined them, before any pass; None: a query in batch mode"""


Submitter = Callable[[Submission], "SparkJobClient"]

_defaults: Configuration | None = None


def set_defaults(configuration: Configuration | None) -> None:
    """Replace the defaults of environments that are made from now on. None: use the configuration files."""
    global _defaults
    _defaults = None if configuration is None else Configuration(configuration)
    if configuration is not None:
        store_settings.use_in_process(configuration.to_dict())


def get_defaults() -> Configuration:
    """A copy of the defaults.

    :raises ConfigurationError: there are none yet, and the configuration files are wrong.
    """
    return Configuration.from_dict(file_settings()) if _defaults is None else Configuration(_defaults)


def _start(submission: Submission) -> SparkJobClient:
    """Start a job, or submit it to the configured cluster. Not used by commands: their submitters have decided where a
    program runs."""
    if not submission.elsewhere:
        return submission.start()
    if submission.portable is not None:
        client: SparkJobClient = load(LAUNCHERS, "cluster")(submission.portable())
        return client
    if submission.prepare is not None:
        raise ValueError(
            "execution.target is remote, and this program reads the results of its job itself: run all of it on the "
            "cluster, with `millrace run`"
        )
    return submission.start()


_submitter: Submitter = _start


def set_submitter(submitter: Submitter | None) -> None:
    """Let ``submitter`` handle all jobs from now on; None: start each at once, here or on the configured cluster."""
    global _submitter
    _submitter = submitter or _start


def hands_over() -> bool:
    """Whether jobs are submitted to the configured cluster, because no command has decided otherwise."""
    return _submitter is _start


def get_submitter() -> Submitter:
    return _submitter


# What a job begins with

PATH = "execution.state-recovery.path"
IGNORE_UNCLAIMED = "execution.state-recovery.ignore-unclaimed-state"
CLAIM_MODE = "execution.state-recovery.claim-mode"
_OLDER = {
    PATH: "execution.savepoint.path",
    IGNORE_UNCLAIMED: "execution.savepoint.ignore-unclaimed-state",
    CLAIM_MODE: "execution.savepoint-restore-mode",
}
"""The options' names in Flink 1."""

T = TypeVar("T")
"""Type of an option's value."""


class ClaimMode(Enum):
    """The owner of the snapshot files that a job was restored from."""

    CLAIM = "claim"
    """the job owns the files, and deletes them when it no longer needs them"""
    NO_CLAIM = "no_claim"
    """the user owns the files, and the job's first checkpoint does not refer to them"""
    LEGACY = "legacy"
    """the user owns the files, but the job's checkpoints may refer to them"""

    @staticmethod
    def of(text: str) -> ClaimMode:
        """Parse ``claim``, ``NO_CLAIM``, ... Raises ``ValueError`` for other words."""
        try:
            return ClaimMode(text.strip().lower().replace("-", "_"))
        except ValueError:
            raise ValueError(f"{text!r} is no claim mode: use claim, no_claim or legacy") from None


@dataclass(frozen=True)
class SavepointRestoreSettings:
    """The snapshot from which a job is restored, and how."""

    path: str | None = None
    """path of a savepoint or checkpoint; None: the job begins with empty state"""
    allow_non_restored_state: bool = False
    """whether the snapshot may contain state that no operator of the job takes"""
    claim_mode: ClaimMode = ClaimMode.NO_CLAIM

    @staticmethod
    def from_configuration(configuration: Mapping[str, str]) -> SavepointRestoreSettings:
        """Read ``execution.state-recovery.*`` or its older names. Raises ``ValueError`` naming the key."""
        return SavepointRestoreSettings(
            _read(configuration, PATH, str, "") or None,
            _read(configuration, IGNORE_UNCLAIMED, to_boolean, False),
            _read(configuration, CLAIM_MODE, ClaimMode.of, ClaimMode.NO_CLAIM),
        )


def _read(configuration: Mapping[str, str], key: str, convert: Callable[[str], T], default: T) -> T:
    """The value of a key, or of its older name."""
    name = key if key in configuration else _OLDER[key]
    if name not in configuration:
        return default
    try:
        return convert(configuration[name])
    except ValueError as error:
        raise ValueError(f"could not parse value {configuration[name]!r} for key {name!r}: {error}") from None


def restore_settings(configuration: Mapping[str, str], index: int) -> SavepointRestoreSettings:
    """The settings of the job that a program submits as its ``index``-th (0, 1, ...).

    What the command line says is meant for the first job: the state of another would not fit a second one.
    """
    settings = SavepointRestoreSettings.from_configuration(configuration)
    given = SavepointRestoreSettings.from_configuration(get_defaults().to_dict())
    return SavepointRestoreSettings() if index > 0 and settings == given else settings
