"""Event-time windows and the interval join: PyFlink in thread mode and, with the same program, Millrace.

Needs an interpreter that has PyFlink in an environment of its own:

    python -m venv pyflink-env && pyflink-env/bin/pip install apache-flink==2.3.0
    python -m benchmarks.windows --pyflink-python pyflink-env/bin/python

10,000 events come in a second of event time, for 10,000 keys and up to 1 s out of order. Each side runs on a small and
a large input; the speed is the difference of the events by the difference of the jobs' own run times, so that neither
side pays for its start. Results are compared with a recomputation in plain Python.
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

from benchmarks.against_pyflink import net_runtime_ms

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyflink_windows.py")
PER_SECOND = 10_000
OUT_OF_ORDER_MS = 1000
JOIN_MS = 1000
FILES = 2

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


def line(key: int, start: int, end: int, values: list[int]) -> str:
    return f"{key},{start},{end},{len(values)},{sum(values)},{max(values)}"


def results(path: str) -> Counter[str]:
    return Counter(text.rstrip("\n") for file in part_files(path) for text in open(file))


def part_files(path: str) -> Iterator[str]:
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


# -- the runs ---------------------------------------------------------------------------------------------------------


class Case:
    """One kind of window with inputs of any size."""

    def __init__(self, name: str, keys: int, base: str) -> None:
        self.name = name
        self._keys = keys
        self._base = base
        self._expected: dict[int, Counter[str]] = {}

    def input(self, events: int) -> str:
        """The folder of an input with so many events; for the join, half of them on each side."""
        path = os.path.join(self._base, "join" if self.name == "join" else "events", str(events))
        if self.name == "join":
            sides = [make_events(events // 2, self._keys, PER_SECOND // 2, seed) for seed in (1, 2)]
            if not os.path.exists(path):
                for side, made in zip(("left", "right"), sides):
                    write(os.path.join(path, side), made)
            self._expected[events] = joined(*sides)
            return path
        made = make_events(events, self._keys, PER_SECOND, 3)
        if not os.path.exists(path):
            write(path, made)
        if self.name == "session":
            self._expected[events] = sessions(made, 2_000)
        else:
            self._expected[events] = aligned(made, 10_000, 10_000 if self.name == "tumbling" else 2_000)
        return path

    def run(self, command: list[str], events: int) -> tuple[int, int]:
        """Milliseconds of one run, and how many of its results are wrong or missing."""
        source, target = self.input(events), os.path.join(self._base, "results")
        milliseconds = net_runtime_ms([*command, PROGRAM, self.name, source, target, "thread"])
        found, expected = results(target), self._expected.pop(events)
        shutil.rmtree(target)
        return milliseconds, sum(((found - expected) + (expected - found)).values())

    def speed(self, command: list[str], small: int, large: int) -> tuple[float, int]:
        """Events per second, and wrong results."""
        (first, wrong), (second, wrong_too) = self.run(command, small), self.run(command, large)
        return (large - small) / (second - first) * 1000, wrong + wrong_too


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyflink-python", help="interpreter with apache-flink installed; without it only Millrace")
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--pyflink-events", type=int, default=100_000)
    parser.add_argument("windows", nargs="*", default=["tumbling", "sliding", "session", "join"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        for name in given.windows:
            case = Case(name, given.keys, base)
            millrace = [sys.executable, "-m", "millrace", "run", "--pyflink"]
            ours, wrong = case.speed(millrace, given.events // 10, given.events + given.events // 10)
            print(f"{name:9} millrace {ours:>9,.0f} events/s, {wrong} wrong results", flush=True)
            if given.pyflink_python:
                few = given.pyflink_events
                theirs, wrong = case.speed([given.pyflink_python], few // 5, few + few // 5)
                ratio = f"millrace is {ours / theirs:.1f} times as fast"
                print(f"{name:9} pyflink  {theirs:>9,.0f} events/s, {wrong} wrong results; {ratio}", flush=True)
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
