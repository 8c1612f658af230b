"""What a function can know about its job (Flink's ``org.apache.flink.api.common.JobInfo``)."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.common.jobs.job_id import JobID

__all__ = ["JobInfo"]


@dataclass(frozen=True)
class JobInfo:
    """Id and name of a job."""

    job_id: JobID
    job_name: str

    def get_job_id(self) -> JobID:
        return self.job_id

    def get_job_name(self) -> str:
        return self.job_name
