"""The timer service, under PyFlink's path."""

from millrace.common.functions.process_functions import TimerService

__all__ = ["TimerService"]
