"""Memory that streaming SQL takes for many keys.

    python -m benchmarks.key_memory [--keys 2000000] [--operators group-by,distinct,...]
    python -m benchmarks.key_memory --whole [--keys 10000000] [--operators group-by]

The first prints bytes a key of each stateful operator: a job of one task runs in a process of its own, without Spark,
with its state in files after each epoch, and what the process has for itself (RssAnon) is compared after a quarter of
the keys and after all of them. A key is a BIGINT and has one row, with a BIGINT and a time beside it.

The second runs one operator as a job on Spark with checkpoints every ten seconds, and prints the most memory of the
driver, the JVM and the workers together (PSS), which is wanted to be at most 2,500 MB for GROUP BY.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

import pyarrow as pa

from benchmarks.memory import PeakMemory
from benchmarks.state_backends import anonymous_mb, run_epochs
from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.task_storage import FolderStorage
from millrace.connectors.tables.datagen_table import BATCH
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.table import StreamTableEnvironment
from millrace.table.environment import TableEnvironment
from millrace.table.sessions.session import EnvironmentSettings
from millrace.testing.local import LocalEngine

EPOCHS = 16
MOST_MB = 2_500.0
RANKED = "SELECT k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS place FROM t) WHERE {}"
WINDOWED = "SELECT k, COUNT(*) AS n, SUM(v) AS s, window_end FROM TABLE({}) GROUP BY k, window_start, window_end"
OPERATORS = {
    "group-by": "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY k",
    "group-by-distinct": "SELECT k, COUNT(DISTINCT v) AS n FROM t GROUP BY k",
    "distinct": "SELECT DISTINCT k FROM t",
    "first-row": RANKED.format("PROCTIME()", "place = 1"),
    "last-row": RANKED.format("ts DESC", "place = 1"),
    "top-n": RANKED.format("v DESC", "place <= 3"),
    "join": "SELECT a.k, a.v, b.v AS w FROM t AS a JOIN t AS b ON a.k = b.k",
    "interval-join": "SELECT a.k, a.v, b.v AS w FROM t AS a JOIN t AS b ON a.k = b.k "
    "AND a.ts BETWEEN b.ts - INTERVAL '1' DAY AND b.ts",
    "tumble": WINDOWED.format("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY)"),
    "hop": WINDOWED.format("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '12' HOUR, INTERVAL '1' DAY)"),
    "session": WINDOWED.format("SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' DAY)"),
    "over": "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT "
    "ROW) AS s FROM t",
}


def declare(tables: TableEnvironment, keys: int) -> None:
    """``t`` has a row for each key; its event time goes on by a millisecond with each."""
    tables.execute_sql(
        "CREATE TABLE t (k BIGINT, v AS k * 7, ts AS TO_TIMESTAMP_LTZ(k, 3), WATERMARK FOR ts AS ts) WITH "
        "('connector' = 'datagen', 'rows-per-second' = '100000000', 'fields.k.kind' = 'sequence', "
        f"'fields.k.start' = '1', 'fields.k.end' = '{keys}')"
    )


def insertion(tables: TableEnvironment, query: str) -> str:
    """The query into a sink that forgets."""
    names = tables.sql_query(query).get_schema()
    columns = ", ".join(f"`{name}` {kind}" for name, kind in zip(names.get_field_names(), names.get_field_data_types()))
    tables.execute_sql(f"CREATE TABLE forgotten ({columns}) WITH ('connector' = 'blackhole')")
    return f"INSERT INTO forgotten {query}"


def _now() -> int:
    return int(time.time() * 1000)


def bytes_a_key(operator: str, keys: int, directory: str) -> float:
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    tables = StreamTableEnvironment.create(env)
    declare(tables, keys)
    statements = tables.create_statement_set()
    statements.add_insert_sql(insertion(tables, OPERATORS[operator]))
    statements.attach_as_datastream()
    job = replace(env.job_graph(), epoch_records=max(1, keys // EPOCHS // BATCH))
    engine = LocalEngine(job, _now)
    engine.storage = storage = FolderStorage(open_folder(directory), job.key_groups)  # type: ignore[assignment]
    engine.coordinator = Coordinator(job, _now, storage)
    sizes = []
    for count in (EPOCHS // 4, EPOCHS * 3 // 4 - 1):
        run_epochs(engine, count)
        gc.collect()
        pa.default_memory_pool().release_unused()
        sizes.append(anonymous_mb() * 1024 * 1024)
    return (sizes[1] - sizes[0]) / (job.epoch_records * BATCH * (EPOCHS * 3 // 4 - 1))


def whole(operator: str, keys: int) -> bool:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    config = tables.get_config()
    config.set("parallelism.default", "2")
    directory = tempfile.mkdtemp(prefix="millrace-benchmark-", dir="/var/tmp")
    try:
        config.set("execution.checkpointing.interval", "10 s")
        config.set("execution.checkpointing.dir", f"file://{directory}/checkpoints")
        config.set("millrace.state.directory", f"{directory}/state")
        declare(tables, keys)
        began = time.monotonic()
        with PeakMemory(2.0) as memory:
            tables.execute_sql(insertion(tables, OPERATORS[operator])).wait()
        seconds = time.monotonic() - began
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(
        f"{operator}, {keys:,} keys: {memory.peak_mb:,.0f} MB at most (wanted {MOST_MB:,.0f}), {seconds:.0f} s "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )
    return memory.peak_mb <= MOST_MB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int)
    parser.add_argument("--operators", default="", help="names with commas between them")
    parser.add_argument("--whole", action="store_true", help="a job on Spark, and the memory of all its processes")
    parser.add_argument("--in", dest="directory", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.whole:
        within = [whole(each, given.keys or 10_000_000) for each in (given.operators or "group-by").split(",")]
        return 0 if all(within) else 1
    if given.directory:
        print(f"{bytes_a_key(given.operators, given.keys, given.directory):.0f}")
        return 0
    keys = given.keys or 2_000_000
    for each in (given.operators or ",".join(OPERATORS)).split(","):
        with tempfile.TemporaryDirectory(prefix="millrace-benchmark-", dir="/var/tmp") as directory:
            command = [sys.executable, "-m", "benchmarks.key_memory", "--operators", each, "--keys", str(keys)]
            found = subprocess.run([*command, "--in", directory], check=True, stdout=subprocess.PIPE, text=True)
        print(f"{each}: {found.stdout.strip()} bytes a key", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
