"""Nexmark in batch mode beside streaming mode and beside plain Spark SQL that is written by hand, on the same files.

    python -m benchmarks.nexmark.batch [--events 500000] [--queries q5,q16] [--turns 3] [--format csv|parquet]

Each side is a process of its own. It runs each query on few events first, so that what it starts and compiles is not
measured, then on all of them, into a sink that forgets. The sides take turns, and a query counts with its median. On
the few events the answers of batch mode and of Spark are compared; those of streaming mode and batch mode are compared
by ``python -m benchmarks.nexmark --check``. Prints seconds of processors and by the clock, and what batch mode takes of
either other side's processor time. Ends with 1 if answers differ.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.nexmark.check import VIEWS, Table
from benchmarks.nexmark.cpu import cpu_seconds
from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.files import tables_over_files, write_events
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.session import count_char, into_blackhole
from benchmarks.nexmark.spark_queries import SPARK_QUERIES
from benchmarks.nexmark.tables import COLUMNS
from benchmarks.sides.work import PARALLELISM, Taken
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.udf import udf

BATCH, STREAMING, SPARK = "batch", "streaming", "spark"
SIDES = (BATCH, STREAMING, SPARK)
FEW = 20_000
SIZES = ("few", "whole")


# One side


class Millrace:
    """Millrace in either mode."""

    def __init__(self, streaming: bool, base: Path, kind: str) -> None:
        mode = EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
        self._session = TableEnvironment.create(mode)
        self._session.get_config().set_local_timezone("UTC")
        self._session.get_config().set("parallelism.default", str(PARALLELISM))
        self._session.create_temporary_system_function("count_char", udf(count_char, result_type="BIGINT"))
        self._runs = 0
        for size in SIZES:
            self._session.execute_sql(f"CREATE DATABASE size_{size}")
            self._session.execute_sql(f"USE size_{size}")
            for statement in tables_over_files(str(base / size), Settings(), kind):
                self._session.execute_sql(statement)

    def use(self, size: str) -> None:
        self._session.execute_sql(f"USE size_{size}")

    def run(self, name: str) -> None:
        self._runs += 1
        into_blackhole(self._session, self._session.sql_query(QUERIES[name]), f"{name}_{self._runs}")

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        with self._session.execute_sql(QUERIES[name]).collect() as found:
            return [tuple(row) for row in found]


class PlainSpark:
    """Spark SQL with Spark's defaults."""

    def __init__(self, base: Path, kind: str) -> None:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master(f"local[{PARALLELISM}]").config("spark.ui.enabled", "false")
        self._spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        self._spark.udf.register("count_char", count_char, "BIGINT")
        self._base = base
        self._kind = kind

    def use(self, size: str) -> None:
        for name, columns in {**COLUMNS, "side": "number BIGINT, word STRING"}.items():
            schema = columns.replace("TIMESTAMP(3)", "TIMESTAMP_NTZ")
            reader = self._spark.read.schema(schema).option("timestampNTZFormat", "yyyy-MM-dd HH:mm:ss.SSS")
            reader.format(self._kind).load(str(self._base / size / name)).createOrReplaceTempView(name)

    def run(self, name: str) -> None:
        self._spark.sql(SPARK_QUERIES[name]).write.format("noop").mode("overwrite").save()

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._spark.sql(SPARK_QUERIES[name]).collect()]


def run_side(side: str, base: Path, names: Sequence[str], kind: str) -> None:
    """Print a line of JSON for each query: its name, seconds by the clock, seconds of processors. And keep the tables
    that the queries give for few events."""
    program = PlainSpark(base, kind) if side == SPARK else Millrace(side == STREAMING, base, kind)
    answers = {}
    for name in names:
        program.use("few")
        program.run(name)
        if side != STREAMING:
            answers[name] = _table(name, program.rows(name))
        program.use("whole")
        begin, used = time.perf_counter(), cpu_seconds()
        program.run(name)
        print(json.dumps([name, time.perf_counter() - begin, cpu_seconds() - used]), flush=True)
    (base / f"{side}.answers").write_bytes(pickle.dumps(answers))


def _table(name: str, rows: Iterable[tuple[Any, ...]]) -> Table:
    view: Callable[[Table], Table] = VIEWS.get(name, Counter)
    return view(Counter(rows))


# All sides


def measured(base: Path, names: Sequence[str], kind: str, turns: int) -> dict[str, dict[str, list[Taken]]]:
    """Side -> query -> what it takes in each turn."""
    found: dict[str, dict[str, list[Taken]]] = {side: {name: [] for name in names} for side in SIDES}
    for turn in range(turns):
        for side in SIDES if turn % 2 == 0 else reversed(SIDES):
            for name, wall, processors in _lines_of(side, base, names, kind):
                found[side][name].append(Taken(wall, processors))
    return found


def _lines_of(side: str, base: Path, names: Sequence[str], kind: str) -> Iterator[Any]:
    asked = ["--side", side, "--base", str(base), "--queries", ",".join(names), "--format", kind]
    command = [sys.executable, "-m", "benchmarks.nexmark.batch", *asked]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from (json.loads(line) for line in process.stdout if line.startswith("["))
    if process.returncode:
        raise SystemExit(f"{side} ended with {process.returncode}")


def report(found: Mapping[str, Mapping[str, Sequence[Taken]]], names: Sequence[str]) -> Iterator[str]:
    """A line for each query and one for all."""
    yield f"{'':5} {'processors: ' + ', '.join(SIDES):>36}   {'of streaming, of Spark':>24}   {'by the clock':>24}"
    middle = {side: [_median(found[side][name]) for name in names] for side in SIDES}
    for at, name in enumerate(names):
        yield _line(name, [middle[side][at] for side in SIDES])
    sums = [
        Taken(sum(each.wall for each in middle[side]), sum(each.processors for each in middle[side])) for side in SIDES
    ]
    yield _line("all", sums)


def _median(taken: Sequence[Taken]) -> Taken:
    walls, processors = zip(*((each.wall, each.processors) for each in taken), strict=True)
    return Taken(statistics.median(walls), statistics.median(processors))


def _line(name: str, sides: Sequence[Taken]) -> str:
    batch, *others = (max(each.processors, 0.01) for each in sides)
    processors = " ".join(f"{each.processors:11.2f}" for each in sides)
    ratios = " ".join(f"{batch / each:11.2f}" for each in others)
    clock = " ".join(f"{each.wall:7.2f}" for each in sides)
    return f"{name:5} {processors}    {ratios}     {clock}"


def different(base: Path, names: Sequence[str]) -> list[str]:
    """The queries whose answers differ."""
    one, other = (pickle.loads((base / f"{side}.answers").read_bytes()) for side in (BATCH, SPARK))
    return [name for name in names if one[name] != other[name]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--queries", default=",".join(QUERIES), help="names with commas between them")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv", help="of the files")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--base", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.queries.split(",")
    if given.side:
        run_side(given.side, given.base, names, given.format)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        for size, events in zip(SIZES, (FEW, given.events), strict=True):
            write_events(str(base / size), Settings(events=events), given.format)
        print("\n".join(report(measured(base, names, given.format, given.turns), names)))
        wrong = different(base, names)
        print(f"{len(names) - len(wrong)} of {len(names)} answers are equal", *wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
