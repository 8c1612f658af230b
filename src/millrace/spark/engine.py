"""Spark as the engine of programs: the entry point ``spark`` of ``millrace.engines``.

Its parts are imported when they are asked for: a program of streams needs none of the tables, and neither needs Spark
before it submits something.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millrace.datastream.job_settings import JobSettings
    from millrace.runtime.operators.job_graph import JobGraph


class SparkEngine:
    """Runs streaming jobs in tasks of Spark, and plans in batch mode as queries of Spark SQL."""

    def started_early(self, configuration: Mapping[str, str]) -> AbstractContextManager[None]:
        from millrace.spark.sessions.own_jvm import started_early

        return started_early(configuration)

    def submit(self, job: JobGraph, settings: JobSettings) -> Any:
        from millrace.spark.jobs.submit import submit

        return submit(job, settings)

    def portable(self, job: JobGraph, settings: JobSettings) -> Any:
        from millrace.spark.jobs.submit import PortableJob

        return PortableJob.of(job, settings)

    def batch_tables(self) -> Any:
        from millrace.spark.tables.engine import BatchEngine

        return BatchEngine()
