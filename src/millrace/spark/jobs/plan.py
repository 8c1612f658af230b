"""One job as one linear Spark plan: stages joined by packed exchanges."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.runtime.exchange.exchange import ACK
from millrace.runtime.jobs.job import JobGraph
from millrace.runtime.protocol.epoch import TaskAck
from millrace.spark.owners.rows import SCHEMA, SPARK_SCHEMA
from millrace.spark.sessions.sparing import on_batches
from millrace.spark.shipping.shipped import ShippedJob, digest
from millrace.spark.workers.stage import Owners, StageFunction

SLOT = "slot"


def plain_input(session: SparkSession, job: JobGraph) -> DataFrame:
    """One row for every task of stage 0."""
    width = job.partitions[0]
    return session.range(0, width, 1, width)


def anchor(session: SparkSession, width: int) -> DataFrame:
    """A frame to be cached, with a row in each partition: Spark runs what is joined with it where its blocks lie, so a
    task comes back to the executor that it was on. If the executor is lost, the block is made again on another one."""
    return session.range(0, width, 1, width).select(f.col("id").cast("int").alias(SLOT)).repartitionById(width, SLOT)


def job_plan(
    source: DataFrame,
    job: JobGraph,
    shipped: ShippedJob,
    owners: Owners | None,
    anchors: Mapping[int, DataFrame] | None = None,
) -> DataFrame:
    """All stages over ``source``; its rows are the acknowledgements.

    :param anchors: number of partitions -> what holds its tasks on their executors.
    """
    frame, payload = source, shipped.encode()
    name = digest(payload)
    for stage, width in enumerate(job.partitions):
        if stage:
            frame = frame.repartitionById(width, "target")
            if anchors is not None:
                frame = _held(frame, anchors[width])
        with on_batches():
            frame = frame.mapInArrow(StageFunction(job.job_id, stage, payload, name, owners), SPARK_SCHEMA)
    return frame.select("edge", "payload")


def _held(frame: DataFrame, anchor: DataFrame) -> DataFrame:
    # Both sides are partitioned by these columns, so nothing is shuffled again. A packet on its way to a later stage
    # may match no row: it stays, too. The hint keeps Spark from sorting packets.
    joined = frame.join(anchor.hint("shuffle_hash"), f.col("target") == f.col(SLOT), "left")
    return joined.select(*SCHEMA.names)


def run_plan(frame: DataFrame) -> list[TaskAck]:
    """Run one epoch: one Spark action."""
    return [TaskAck.decode(bytes(row.payload)) for row in frame.collect() if row.edge == ACK]
