"""Batch mode with more keys than the workers have memory for, against DuckDB's answer.

A keyed process function (count and sum in a ValueState, its result at the end of the key), or ``reduce``, reads Parquet
files, and writes its results to Parquet files. Every process that runs a part of the job limits its own private memory
first: what it allocates beyond that fails. DuckDB then compares the results with its own GROUP BY, row by row.

    python -m benchmarks.batch_keys --keys 20000000
"""

from __future__ import annotations

import argparse
import glob
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.memory import PeakMemory
from benchmarks.programs import CountAndSum
from millrace.common.typeinfo import Types
from millrace.common.types import Row
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.datastream.connectors.file_system import FileSink, FileSource
from millrace.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from millrace.datastream.functions import MapFunction
from millrace.spark.sessions.session import local_session
from millrace.table import DataTypes

FILES = 16


class Limited(MapFunction):
    """Limits the memory of the processes that it runs in, and notes how much they had at most."""

    def __init__(self, megabytes: int, notes: str) -> None:
        self.megabytes, self.notes = megabytes, notes

    def open(self, runtime_context: Any) -> None:
        if self.megabytes:
            limit = self.megabytes * 1024 * 1024
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))

    def map(self, value: Any) -> Any:
        return Row(key=value[0], count=value[1], sum=value[2]) if len(value) == 3 else value

    def close(self) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        Path(self.notes, str(os.getpid())).write_text(str(peak))


def write_input(directory: str, keys: int) -> int:
    """Every key once in a random order, and a quarter of them a second time; the number of rows."""
    draw = np.random.default_rng(7)
    wanted = np.concatenate([np.arange(keys), draw.integers(0, keys, keys // 4)])
    draw.shuffle(wanted)
    for number, share in enumerate(np.array_split(wanted, FILES)):
        table = pa.table({"key": share * 7_919, "value": draw.integers(0, 1_000, len(share))})
        pq.write_table(table, os.path.join(directory, f"part-{number:04d}.parquet"))
    return len(wanted)


def run(session: Any, given: argparse.Namespace, source: str, sink: str, notes: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(None, session)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(2)
    files = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(None), source).build()
    events = env.from_source(files, WatermarkStrategy.no_watermarks(), "events").map(Limited(given.limit, notes))
    if given.operator == "process":
        results = events.key_by(lambda event: event[0]).process(CountAndSum())
    else:
        triples = events.map(lambda event: (event[0], 1, event[1])).key_by(lambda event: event[0])
        results = triples.reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2]))
    names, longs = ["key", "count", "sum"], [Types.LONG()] * 3
    rows = results.map(Limited(given.limit, notes), output_type=Types.ROW_NAMED(names, longs))
    fields = [DataTypes.FIELD(name, DataTypes.BIGINT()) for name in names]
    writers = ParquetBulkWriters.for_row_type(DataTypes.ROW(fields))
    rows.sink_to(FileSink.for_bulk_format(sink, writers).build())
    env.execute("batch keys")


def differences(source: str, sink: str, directory: str) -> tuple[int, int]:
    """(keys in the result, rows in which it differs from DuckDB's)"""
    import duckdb

    written = [path for path in glob.glob(f"{sink}/**/*", recursive=True) if os.path.isfile(path)]
    with duckdb.connect(os.path.join(directory, "compare.db")) as database:
        database.execute("SET memory_limit = '4GB'")
        database.execute(
            f"CREATE TABLE expected AS SELECT key, count(*)::BIGINT AS count, sum(value)::BIGINT AS sum "
            f"FROM read_parquet('{source}/*.parquet') GROUP BY key"
        )
        database.read_parquet(written).create("found")
        [(count,)] = database.execute("SELECT count(*) FROM found").fetchall()
        [(wrong,)] = database.execute(
            "SELECT count(*) FROM expected FULL JOIN found USING (key) "
            "WHERE expected.count IS DISTINCT FROM found.count OR expected.sum IS DISTINCT FROM found.sum"
        ).fetchall()
    return count, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--operator", choices=("process", "reduce"), default="process")
    parser.add_argument("--limit", type=int, default=1_024, help="MB of private memory of a process; 0: no limit")
    given = parser.parse_args()
    # Arrow's own allocator takes a gigabyte of addresses at once, which would count. Workers inherit this.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    session = local_session(2)
    with tempfile.TemporaryDirectory() as directory:
        source, sink, notes = (os.path.join(directory, name) for name in ("source", "sink", "notes"))
        for folder in (source, notes):
            os.mkdir(folder)
        rows = write_input(source, given.keys)
        with PeakMemory() as memory:
            began = time.perf_counter()
            run(session, given, source, sink, notes)
            seconds = time.perf_counter() - began
        count, wrong = differences(source, sink, directory)
        peaks = [int(Path(path).read_text()) // 1024 for path in glob.glob(f"{notes}/*")]
    print(
        f"{given.operator}: {rows:,} rows, {given.keys:,} keys in {seconds:.0f} s ({rows / seconds:,.0f} rows/s); "
        f"results: {count:,}, wrong: {wrong:,}; at most {max(peaks)} MB in a process (limit {given.limit} MB), "
        f"{memory.peak_mb:,.0f} MB with driver and JVM ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )
    assert (count, wrong) == (given.keys, 0)


if __name__ == "__main__":
    main()
