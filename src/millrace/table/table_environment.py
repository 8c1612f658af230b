# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""``TableEnvironment`` and ``StreamTableEnvironment``, where table programs begin, under PyFlink's path."""

from __future__ import annotations

from millrace.table.environment import TableEnvironment
from millrace.table.stream_environment import StreamTableEnvironment

__all__ = [
    "StreamTableEnvironment",
    "TableEnvironment",
]
