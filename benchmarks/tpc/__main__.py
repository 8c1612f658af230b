"""TPC-H and TPC-DS in batch mode: every answer beside DuckDB's, times beside plain Spark SQL and Flink.

    python -m benchmarks.tpc [--scale 0.01] [--benchmarks tpch,tpcds] [--queries 1,15] [--turns 1]
    python -m benchmarks.tpc --scale 0.1 --against-spark --flink-python pyflink-env/bin/python

The tables are made by DuckDB's extensions the first time (``data.py``), as a Parquet file each, and all sides read the
same files. A time is that from the text of a query to its last row. Each side has run one small query before the first
one is timed. With several turns each query counts with its median. Ends with 1 if an answer is wrong.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.tpc.answers import Oracle
from benchmarks.tpc.data import BENCHMARKS, HOME, Workload, workload
from benchmarks.tpc.others import Times, flink_times, spark_times
from benchmarks.tpc.ours import Answer, answer, session_with

SPARK_BAR = 1.3
"""our total time, of that of plain Spark"""


def measured(work: Workload, turns: int, check: bool) -> tuple[Times, int]:
    """Query -> what it takes here; and how many answers are wrong. Prints them as they come."""
    session, oracle = session_with(work), Oracle(work)
    answer(session, work.first())
    times: Times = {}
    wrong = 0
    for name, query in work.queries.items():
        try:
            found: list[Answer] = [answer(session, query.text) for _ in range(turns)]
        except Exception as error:
            times[name] = f"failed: {type(error).__name__}: {error}"
            wrong += 1
            print(f"{name:10} {times[name]}", flush=True)
            continue
        times[name] = seconds = statistics.median(each.seconds for each in found)
        last = found[-1]
        said = oracle.difference(query, last.rows, last.scales, last.order) if check else ""
        wrong += bool(said)
        print(f"{name:10} {seconds:7.2f} s {len(last.rows):7,} rows  {said or ('equal' if check else '')}", flush=True)
    return times, wrong


def compared(ours: Times, theirs: Times, name: str) -> None:
    """Print both times of each query and the ratio."""
    both = [query for query in ours if isinstance(ours[query], float) and isinstance(theirs.get(query), float)]
    for query in ours:
        if query in both:
            print(f"{query:10} {_line(ours, theirs, [query])}")
        else:
            print(f"{query:10} {name}: {theirs.get(query, 'no answer')}")
    print(f"{'all':10} {_line(ours, theirs, both)}   ({len(both)} queries that both run; Millrace, {name}, ratio)")


def _line(ours: Mapping[str, float | str], theirs: Mapping[str, float | str], queries: list[str]) -> str:
    mine, other = (sum(float(side[query]) for query in queries) for side in (ours, theirs))
    return f"{mine:8.2f} s {other:8.2f} s {mine / other:6.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="0.01")
    parser.add_argument("--benchmarks", default=",".join(BENCHMARKS))
    parser.add_argument("--queries", help="numbers with commas between them")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--home", type=Path, default=HOME, help="where tables and queries lie")
    parser.add_argument("--no-check", action="store_true", help="do not compare with DuckDB")
    parser.add_argument("--against-spark", action="store_true")
    parser.add_argument("--spark-setting", action="append", default=[], metavar="KEY=VALUE", help="of plain Spark")
    parser.add_argument("--flink-python", metavar="PYTHON", help="interpreter with apache-flink installed")
    given = parser.parse_args()
    wrong = 0
    for benchmark in given.benchmarks.split(","):
        work = workload(benchmark, given.scale, given.home)
        if given.queries:
            work = work.only(given.queries.split(","))
        times, failed = measured(work, given.turns, not given.no_check)
        wrong += failed
        print(f"{benchmark}: {len(times) - failed} of {len(times)} answers are right")
        if given.against_spark:
            settings = dict(each.split("=", 1) for each in given.spark_setting)
            compared(times, spark_times(work, given.turns, settings), "plain Spark")
        if given.flink_python:
            compared(times, flink_times(given.flink_python, work, given.turns), "Flink")
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
