"""The states of a job, under PyFlink's path."""

from millrace.common.jobs.job_status import *  # noqa: F403
from millrace.common.jobs.job_status import __all__ as __all__
