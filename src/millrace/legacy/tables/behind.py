"""What programs reach behind a table environment: the planner of Java, for the parallelism that it gave no method for.

``t_env._j_tenv.getPlanner().getExecEnv().setParallelism(n)`` stands in programs of Flink's documents.
"""

from __future__ import annotations

from dataclasses import dataclass

from millrace.datastream import StreamExecutionEnvironment
from millrace.legacy.telling import tell
from millrace.table.environment import TableEnvironment


@dataclass(frozen=True)
class _Planner:
    environment: StreamExecutionEnvironment

    def getExecEnv(self) -> StreamExecutionEnvironment:
        """The environment below, whose methods have Java's names, too."""
        return self.environment


def getPlanner(t_env: TableEnvironment) -> _Planner:
    tell("t_env._j_tenv.getPlanner()", 't_env.get_config().set("parallelism.default", ...)')
    return _Planner(t_env._session.streams)
