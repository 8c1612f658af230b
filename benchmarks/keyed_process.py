"""Keyed process function with ValueState against the same aggregation hand-written in PySpark Structured Streaming.

Both sides read the same Parquet files in the same number of micro-batches, in turn, each in a process and JVM of its
own:
Millrace on the session that it makes, PySpark on one with its own defaults. Both results are compared with numpy's.
Prints events per second, medians and the ratio.

    python -m benchmarks.keyed_process --keys 10000
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.events import expected_counts, write_events
from benchmarks.memory import PeakMemory
from benchmarks.programs import CountAndSum, RunningCountAndSum, keyed_process
from millrace.common.configuration import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.sessions.session import local_session


def millrace_run(session: Any, directory: str, batches: int, events: int, running: bool) -> tuple[float, Any]:
    """Seconds, and the result."""
    configuration = Configuration()
    configuration.set_integer("millrace.epoch.max-records", events // batches // 2)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, session)
    env.set_parallelism(2)
    stream = keyed_process(env, directory, RunningCountAndSum() if running else CountAndSum())
    began = time.perf_counter()
    if running:
        stream.filter(lambda result: False).print()
        env.execute()
        return time.perf_counter() - began, None
    with stream.execute_and_collect() as results:
        found = {key: (count, total) for key, count, total in results}
    return time.perf_counter() - began, found


def native_run(session: Any, directory: str, batches: int, files: int) -> tuple[float, Any]:
    """The hand-written query: seconds, and the result."""
    from pyspark.sql import functions as f

    session.conf.set("spark.sql.shuffle.partitions", "2")
    schema = session.read.parquet(directory).schema
    found: dict[int, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory() as checkpoint:
        events = session.readStream.schema(schema).option("maxFilesPerTrigger", files // batches).parquet(directory)
        query = events.groupBy("key").agg(f.count("*").alias("count"), f.sum("value").alias("sum"))
        began = time.perf_counter()
        running = (
            (query.writeStream.outputMode("update").format("noop").option("checkpointLocation", checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        seconds = time.perf_counter() - began
        state = session.read.format("statestore").load(checkpoint).select("key.key", "value.*").collect()
        found = {row[0]: (row[1], row[2]) for row in state}
    return seconds, found


def native_session() -> Any:
    """A plain session of PySpark's own defaults, but quiet."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder.master("local[2]").config("spark.ui.showConsoleProgress", "false")
    return builder.config("spark.log.level", "ERROR").getOrCreate()


def run_side(side: str, given: argparse.Namespace, directory: str) -> None:
    """One process of one side: a warm-up and then the runs that count, each checked; prints events per second."""
    expected = expected_counts(sorted(os.path.join(directory, name) for name in os.listdir(directory)))
    with PeakMemory() as memory:
        session = local_session(2) if side == "millrace" else native_session()
        for turn in range(given.runs + 1):
            if side == "millrace":
                seconds, found = millrace_run(session, directory, given.batches, given.events, given.running)
            else:
                seconds, found = native_run(session, directory, given.batches, given.files)
            assert found is None or found == expected, f"the result of {side} is wrong"
            if turn:
                print(json.dumps([given.events / seconds, memory.peak_mb]), flush=True)


def other_process(module: str, side: str, directory: str) -> list[list[Any]]:
    """What ``run_side`` of a benchmark prints for each run that counts, in a JVM of the side's own."""
    command = [sys.executable, "-m", module, *sys.argv[1:], "--side", side, "--input", directory]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--turns", type=int, default=2, help="processes of each side, in turn")
    parser.add_argument("--runs", type=int, default=3, help="runs in each process, after a warm-up")
    parser.add_argument("--running", action="store_true", help="emit a result for every event, not one per key")
    parser.add_argument("--side", choices=("millrace", "pyspark"), help=argparse.SUPPRESS)
    parser.add_argument("--input", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        run_side(given.side, given, given.input)
        return
    with tempfile.TemporaryDirectory() as directory:
        write_events(directory, given.events, given.keys, given.files)
        ours: list[list[float]] = []
        theirs: list[list[float]] = []
        for turn in range(given.turns):
            ours += other_process("benchmarks.keyed_process", "millrace", directory)
            theirs += other_process("benchmarks.keyed_process", "pyspark", directory)
            for run in range(-given.runs, 0):
                print(
                    f"turn {turn + 1}: millrace {ours[run][0]:>9,.0f} events/s | pyspark {theirs[run][0]:>9,.0f} "
                    f"events/s | ratio {ours[run][0] / theirs[run][0]:.2f}",
                    flush=True,
                )
    mine, native = (statistics.median(speed for speed, _ in runs) for runs in (ours, theirs))
    print(
        f"median: millrace {mine:,.0f} events/s, pyspark groupBy().agg() {native:,.0f} events/s, ratio "
        f"{mine / native:.2f}; peak memory of driver, JVM and workers: millrace {max(mb for _, mb in ours):,.0f} MB "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )


if __name__ == "__main__":
    main()
