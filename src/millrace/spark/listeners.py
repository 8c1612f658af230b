"""Listeners to running jobs, where programs have always imported them from."""

from millrace.spark.jobs.listeners import (
    EpochDone,
    JobListener,
    JobStarted,
    PlainListener,
    Restarting,
    Restored,
    get_listener,
    set_listener,
)

__all__ = ["EpochDone", "JobListener", "JobStarted", "PlainListener", "Restarting", "Restored"]
__all__ += ["get_listener", "set_listener"]
