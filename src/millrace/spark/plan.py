"""One job as one linear Spark plan: stages joined by packed exchanges."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from millrace.runtime.epoch import TaskAck
from millrace.runtime.exchange import ACK
from millrace.runtime.job import JobGraph
from millrace.spark.stage import SPARK_SCHEMA, ShippedJob, StageFunction


def bounded_input(session: SparkSession, job: JobGraph) -> DataFrame:
    """One row for every task of stage 0, for a single epoch."""
    width = job.partitions[0]
    return session.range(0, width, 1, width)


def unbounded_input(session: SparkSession, job: JobGraph) -> DataFrame:
    """One row for every task of stage 0, in every micro-batch: the clock of an unbounded job."""
    width = job.partitions[0]
    ticks = session.readStream.format("rate-micro-batch").option("rowsPerBatch", width).option("numPartitions", width)
    return ticks.load().select("value")


def job_plan(source: DataFrame, job: JobGraph, shipped: ShippedJob) -> DataFrame:
    """All stages over ``source``; its rows are the acknowledgements."""
    frame = source
    for stage, width in enumerate(job.partitions):
        if stage:
            frame = frame.repartitionById(width, "target")
        frame = frame.mapInArrow(StageFunction(shipped, stage), SPARK_SCHEMA)
    return frame.select("edge", "payload")


def run_plan(frame: DataFrame) -> list[TaskAck]:
    """Run one epoch: one Spark action."""
    return [TaskAck.decode(bytes(row.payload)) for row in frame.collect() if row.edge == ACK]
