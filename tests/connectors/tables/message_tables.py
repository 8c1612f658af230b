"""Tables of message systems, and jobs without Spark that write them and read them for a while."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace
from typing import Any

from tests.connectors.tables.kafka.topic_tables import Tables
from tests.table.programs.running import changes_in

from millrace.runtime.bases.epoch_protocol import parts_of
from millrace.testing.local import LocalEngine

DEADLINE_SECONDS = 120


class Addressless:
    """In place of topics."""

    bootstrap = ""


class MessageTables(Tables):
    def __init__(self) -> None:
        super().__init__(Addressless())  # type: ignore[arg-type]

    def table(self, name: str, columns: str, connector: str, partitioned: str = "", **options: str) -> None:
        more = {"connector": connector, "format": "json", **options}
        given = ", ".join(f"'{key}' = '{value}'" for key, value in more.items())
        self.environment.execute_sql(f"CREATE TABLE {name} ({columns}) {partitioned} WITH ({given})")

    def some(
        self, sql: str, count: int, before: Any = None, parallelism: int = 2, epoch_records: int | None = None
    ) -> list[tuple[Any, ...]]:
        """The rows of a query, once there are so many. :param before: called when the job has begun to read."""
        plan = self.environment.sql_query(sql)._plan
        program = self.program([plan], parallelism)
        job = program.job_graph()
        if epoch_records is not None:
            job = replace(job, epoch_records=epoch_records)
        engine = LocalEngine(job, lambda: int(time.time() * 1000))
        until = time.monotonic() + DEADLINE_SECONDS
        collected: list[Any] = []
        epochs = engine.epochs()
        try:
            for number, result in enumerate(epochs):
                if number == 2 and before is not None:
                    before()
                collected += [value for part in parts_of(result.collected) for value in pickle.loads(part)]
                found = [tuple(row) for _, row in changes_in(collected, plan.schema)]
                if len(found) >= count:
                    return sorted(found)
                assert time.monotonic() < until, f"{len(found)} of {count} rows came: {found}"
                time.sleep(0.01)
        finally:
            epochs.close()
        raise AssertionError("the job has ended")
