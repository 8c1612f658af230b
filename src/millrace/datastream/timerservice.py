# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The timer service, under PyFlink's path."""

from __future__ import annotations

from millrace.common.functions.process_functions import TimerService

__all__ = [
    "TimerService",
]
