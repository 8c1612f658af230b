"""Nexmark with state in memory, on disk and with a time to live: what each costs beside memory alone.

    python -m benchmarks.nexmark.states [--events 2000000] [--queries q4,q9] [--turns 1] [--memory 64MB]
    python -m benchmarks.nexmark.states --check [--events 20000]

Our own sources make the events. Each query runs on all sides one after the other, in one process, into a sink that
forgets: ``memory``; ``ttl``, with ``table.exec.state.ttl`` of a day; ``disk``, with rows of that much memory a
process; and ``both``. Prints seconds, those of the processors, and their ratios to ``memory``. With ``--check`` the
tables of all sides must be those of batch mode. Wanted: ``both`` at most 1.5 times ``memory``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping

from benchmarks.nexmark.__main__ import Took, timed
from benchmarks.nexmark.check import differences
from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.session import environment
from millrace.table import TableEnvironment

QUERIES = ("q4", "q5", "q7", "q8", "q9", "q11", "q16", "q17", "q18", "q19", "q20")
"""those with state that grows"""
MEMORY = "memory"


def sides(memory: str, directory: str) -> dict[str, dict[str, str]]:
    """Side -> its settings."""
    ttl = {"table.exec.state.ttl": "1 d"}
    disk = {
        "state.backend.type": "rocksdb",
        "millrace.state.rows.memory": memory,
        "state.backend.rocksdb.localdir": directory,
    }
    return {MEMORY: {}, "ttl": ttl, "disk": disk, "both": {**ttl, **disk}}


def session_with(settings: Mapping[str, str], events: int) -> TableEnvironment:
    session = environment(Settings(events=events))
    for key, value in settings.items():
        session.get_config().set(key, value)
    return session


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int)
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--turns", type=int, default=1, help="the median of so many runs of each query")
    parser.add_argument("--memory", default="64MB", help="of rows on disk, for a process")
    parser.add_argument("--check", action="store_true", help="compare with batch mode instead of measuring")
    given = parser.parse_args()
    names = given.queries.split(",")
    with tempfile.TemporaryDirectory() as directory:
        of_sides = sides(given.memory, directory)
        if given.check:
            wrong = [
                (side, differences(given.events or 20_000, names, settings)) for side, settings in of_sides.items()
            ]
            return 1 if any(found for _, found in wrong) else 0
        measure(of_sides, names, given.events or 2_000_000, given.turns)
    return 0


def measure(of_sides: Mapping[str, Mapping[str, str]], names: list[str], events: int, turns: int) -> None:
    timed(environment(Settings(events=1_000)), "q0", 0)
    sessions = {side: session_with(settings, events) for side, settings in of_sides.items()}
    total: dict[str, float] = dict.fromkeys(of_sides, 0.0)
    for name in names:
        took: dict[str, list[Took]] = {side: [] for side in sessions}
        for turn in range(turns):
            for side, session in sessions.items():
                took[side].append(timed(session, name, turn))
        medians = {side: Took(*map(statistics.median, zip(*each))) for side, each in took.items()}
        base = medians[MEMORY].processors
        for side, found in medians.items():
            total[side] += found.processors
        shown = (
            f"{side} {found.time:6.2f} s, {found.processors:6.2f} of processors ({found.processors / base:.2f})"
            for side, found in medians.items()
        )
        print(f"{name:4} {'   '.join(shown)}", flush=True)
    ratios = ", ".join(f"{side} {seconds / total[MEMORY]:.2f}" for side, seconds in total.items())
    print(f"all of them, seconds of processors beside memory: {ratios}")


if __name__ == "__main__":
    sys.exit(main())
