"""The two clocks of timers, under PyFlink's path."""

from millrace.common.functions.process_functions import TimeDomain

__all__ = ["TimeDomain"]
