"""Which carrier a job has."""

from __future__ import annotations

from millrace.datastream.settings import options
from millrace.runtime.jobs.job import JobGraph
from millrace.spark.jobs.carrier import Carrier
from millrace.spark.jobs.spark_jobs import SparkJobs
from millrace.spark.resident.carrier import Residents
from millrace.spark.sessions.session import Workplace
from millrace.spark.shipping.shipped import ShippedJob
from millrace.spark.workers.stage import Owners

IDLE_SECONDS = 1_800.0
"""How long owners stay that nobody asks for: those of a job whose driver was lost on another machine."""


def make_carrier(
    execution: str,
    place: Workplace,
    job: JobGraph,
    shipped: ShippedJob,
    lasting: bool,
    python: str | None,
    cancel_ms: int,
) -> Carrier:
    """The carrier that ``millrace.epoch.execution`` names. A job of which nothing lasts beyond its only epoch, in batch
    mode, is a job of Spark in any case.

    :param lasting: whether tasks live in owners.
    :param cancel_ms: how long a run may go on when a newer one of its task has begun; 0: no limit.
    :raises ValueError: it cannot be had on this Spark.
    """
    if not lasting:
        return SparkJobs(place, job, shipped, None, python)
    owners = Owners(_cores_of_executors(place), IDLE_SECONDS, cancel_ms / 1000)
    if execution == options.RESIDENT:
        return Residents(place, job, shipped, owners, python)
    return SparkJobs(place, job, shipped, owners, python)


def _cores_of_executors(place: Workplace) -> int:
    """0: as many as their machines have."""
    context = place.session.sparkContext
    if place.local:
        return int(context.defaultParallelism)
    return int(context.getConf().get("spark.executor.cores") or 0)
