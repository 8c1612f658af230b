"""DataStream jobs: what an element costs PyFlink in thread mode and, with the same program, Millrace.

Needs an interpreter that has PyFlink in an environment of its own:

    python -m venv pyflink-env && pyflink-env/bin/pip install apache-flink==2.3.0
    python -m benchmarks.datastream --pyflink-python pyflink-env/bin/python

Keyed reduce and process function, windows with a reduce, an aggregate and a process function, the interval join, and
the same join written by hand with map states and timers (PyFlink has no other). 10,000 events come in a second of
event time, for 10,000 keys and up to 1 s out of order. Sides take turns; counted is the processor time of all processes
beyond that of a run on 1,000 events. Results are compared with a recomputation in plain Python: for Millrace
a wrong one is an error, for PyFlink they are counted, since its sessions are not all right.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator

from benchmarks.processor_time import Side, adopt_orphans, compare, measured, told

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyflink_datastream.py")
PER_SECOND = 10_000
OUT_OF_ORDER_MS = 1000
JOIN_MS = 1000
FILES = 2
JOBS = (
    "reduce",
    "process",
    "tumbling",
    "tumbling-reduce",
    "tumbling-process",
    "sliding",
    "session",
    "join",
    "join-by-hand",
)

Event = tuple[int, int, int]


def make_events(events: int, keys: int, per_second: int, seed: int) -> list[Event]:
    """(time in ms, key, value), up to a second out of order."""
    draw = random.Random(seed)
    return [
        (1000 * n // per_second + draw.randrange(OUT_OF_ORDER_MS), draw.randrange(keys), draw.randrange(1000))
        for n in range(events)
    ]


def write(path: str, events: list[Event]) -> None:
    """Two files, which a parallelism of two reads side by side."""
    os.makedirs(path)
    for number in range(FILES):
        with open(os.path.join(path, f"part-{number}.txt"), "w") as file:
            file.writelines(f"{time},{key},{value}\n" for time, key, value in events[number::FILES])


# -- what should come out ---------------------------------------------------------------------------------------------


def aligned(events: list[Event], size: int, slide: int) -> Counter[str]:
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    for time, key, value in events:
        for start in range(time - time % slide, time - size, -slide):
            found[key, start].append(value)
    return Counter(line(key, start, start + size, values) for (key, start), values in found.items())


def sessions(events: list[Event], gap: int) -> Counter[str]:
    by_key: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for time, key, value in events:
        by_key[key].append((time, value))
    lines: Counter[str] = Counter()
    for key, elements in by_key.items():
        elements.sort()
        begun = 0
        for at in range(1, len(elements) + 1):
            if at == len(elements) or elements[at][0] > elements[at - 1][0] + gap:
                values = [value for _, value in elements[begun:at]]
                lines[line(key, elements[begun][0], elements[at - 1][0] + gap, values)] += 1
                begun = at
    return lines


def joined(left: list[Event], right: list[Event]) -> Counter[str]:
    by_key: dict[int, list[Event]] = defaultdict(list)
    for event in right:
        by_key[event[1]].append(event)
    return Counter(
        f"{key},{time},{value},{other[0]},{other[2]}"
        for time, key, value in left
        for other in by_key[key]
        if abs(other[0] - time) <= JOIN_MS
    )


def running_counts(events: list[Event]) -> Counter[str]:
    totals = Counter(key for _, key, _ in events)
    return Counter(f"{key},{count}" for key, total in totals.items() for count in range(1, total + 1))


def reduced(events: list[Event], size: int) -> Counter[str]:
    found: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in events:
        found[event[1], event[0] // size].append(event)
    return Counter(
        f"{max(event[0] for event in each)},{key},{sum(event[2] for event in each)}" for (key, _), each in found.items()
    )


def line(key: int, start: int, end: int, values: list[int]) -> str:
    return f"{key},{start},{end},{len(values)},{sum(values)},{max(values)}"


def results(path: str) -> Counter[str]:
    return Counter(text.rstrip("\n") for file in part_files(path) for text in open(file))


def part_files(path: str) -> Iterator[str]:
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


# -- the runs ---------------------------------------------------------------------------------------------------------


class Case:
    """One job with inputs of any size."""

    def __init__(self, name: str, keys: int, base: str) -> None:
        self.name = name
        self._keys = keys
        self._base = base

    def input(self, events: int) -> tuple[str, Counter[str]]:
        """The folder of an input with so many events (for a join, half of them on each side), and the results."""
        joins = self.name.startswith("join")
        path = os.path.join(self._base, "join" if joins else "events", str(events))
        if joins:
            sides = [make_events(events // 2, self._keys, PER_SECOND // 2, seed) for seed in (1, 2)]
            if not os.path.exists(path):
                for side, made in zip(("left", "right"), sides):
                    write(os.path.join(path, side), made)
            return path, joined(*sides)
        made = make_events(events, self._keys, PER_SECOND, 3)
        if not os.path.exists(path):
            write(path, made)
        return path, self._expected(made)

    def _expected(self, events: list[Event]) -> Counter[str]:
        if self.name in ("reduce", "process"):
            return running_counts(events)
        if self.name == "session":
            return sessions(events, 2_000)
        if self.name == "tumbling-reduce":
            return reduced(events, 10_000)
        return aligned(events, 10_000, 2_000 if self.name == "sliding" else 10_000)

    def side(self, name: str, interpreter: list[str], events: int) -> Side:
        def run(events: int) -> float:
            source, expected = self.input(events)
            target = os.path.join(self._base, "results")
            done = measured([*interpreter, PROGRAM, self.name, source, target, "thread"])
            found = results(target)
            shutil.rmtree(target)
            wrong = sum(((found - expected) + (expected - found)).values())
            if wrong and name == "Millrace":
                raise SystemExit(f"{self.name}: {wrong} results of Millrace are wrong or missing")
            if wrong:
                print(f"{self.name}: {wrong} results of {name} are wrong or missing", flush=True)
            return done.processor

        return Side(name, run, events)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyflink-python", help="interpreter with apache-flink installed; without it only Millrace")
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--pyflink-events", type=int, default=100_000)
    parser.add_argument("--few", type=int, default=1_000, help="events of the run that stands for the start")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("jobs", nargs="*", default=JOBS, metavar="JOB", help=", ".join(JOBS))
    given = parser.parse_args()
    if not set(given.jobs) <= set(JOBS):
        parser.error(f"jobs are {', '.join(JOBS)}")
    adopt_orphans()
    with tempfile.TemporaryDirectory() as base:
        for name in given.jobs:
            case = Case(name, given.keys, base)
            sides = [case.side("Millrace", [sys.executable, "-m", "millrace", "run", "--pyflink"], given.events)]
            if given.pyflink_python:
                sides.insert(0, case.side("PyFlink", [given.pyflink_python], given.pyflink_events))
            compare(name, sides, given.few, given.runs)
    print(told())


if __name__ == "__main__":
    main()
