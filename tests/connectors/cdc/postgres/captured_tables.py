"""Table programs over captured tables, run without Spark until they have a certain result."""

from __future__ import annotations

import pickle
import time
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.connectors.cdc.postgres.capturing import DEADLINE_SECONDS, Captured
from tests.connectors.tables.message_tables import MessageTables
from tests.table.programs.running import changes_in

from millrace.runtime.bases.epoch_protocol import parts_of
from millrace.testing.local import LocalEngine

Change = tuple[int, tuple[Any, ...]]


class CapturedTables(MessageTables):
    def __init__(self, captured: Captured) -> None:
        super().__init__()
        self.captured = captured

    def over(self, columns: str, table: str, **options: str) -> str:
        """A table of Millrace that captures one; its name."""
        server = self.captured.server
        given = {
            "connector": "postgres-cdc", "hostname": "127.0.0.1", "port": str(server.port), "username": server.user,
            "password": server.password, "database-name": server.database, "schema-name": self.captured.schema,
            "table-name": table, "slot.name": self.captured.slot, "heartbeat.interval.ms": "200 ms",
        }  # fmt: skip
        given |= {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
        name = f"m_{uuid.uuid4().hex[:10]}"
        texts = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
        self.environment.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ({texts})")
        return name

    def until(
        self, sql: str, done: Callable[[list[Change]], bool], steps: tuple[Callable[[], Any], ...] = ()
    ) -> list[Change]:
        """The changelog of a query, once it is enough. :param steps: called one by one, after some epochs each."""
        plan = self.environment.sql_query(sql)._plan
        engine = LocalEngine(self.program([plan], 2).job_graph(), lambda: int(time.time() * 1000))
        end = time.monotonic() + DEADLINE_SECONDS
        left, found = list(steps), []
        epochs = engine.epochs()
        try:
            for number, result in enumerate(epochs):
                collected = [value for part in parts_of(result.collected) for value in pickle.loads(part)]
                found += [(int(kind), tuple(row)) for kind, row in changes_in(collected, plan.schema)]
                if left and number % 5 == 4:
                    left.pop(0)()
                if not left and done(found):
                    return found
                assert time.monotonic() < end, f"not within {DEADLINE_SECONDS:g} s: {found[-5:]}"
                time.sleep(0.01)
        finally:
            epochs.close()
        return found


def table_of(changes: list[Change]) -> Counter[tuple[Any, ...]]:
    """What a changelog adds up to."""
    found: Counter[tuple[Any, ...]] = Counter()
    for kind, row in changes:
        found[row] += 1 if kind in (0, 2) else -1
    return +found
