"""Keyed process function with ValueState against the same aggregation hand-written in PySpark Structured Streaming.

Both sides read the same Parquet files in the same number of micro-batches on the same Spark session, in turn; both
results are compared with numpy's. Prints events per second, medians and the ratio.

    python -m benchmarks.keyed_process --keys 10000
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from typing import Any

from benchmarks.events import expected_counts, write_events
from benchmarks.memory import PeakMemory
from benchmarks.programs import CountAndSum, RunningCountAndSum, keyed_process
from millrace.common.configuration import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.spark.session import local_session


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
            query.writeStream.outputMode("update").format("noop").option("checkpointLocation", checkpoint)
        ).trigger(availableNow=True).start()
        running.awaitTermination()
        seconds = time.perf_counter() - began
        state = session.read.format("statestore").load(checkpoint).select("key.key", "value.*").collect()
        found = {row[0]: (row[1], row[2]) for row in state}
    return seconds, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--running", action="store_true", help="emit a result for every event, not one per key")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, PeakMemory() as memory:
        expected = expected_counts(write_events(directory, given.events, given.keys, given.files))
        session = local_session(2)
        ours, theirs = [], []
        for turn in range(given.repeat + 1):
            seconds, found = millrace_run(session, directory, given.batches, given.events, given.running)
            assert found is None or found == expected, "Millrace's result is wrong"
            peak = memory.peak_mb
            native_seconds, native_found = native_run(session, directory, given.batches, given.files)
            assert native_found == expected, "PySpark's result is wrong"
            note = " (warm-up)" if turn == 0 else ""
            print(
                f"millrace {given.events / seconds:>9,.0f} events/s | pyspark {given.events / native_seconds:>9,.0f} "
                f"events/s | ratio {native_seconds / seconds:.2f}{note}",
                flush=True,
            )
            if turn:
                ours.append(given.events / seconds)
                theirs.append(given.events / native_seconds)
        ratio = statistics.median(a / b for a, b in zip(ours, theirs))
        print(
            f"median: millrace {statistics.median(ours):,.0f} events/s, pyspark groupBy().agg() "
            f"{statistics.median(theirs):,.0f} events/s, ratio {ratio:.2f}; peak memory of driver, JVM and workers "
            f"{peak:,.0f} MB ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
        )


if __name__ == "__main__":
    main()
