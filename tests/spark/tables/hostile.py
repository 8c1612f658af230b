"""The program of ``test_hostile_files``: queries of batch mode over files that were made to do harm, on executors of
their own, each with what becomes of it.

    python -m tests.spark.tables.hostile MASTER FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from millrace.common import Configuration
from millrace.common.files.file_access import VARIABLE
from millrace.datastream import StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment

ROOT = Path(__file__).parents[3]
LIMIT = "8 mb"
QUERIES = ("SELECT SUM(a) FROM {}", "SELECT COUNT(*) FROM {}")


def settings(master: str) -> Configuration:
    configuration = Configuration()
    configuration.set_string("millrace.master", master)
    configuration.set_string("spark.executor.memory", "600m")
    configuration.set_string("spark.executorEnv.PYTHONPATH", str(ROOT))
    configuration.set_string(f"spark.executorEnv.{VARIABLE}", LIMIT)
    return configuration


def outcome(tables: TableEnvironment, statement: str) -> dict[str, object]:
    """The rows of a statement, or its error; and how long that took (s)."""
    began = time.monotonic()
    try:
        with tables.execute_sql(statement).collect() as rows:
            found: dict[str, object] = {"rows": [list(row) for row in rows]}
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    return {**found, "seconds": time.monotonic() - began}


def main(master: str, folder: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(settings(master)).set_parallelism(3)
    tables = StreamTableEnvironment.create(env, EnvironmentSettings.in_batch_mode())
    for place in sorted(Path(folder).iterdir()):
        name, format = place.name, place.name.split("_")[0]
        with_ = f"'connector' = 'filesystem', 'path' = '{place}', 'format' = '{format}'"
        tables.execute_sql(f"CREATE TABLE {name} (a BIGINT) WITH ({with_})")
        for number, query in enumerate(QUERIES):
            print("OUTCOME", json.dumps([name, number, outcome(tables, query.format(name))]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
