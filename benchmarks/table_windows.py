"""A tumbling window in SQL: Millrace in streaming mode beside Spark's structured streaming, by hand, on the same files.

    python -m benchmarks.table_windows [--events 2000000] [--keys 10000] [--turns 3] [--side millrace|spark]

Both read Parquet files, count and sum by key in windows of 10 s with a watermark 1 s behind, and give their results to
a sink that forgets them; Spark with ``availableNow``. Each side has a process of its own. What is measured is the
second and later runs in it, from submission to end. Wanted: at least half of Spark's speed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

BAR = 0.5
FILES = 2
"""One for each subtask: one that reads a file after another has event time go back, here as in Flink."""
WINDOW_SECONDS = 10
EVENTS_A_SECOND = 10_000
"""in event time"""


def write_events(directory: str, events: int, keys: int) -> None:
    """Files whose events are in turn, up to 1 s out of order."""
    random = np.random.default_rng(5)
    numbers = np.arange(events)
    millis = numbers * 1000 // EVENTS_A_SECOND - random.integers(0, 1000, events)
    table = pa.table(
        {
            "k": random.integers(0, keys, events),
            "v": random.integers(0, 1000, events),
            "ts": pa.array(1_700_000_000_000_000 + millis * 1000, pa.timestamp("us")),
        }
    )
    for file in range(FILES):
        pq.write_table(table.take(np.arange(file, events, FILES)), os.path.join(directory, f"part-{file}.parquet"))


def millrace_turn(directory: str) -> Callable[[int], None]:
    from millrace.table import EnvironmentSettings, TableEnvironment

    session = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    session.get_config().set_local_timezone("UTC")
    session.get_config().set("parallelism.default", "2")
    session.execute_sql(
        "CREATE TABLE events (k BIGINT, v BIGINT, ts TIMESTAMP(6), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) "
        f"WITH ('connector' = 'filesystem', 'path' = '{directory}', 'format' = 'parquet')"
    )
    session.execute_sql(
        "CREATE TABLE forgotten (k BIGINT, s TIMESTAMP(3), n BIGINT, total BIGINT) WITH ('connector' = 'blackhole')"
    )

    def run(turn: int) -> None:
        session.execute_sql(
            "INSERT INTO forgotten SELECT k, window_start, COUNT(*), SUM(v) "
            f"FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '{WINDOW_SECONDS}' SECOND)) "
            "GROUP BY k, window_start, window_end"
        ).wait()

    return run


def spark_turn(directory: str) -> Callable[[int], None]:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    spark = SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def run(turn: int) -> None:
        events = spark.readStream.schema("k BIGINT, v BIGINT, ts TIMESTAMP").parquet(directory)
        windows = events.withWatermark("ts", "1 second").groupBy("k", f.window("ts", f"{WINDOW_SECONDS} seconds"))
        counted = windows.agg(f.count("*").alias("n"), f.sum("v").alias("total"))
        with tempfile.TemporaryDirectory() as checkpoint:
            query = counted.writeStream.format("noop").outputMode("append").trigger(availableNow=True)
            query.option("checkpointLocation", checkpoint).start().awaitTermination()

    return run


SIDES = {"millrace": millrace_turn, "spark": spark_turn}


def seconds(side: str, directory: str, turns: int) -> float:
    """The median of all runs but the first, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.table_windows", "--side", side, "--directory", directory]
    done = subprocess.run([*command, "--turns", str(turns)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{side} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return float(done.stdout.split()[-1])


def run_side(side: str, directory: str, turns: int) -> float:
    run = SIDES[side](directory)
    took = []
    for turn in range(turns + 1):
        begin = time.perf_counter()
        run(turn)
        took.append(time.perf_counter() - begin)
    return statistics.median(took[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--side", choices=SIDES, help="only this side, on the files of --directory")
    parser.add_argument("--directory")
    given = parser.parse_args()
    if given.side:
        print(run_side(given.side, given.directory, given.turns))
        return
    with tempfile.TemporaryDirectory() as directory:
        write_events(directory, given.events, given.keys)
        ours, theirs = (given.events / seconds(side, directory, given.turns) for side in SIDES)
    print(f"millrace {ours:>10,.0f} events/s\nspark    {theirs:>10,.0f} events/s\nratio    {ours / theirs:10.2f}")
    print(f"at least {BAR} is wanted: {'reached' if ours >= BAR * theirs else 'not reached'}")
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
