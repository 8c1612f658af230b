"""Which carrier a job has."""

from __future__ import annotations

from millrace.datastream.settings import options
from millrace.runtime.coordination.loops import has_loops
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.jobs.specs import Iterate
from millrace.spark.flow.carrier import Flow
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
    epoch_seconds: float,
    bounded: bool,
) -> Carrier:
    """The carrier that ``millrace.epoch.execution`` names. A job of which nothing lasts beyond its only epoch, in batch
    mode, is a job of Spark in any case.

    :param lasting: whether tasks live in owners.
    :param cancel_ms: how long a run may go on when a newer one of its task has begun; 0: no limit.
    :param epoch_seconds: how long an epoch in flow takes from its first record on.
    :param bounded: whether the job comes to an end by itself.
    :raises ValueError: it cannot be had on this Spark.
    """
    if not lasting:
        return SparkJobs(place, job, shipped, None, python)
    owners = Owners(_cores_of_executors(place), IDLE_SECONDS, cancel_ms / 1000)
    if execution == options.FLOW:
        refuse_flow(place, job)
        return Flow(place, job, shipped, owners, python, epoch_seconds, bounded)
    if execution == options.RESIDENT:
        return Residents(place, job, shipped, owners, python)
    return SparkJobs(place, job, shipped, owners, python)


def refuse_flow(place: Workplace, job: JobGraph) -> None:
    """:raises ValueError: the job can't be in flow, or not on this Spark."""
    key, others = options.EPOCH_EXECUTION.key, f"use {options.SPARK_JOBS} or {options.RESIDENT}"
    if not place.local:
        raise ValueError(f"{key} is {options.FLOW}, which needs Spark in one process (local[N]): {others}")
    if has_loops(job):
        head = next(info for info in job.operators if isinstance(info.spec, Iterate))
        raise ValueError(f"{key} is {options.FLOW}, and {head.name!r}, made at {head.origin}, is a loop: {others}")


def _cores_of_executors(place: Workplace) -> int:
    """0: as many as their machines have."""
    context = place.session.sparkContext
    if place.local:
        return int(context.defaultParallelism)
    return int(context.getConf().get("spark.executor.cores") or 0)
