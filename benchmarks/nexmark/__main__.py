"""Nexmark: every query in streaming mode into a sink that forgets, timed from its submission to its end.

    python -m benchmarks.nexmark [--events 2000000] [--queries q0,q7] [--turns 1] [--epoch-blocks 4]
    python -m benchmarks.nexmark --check [--events 20000] [--queries q0,q7]
    python -m benchmarks.nexmark --against-pyflink pyflink-env/bin/python [--events 2000000]

Spark is started, and has run a query on few events, before the first one is timed. The events are made by the query's
own sources. Beside the time there is that of the processors: of a machine with other work it says
more. With ``--check`` each query runs in streaming mode, in epochs of random length, and in batch mode, which is
another engine; the tables must be equal. With ``--against-pyflink`` Flink SQL runs the same queries on the same events
(``benchmarks/nexmark/pyflink.py`` says what is compared).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time

from benchmarks.nexmark.against import MINI_BATCH, Taken, compare
from benchmarks.nexmark.check import differences
from benchmarks.nexmark.cpu import cpu_seconds
from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.session import environment, into_blackhole
from millrace.table import TableEnvironment

BAR_SECONDS = 126.0
"""for all queries at 2,000,000 events"""


def timed(session: TableEnvironment, name: str, turn: int) -> Taken:
    """What a query takes."""
    begin, used = time.perf_counter(), cpu_seconds()
    into_blackhole(session, session.sql_query(QUERIES[name]), f"{name}_{turn}")
    return Taken(time.perf_counter() - begin, cpu_seconds() - used)


def measure(events: int, names: list[str], turns: int, epoch_blocks: int | None) -> dict[str, Taken]:
    """Query -> what it takes, the median of its turns. Prints them as they come."""
    warm = environment(Settings(events=1_000))
    timed(warm, "q0", 0)
    session = environment(Settings(events=events))
    if epoch_blocks is not None:
        session.get_config().set("millrace.epoch.max-records", str(epoch_blocks))
    found = {}
    for name in names:
        took = [timed(session, name, turn) for turn in range(turns)]
        found[name] = Taken(*map(statistics.median, zip(*took)))
        seconds, used = found[name]
        print(f"{name:5} {seconds:7.2f} s {events / seconds:12,.0f} events/s {used:7.2f} s of processors", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int)
    parser.add_argument("--queries", default=",".join(QUERIES), help="names with commas between them")
    parser.add_argument("--turns", type=int, default=1, help="the median of so many runs of each query")
    parser.add_argument("--epoch-blocks", type=int, help="end an epoch after so many blocks of 50,000 events a subtask")
    parser.add_argument("--check", action="store_true", help="compare with batch mode instead of measuring")
    parser.add_argument("--against-pyflink", metavar="PYTHON", help="interpreter with apache-flink installed")
    parser.add_argument("--mini-batch", action="store_true", help="Flink with mini-batches of 2 s")
    given = parser.parse_args()
    names = given.queries.split(",")
    if given.check:
        wrong = differences(given.events or 20_000, names)
        print(f"{len(names) - len(wrong)} of {len(names)} queries give the same table in both modes")
        return 1 if wrong else 0
    events = given.events or 2_000_000
    found = measure(events, names, given.turns, given.epoch_blocks)
    total, used = map(sum, zip(*found.values()))
    print(f"total {total:7.1f} s for {len(names)} queries, {used:.1f} s of processors")
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    if events == 2_000_000 and len(names) == len(QUERIES):
        print(f"at most {BAR_SECONDS:.0f} s are wanted: {'reached' if total <= BAR_SECONDS else 'not reached'}")
    if given.against_pyflink:
        compare(given.against_pyflink, events, found, MINI_BATCH if given.mini_batch else {})
    return 0


if __name__ == "__main__":
    sys.exit(main())
