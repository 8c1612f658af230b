"""A streaming job with all that another process needs to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from millrace.runtime.jobs.job import JobGraph
from millrace.spark.jobs.submit import JobSettings, SparkJobClient, submit


@dataclass(frozen=True)
class PortableJob:
    """A ``Portable``."""

    job: JobGraph
    settings: JobSettings

    @staticmethod
    def of(job: JobGraph, settings: JobSettings) -> PortableJob:
        """A session of Spark stays where it is."""
        return PortableJob(job, replace(settings, spark=None))

    @property
    def job_id(self) -> str:
        return self.job.job_id

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def configuration(self) -> Mapping[str, str]:
        return self.settings.configuration

    def start(self) -> SparkJobClient:
        return submit(self.job, self.settings)
