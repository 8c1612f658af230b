# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""The two clocks of timers, under PyFlink's path."""

from __future__ import annotations

from millrace.common.functions.process_functions import TimeDomain

__all__ = [
    "TimeDomain",
]
