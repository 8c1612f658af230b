"""Which carrier a job has."""

from __future__ import annotations

import logging

from millrace.datastream.settings import options
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.specs import Iterate
from millrace.spark.flow.carrier import Flow
from millrace.spark.flow.links import Given
from millrace.spark.jobs.carrier import Carrier
from millrace.spark.jobs.spark_jobs import SparkJobs
from millrace.spark.resident.carrier import Residents
from millrace.spark.sessions.session import Workplace
from millrace.spark.shipping.shipped import ShippedJob
from millrace.spark.workers.stage import Owners

logger = logging.getLogger("millrace")

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
    epoch_seconds: float,
    bounded: bool,
    given: Given,
) -> Carrier:
    """The carrier that ``millrace.epoch.execution`` names. A job of which nothing lasts beyond its only epoch, in batch
    mode, is a job of Spark in any case.

    :param lasting: whether tasks live in owners.
    :param cancel_ms: how long a run may go on when a newer one of its task has begun; 0: no limit.
    :param epoch_seconds: how long an epoch in flow takes from its first record on.
    :param bounded: whether the job comes to an end by itself.
    :param given: takes what tasks in flow have to show while their epoch goes on.
    :raises ValueError: it cannot be had on this Spark.
    """
    if not lasting:
        return SparkJobs(place, job, shipped, None, python)
    owners = Owners(_cores_of_executors(place), IDLE_SECONDS, cancel_ms / 1000)
    if execution == options.FLOW:
        return Flow(place, job, shipped, owners, python, epoch_seconds, bounded, given)
    if execution == options.RESIDENT:
        return Residents(place, job, shipped, owners, python)
    return SparkJobs(place, job, shipped, owners, python)


def chosen(execution: str, place: Workplace, job: JobGraph) -> str:
    """What carries the epochs of a job for which ``execution`` is wanted: ``resident`` is flow where that can be."""
    if execution == options.SPARK_JOBS:
        return execution
    why = _why_no_flow(place, job)
    if why is None:
        return options.FLOW
    if execution == options.RESIDENT:
        return execution
    key, instead = options.EPOCH_EXECUTION.key, options.SPARK_JOBS
    logger.warning("job %r: its epochs are %s, not %s (%s): %s", job.name, instead, options.FLOW, key, why)
    return instead


def _why_no_flow(place: Workplace, job: JobGraph) -> str | None:
    """Why a job can't be in flow; None: it can."""
    if not place.local:
        return f"{place.session.sparkContext.master} is more than one process"
    loop = next((info for info in job.operators if isinstance(info.spec, Iterate)), None)
    return None if loop is None else f"{loop.name!r}, made at {loop.origin}, is a loop"


def _cores_of_executors(place: Workplace) -> int:
    """0: as many as their machines have."""
    context = place.session.sparkContext
    if place.local:
        return int(context.defaultParallelism)
    return int(context.getConf().get("spark.executor.cores") or 0)
