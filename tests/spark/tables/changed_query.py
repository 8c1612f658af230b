"""The program of ``test_changed_queries``: a query that begins with a savepoint, on executors of their own.

    python -m tests.spark.tables.changed_query MASTER SAVEPOINT STATE QUERY
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.table.programs.test_mapped_rows import stream_of

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment

ROOT = Path(__file__).parents[3]


def main(master: str, savepoint: str, state: str, query: str) -> None:
    configuration = Configuration()
    configuration.set_string("millrace.master", master)
    configuration.set_string("spark.executor.memory", "600m")
    configuration.set_string("spark.executorEnv.PYTHONPATH", str(ROOT))
    configuration.set_string("millrace.state.directory", state)
    configuration.set_string("execution.state-recovery.path", savepoint)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(3).set_max_parallelism(128)
    with stream_of(env, query).execute_and_collect() as rows:
        for row in rows:
            print("ROW", json.dumps([row.get_row_kind().value, *row]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
