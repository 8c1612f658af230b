"""``StreamQueryConfig`` of Flink up to 1.9: how long a query keeps state that is not used."""

from __future__ import annotations

import datetime
from typing import Any

from millrace.common.time import TimeSpan
from millrace.legacy.telling import tell
from millrace.table.environment import TableEnvironment

__all__ = ["BatchQueryConfig", "QueryConfig", "StreamQueryConfig"]


class QueryConfig:
    """Settings of one query; today they are those of the table environment."""

    def settle(self, t_env: TableEnvironment) -> None:
        """Let a table environment have these settings."""


class BatchQueryConfig(QueryConfig):
    """A query in batch mode has none."""


class StreamQueryConfig(QueryConfig):
    """The least and the longest time that unused state stays."""

    def __init__(self) -> None:
        tell("StreamQueryConfig", "t_env.get_config().set_idle_state_retention(datetime.timedelta(...))")
        self._times: tuple[TimeSpan, TimeSpan] | None = None

    def with_idle_state_retention_time(self, min_time: TimeSpan, max_time: TimeSpan) -> StreamQueryConfig:
        """State that is not used for the least time may go."""
        self._times = (min_time, max_time)
        return self

    def get_min_idle_state_retention_time(self) -> int:
        """ms"""
        return self._millis(0)

    def get_max_idle_state_retention_time(self) -> int:
        """ms"""
        return self._millis(1)

    def _millis(self, place: int) -> int:
        from millrace.common.time import to_millis

        return 0 if self._times is None else to_millis(self._times[place])

    def settle(self, t_env: TableEnvironment) -> None:
        if self._times is not None:
            config: Any = t_env.get_config()
            config.set_idle_state_retention_time(*(datetime.timedelta(milliseconds=self._millis(at)) for at in (0, 1)))


def query_config(t_env: TableEnvironment) -> QueryConfig:
    """One for a query of this environment."""
    return StreamQueryConfig() if t_env._session.streaming else BatchQueryConfig()
