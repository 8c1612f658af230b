"""Nexmark: every query in streaming mode into a sink that forgets, by Millrace and by Flink SQL, on the same files.

    python -m benchmarks.nexmark --flink-python pyflink-env/bin/python [--events 2000000] [--queries q0,q7] [--turns 1]
                                 [--sides millrace,flink] [--format csv|parquet]
    python -m benchmarks.nexmark --generated [--events 2000000] [--queries q0,q7] [--epoch-blocks 4]
    python -m benchmarks.nexmark --check [--events 20000] [--queries q0,q7]

The files are written once, and each side reads them with its filesystem connector, in a process of its own
(``benchmarks/sides``). What a query takes on few events is its start, and is left out. Beside the time there is that
of the processors: of a machine with other work it says more. With ``--generated`` our own sources make the events in
this process, and Flink has no part in it. With ``--check`` each query runs in streaming mode, in epochs of random
length, and in batch mode, which is another engine; the tables must be equal.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from typing import NamedTuple

from benchmarks.nexmark.check import differences
from benchmarks.nexmark.cpu import cpu_seconds
from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.files import work
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.session import environment, into_blackhole
from benchmarks.sides.report import lines
from benchmarks.sides.running import FLINK, MILLRACE, measured
from millrace.table import TableEnvironment


class Took(NamedTuple):
    """What a query takes, in seconds."""

    time: float
    processors: float


def timed(session: TableEnvironment, name: str, turn: int) -> Took:
    """What a query takes."""
    begin, used = time.perf_counter(), cpu_seconds()
    into_blackhole(session, session.sql_query(QUERIES[name]), f"{name}_{turn}")
    return Took(time.perf_counter() - begin, cpu_seconds() - used)


def measure(events: int, names: list[str], turns: int, epoch_blocks: int | None) -> dict[str, Took]:
    """Query -> what it takes, the median of its turns. Prints them as they come."""
    warm = environment(Settings(events=1_000))
    timed(warm, "q0", 0)
    session = environment(Settings(events=events))
    if epoch_blocks is not None:
        session.get_config().set("millrace.epoch.max-records", str(epoch_blocks))
    found = {}
    for name in names:
        took = [timed(session, name, turn) for turn in range(turns)]
        found[name] = Took(*map(statistics.median, zip(*took)))
        seconds, used = found[name]
        print(f"{name:5} {seconds:7.2f} s {events / seconds:12,.0f} events/s {used:7.2f} s of processors", flush=True)
    return found


def generated(events: int, names: list[str], turns: int, epoch_blocks: int | None) -> None:
    found = measure(events, names, turns, epoch_blocks)
    total, used = map(sum, zip(*found.values()))
    print(f"total {total:7.1f} s for {len(names)} queries, {used:.1f} s of processors")
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int)
    parser.add_argument("--queries", default=",".join(QUERIES), help="names with commas between them")
    parser.add_argument("--turns", type=int, default=1, help="the median of so many runs of each query")
    parser.add_argument("--flink-python", metavar="PYTHON", help="interpreter with apache-flink installed")
    parser.add_argument("--sides", default=f"{MILLRACE},{FLINK}", help="who runs the queries")
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv", help="of the files")
    parser.add_argument("--mini-batch", action="store_true", help="Flink with mini-batches of 2 s")
    parser.add_argument("--generated", action="store_true", help="Millrace alone, on events that its sources make")
    parser.add_argument("--epoch-blocks", type=int, help="end an epoch after so many blocks of 50,000 events a subtask")
    parser.add_argument("--check", action="store_true", help="compare with batch mode instead of measuring")
    given = parser.parse_args()
    names = given.queries.split(",")
    if given.check:
        wrong = differences(given.events or 20_000, names)
        print(f"{len(names) - len(wrong)} of {len(names)} queries give the same table in both modes")
        return 1 if wrong else 0
    events = given.events or 2_000_000
    if given.generated:
        generated(events, names, given.turns, given.epoch_blocks)
        return 0
    with tempfile.TemporaryDirectory() as base:
        asked = work(base, events, names, given.format, given.mini_batch)
        print("\n".join(lines(measured(asked, given.sides.split(","), given.flink_python, given.turns))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
