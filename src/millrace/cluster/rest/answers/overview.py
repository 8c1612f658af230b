"""The cluster in a few numbers, and what its pages need to know."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TypedDict

import millrace
from millrace.cluster.documents.cluster import TaskManagerDocument
from millrace.cluster.documents.job import JobDocument
from millrace.cluster.rest.answers.states import ENDED
from millrace.util.secrets import mask_options

FLINK = "2.3.0"
"""the version whose API this is: tools look at it to know what they can ask for"""

ClusterOverview = TypedDict(
    "ClusterOverview",
    {
        "taskmanagers": int,
        "slots-total": int,
        "slots-available": int,
        "jobs-running": int,
        "jobs-finished": int,
        "jobs-cancelled": int,
        "jobs-failed": int,
        "flink-version": str,
        "flink-commit": str,
    },
)
Features = TypedDict("Features", {"web-submit": bool, "web-cancel": bool, "web-rescale": bool, "web-history": bool})
DashboardConfiguration = TypedDict(
    "DashboardConfiguration",
    {
        "refresh-interval": int,
        "timezone-name": str,
        "timezone-offset": int,
        "flink-version": str,
        "flink-revision": str,
        "features": Features,
    },
)


class ConfigurationInfoEntry(TypedDict):
    """An option that is set."""

    key: str
    value: str


def revision() -> str:
    return f"millrace-{millrace.__version__}"


def overview(jobs: Sequence[JobDocument], managers: Sequence[TaskManagerDocument]) -> ClusterOverview:
    """The cluster in a few numbers."""
    states = [each.state for each in jobs]
    return {
        "taskmanagers": len(managers),
        "slots-total": sum(each.slots for each in managers),
        "slots-available": sum(each.free_slots for each in managers),
        "jobs-running": sum(state not in ENDED for state in states),
        "jobs-finished": states.count("FINISHED"),
        "jobs-cancelled": states.count("CANCELED"),
        "jobs-failed": states.count("FAILED"),
        "flink-version": FLINK,
        "flink-commit": revision(),
    }


def dashboard(refresh: int, submit: bool, cancel: bool, history: bool) -> DashboardConfiguration:
    """What pages need to know."""
    here = time.localtime()
    return {
        "refresh-interval": refresh,
        "timezone-name": here.tm_zone,
        "timezone-offset": here.tm_gmtoff * 1000,
        "flink-version": FLINK,
        "flink-revision": revision(),
        "features": {"web-submit": submit, "web-cancel": cancel, "web-rescale": False, "web-history": history},
    }


def configuration(options: Mapping[str, str]) -> list[ConfigurationInfoEntry]:
    """Options, without secrets."""
    return [{"key": key, "value": value} for key, value in mask_options(options).items()]
