"""The outcome of a job, under PyFlink's path."""

from millrace.common.jobs import DetachedJobExecutionResult, JobExecutionResult

__all__ = ["DetachedJobExecutionResult", "JobExecutionResult"]
