"""A stateless SQL query (filter, arithmetic, functions of text) over Parquet files in streaming mode, against the same
query hand-written in PySpark: as a batch query, and with Structured Streaming (``availableNow``).

All sides read the same files and write to nowhere or into Parquet files, in turn, each in a process and JVM of its own.
The sums over the written rows are compared. Prints rows per second and the CPU time that the driver, its JVM and its
workers take, with medians and ratios; on a machine that does other things, too, only CPU time says something.

    python -m benchmarks.stateless_query --sink parquet
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.keyed_process import native_session, other_process
from benchmarks.nexmark.cpu import cpu_seconds
from millrace.spark.sessions.session import local_session
from millrace.table import EnvironmentSettings, TableEnvironment

SIDES = ("millrace", "batch", "structured")
COLUMNS = "id BIGINT, name STRING, url STRING, price DOUBLE, quantity INT, note STRING"
QUERY = (
    "SELECT id, UPPER(name) AS name, price * quantity * 1.19E0 AS total, SUBSTRING(url, 1, 24) AS site, "
    "CHAR_LENGTH(url) AS length FROM {table} WHERE price > 20 AND url LIKE '%/item/%'"
)


def write_input(directory: str, rows: int, files: int) -> None:
    """Random rows; half of the addresses pass the filter."""
    random = np.random.default_rng(7)
    each = rows // files
    for number in range(files):
        keys = random.integers(0, 100_000, each)
        kinds = pa.array(["item", "page"]).take(pa.array(random.integers(0, 2, each)))
        text = pa.array(keys).cast(pa.string())
        table = pa.table(
            {
                "id": np.arange(number * each, (number + 1) * each),
                "name": pc.binary_join_element_wise("customer ", text, ""),
                "url": pc.binary_join_element_wise("https://shop.example/", kinds, "/", text, ""),
                "price": random.random(each) * 100,
                "quantity": random.integers(1, 20, each).astype(np.int32),
                "note": pc.binary_join_element_wise("a note that nobody reads about ", text, ""),
            }
        )
        pq.write_table(table, os.path.join(directory, f"part-{number}.parquet"), row_group_size=1 << 18)


def millrace_run(session: Any, directory: str, target: str | None) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "2")
    files = f"'connector' = 'filesystem', 'format' = 'parquet', 'path' = '{directory}'"
    environment.execute_sql(f"CREATE TABLE events ({COLUMNS}) WITH ({files})")
    sink = "'connector' = 'blackhole'"
    if target is not None:
        sink = f"'connector' = 'filesystem', 'format' = 'parquet', 'path' = '{target}'"
    columns = "id BIGINT, name STRING, total DOUBLE, site STRING, length INT"
    environment.execute_sql(f"CREATE TABLE results ({columns}) WITH ({sink})")
    environment.execute_sql(f"INSERT INTO results {QUERY.format(table='events')}").wait()


def batch_run(session: Any, directory: str, target: str | None) -> None:
    session.read.parquet(directory).createOrReplaceTempView("events")
    found = session.sql(QUERY.format(table="events"))
    if target is None:
        found.write.format("noop").mode("overwrite").save()
    else:
        found.write.parquet(target)


def structured_run(session: Any, directory: str, target: str | None) -> None:
    schema = session.read.parquet(directory).schema
    session.readStream.schema(schema).parquet(directory).createOrReplaceTempView("events")
    found = session.sql(QUERY.format(table="events"))
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = found.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        started = writer.format("noop").start() if target is None else writer.format("parquet").start(target)
        started.awaitTermination()


def summary(target: str) -> list[float]:
    """Rows, and sums over their columns."""
    found = ds.dataset(target, format="parquet", exclude_invalid_files=True).to_table()
    total = round(pc.sum(found["total"]).as_py())
    sites = pc.sum(pc.utf8_length(pc.binary_join_element_wise(found["site"], found["name"], ""))).as_py()
    return [found.num_rows, pc.sum(found["id"]).as_py(), total, sites, pc.sum(found["length"]).as_py()]


def run_side(side: str, given: argparse.Namespace, directory: str) -> None:
    """One process of one side: a warm-up, then [rows per second, CPU seconds, summary] of each run that counts."""
    session = local_session(2) if side == "millrace" else native_session()
    run = {"millrace": millrace_run, "batch": batch_run, "structured": structured_run}[side]
    for turn in range(given.runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "out") if given.sink == "parquet" else None
            began, used = time.perf_counter(), cpu_seconds()
            run(session, directory, target)
            seconds, cpu = time.perf_counter() - began, cpu_seconds() - used
            if turn:
                print(json.dumps([given.rows / seconds, cpu, summary(target) if target else []]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--sink", choices=("blackhole", "parquet"), default="blackhole")
    parser.add_argument("--turns", type=int, default=2, help="processes of each side, in turn")
    parser.add_argument("--runs", type=int, default=3, help="runs in each process, after a warm-up")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--input", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        run_side(given.side, given, given.input)
        return
    speeds: dict[str, list[float]] = {side: [] for side in SIDES}
    costs: dict[str, list[float]] = {side: [] for side in SIDES}
    with tempfile.TemporaryDirectory() as directory:
        write_input(directory, given.rows, given.files)
        results = []
        for turn in range(given.turns):
            for side in SIDES:
                runs = other_process("benchmarks.stateless_query", side, directory)
                speeds[side] += [speed for speed, _, _ in runs]
                costs[side] += [cpu for _, cpu, _ in runs]
                results += [found for _, _, found in runs]
            last = {side: statistics.median(speeds[side][-given.runs :]) for side in SIDES}
            cost = {side: statistics.median(costs[side][-given.runs :]) for side in SIDES}
            shown = " | ".join(f"{side} {last[side]:>10,.0f} rows/s, {cost[side]:.1f} s of CPU" for side in SIDES)
            print(f"turn {turn + 1}: {shown}", flush=True)
        assert all(found == results[0] for found in results), f"the results differ: {results}"
    medians = {side: statistics.median(found) for side, found in speeds.items()}
    spent = {side: statistics.median(found) for side, found in costs.items()}
    print(
        f"median: {', '.join(f'{side} {speed:,.0f} rows/s' for side, speed in medians.items())}; ratio to batch "
        f"{medians['millrace'] / medians['batch']:.2f}, to structured streaming "
        f"{medians['millrace'] / medians['structured']:.2f}; by CPU time {spent['batch'] / spent['millrace']:.2f} and "
        f"{spent['structured'] / spent['millrace']:.2f} ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )


if __name__ == "__main__":
    main()
