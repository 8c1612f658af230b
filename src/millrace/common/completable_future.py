"""Futures, under PyFlink's path."""

from millrace.common.jobs.completable_future import *  # noqa: F403
from millrace.common.jobs.completable_future import __all__ as __all__
