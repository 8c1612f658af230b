"""Tables of topics, and jobs without Spark that read and write them."""

from __future__ import annotations

from typing import Any

from tests.connectors.kafka.topics import Topics
from tests.table.programs.running import changes_in

from millrace.datastream import StreamExecutionEnvironment
from millrace.relational.rules.optimizer import optimise_streaming
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.planner.engine import add_to_program, options_of, surroundings_of
from millrace.table.statement_runners.statements import insert_plans
from millrace.testing.local import run_locally

BOUNDED = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'"


class TopicTables:
    """Tables of topics, and programs that read them: for these no broker is needed."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self.environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())

    def create(self, name: str, columns: str, topic: str, options: str, connector: str = "kafka") -> None:
        self.environment.execute_sql(
            f"CREATE TABLE {name} ({columns}) WITH ('connector' = '{connector}', 'topic' = '{topic}', "
            f"'properties.bootstrap.servers' = '{self._bootstrap}', {options})"
        )

    def program(self, plans: Any, parallelism: int) -> StreamExecutionEnvironment:
        session = self.environment._session
        streams = StreamExecutionEnvironment().set_parallelism(parallelism)
        optimised = [optimise_streaming(plan, surroundings_of(session)) for plan in plans]
        add_to_program(optimised, streams._program, options_of(session))
        return streams


class Tables(TopicTables):
    """... and jobs without Spark that run them."""

    def __init__(self, topics: Topics) -> None:
        super().__init__(topics.bootstrap)
        self.topics = topics

    def query(self, sql: str, parallelism: int = 2, **how: Any) -> list[tuple[int, tuple[Any, ...]]]:
        """(kind, row) of all changes."""
        plan = self.environment.sql_query(sql)._plan
        run = self._run([plan], parallelism, **how)
        return [(int(kind), tuple(row)) for kind, row in changes_in(run.collected, plan.schema)]

    def rows(self, sql: str, **how: Any) -> list[tuple[Any, ...]]:
        found = self.query(sql, **how)
        assert all(kind == 0 for kind, _ in found)
        return sorted(row for _, row in found)

    def insert(self, sql: str, parallelism: int = 2, **how: Any) -> None:
        self._run(insert_plans(sql, self.environment._session), parallelism, **how)

    def _run(self, plans: Any, parallelism: int, **how: Any) -> Any:
        return run_locally(self.program(plans, parallelism), **how)
