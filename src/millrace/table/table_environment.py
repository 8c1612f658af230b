"""``TableEnvironment``: where table programs begin."""

from __future__ import annotations

from millrace.table.sessions.environment import TableEnvironment
from millrace.table.sessions.stream_environment import StreamTableEnvironment

__all__ = ["StreamTableEnvironment", "TableEnvironment"]
