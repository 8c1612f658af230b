"""The program of ``test_changed_queries``: a query that begins with a savepoint, on executors of their own.

    python -m tests.spark.tables.changed_query MASTER SAVEPOINT STATE QUERY [KILLED]

KILLED is a folder: then tasks are killed while they are restored, see ``killed``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.spark.tables.killed import FOLDER, MortalSource
from tests.table.programs import test_mapped_rows

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment

ROOT = Path(__file__).parents[3]
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "4",
    "restart-strategy.fixed-delay.delay": "100 ms",
    "spark.deploy.maxExecutorRetries": "100",
}


def main(master: str, savepoint: str, state: str, query: str, folder: str | None = None) -> None:
    configuration = Configuration()
    configuration.set_string("millrace.master", master)
    configuration.set_string("spark.executor.memory", "600m")
    configuration.set_string("spark.executorEnv.PYTHONPATH", str(ROOT))
    configuration.set_string("millrace.state.directory", state)
    configuration.set_string("execution.state-recovery.path", savepoint)
    if folder is not None:
        configuration.set_string(f"spark.executorEnv.{FOLDER}", folder)
        test_mapped_rows.ListSource = MortalSource  # type: ignore[misc,attr-defined]
        for key, value in RESTARTS.items():
            configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(3).set_max_parallelism(128)
    with test_mapped_rows.stream_of(env, query).execute_and_collect() as rows:
        for row in rows:
            print("ROW", json.dumps([row.get_row_kind().value, *row]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
