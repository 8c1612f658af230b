"""``TableEnvironment``: where table programs begin."""

from __future__ import annotations

from millrace.table.environment import TableEnvironment
from millrace.table.stream_environment import StreamTableEnvironment

__all__ = ["StreamTableEnvironment", "TableEnvironment"]
