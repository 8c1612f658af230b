"""Patterns: processor time of Millrace and of Flink for the same jobs, less that of the same job on no events.

Needs an interpreter that has PyFlink in an environment of its own, and a JDK:

    python -m venv pyflink-env && pyflink-env/bin/pip install apache-flink==2.3.0
    python -m benchmarks.cep --pyflink-python pyflink-env/bin/python

Half a million events of a thousand keys, parallelism 2, the watermark a second behind. `greedy` looks for an `a` that
is dear, up to five `b`, greedy, and a `c` within 10 s; `fails` for three failures in a row within 10 s, `fails-past`
skips past each of them; `sql` is the last one as MATCH_RECOGNIZE, from CSV files into CSV files, where a second Flink
side has PyFlink collect the rows. Flink runs the first three in Java. The sides take turns; a run whose number of
matches is another one than it must be is an error.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.patterns.datastream import event, login
from benchmarks.processor_time import adopt_orphans, measured, told

PROGRAMS = Path(__file__).with_name("patterns")
EVENTS = 500_000
EXPECTED = {"greedy": 1_994, "fails": 58_880, "fails-past": 36_422, "sql": 36_422}
"""matches in EVENTS events"""
SUMS = {"key * price": 12_466_996_534, "a": 83_380, "b": 83_385, "c": 83_361, "fail": 300_319}
"""of EVENTS events: whether the generator is the right one"""


@dataclass(frozen=True)
class Run:
    matches: int
    processor: float


@dataclass(frozen=True)
class Side:
    name: str
    run: Callable[[int], Run]
    """with so many events"""


def check_events() -> None:
    events = [event(i) for i in range(EVENTS)]
    names = [name for _, name, _, _ in events]
    found = {"key * price": sum(key * price for key, _, price, _ in events), **{n: names.count(n) for n in "abc"}}
    found["fail"] = sum(login(i)[1] == "fail" for i in range(EVENTS))
    if found != SUMS:
        raise SystemExit(f"the events are not those that they should be: {found}")


def said(command: list[str]) -> dict[str, float]:
    """The matches that a program tells of, and the processor time of all processes that it has started."""
    done = measured(command)
    words = [line.split() for line in done.text.splitlines()]
    found = {line[0]: float(line[1]) for line in words if len(line) == 2 and line[0] == "matches"}
    return {**found, "processor": done.processor}


def run_of(numbers: dict[str, float]) -> Run:
    return Run(int(numbers["matches"]), numbers["processor"])


class Flink:
    """Flink's side: Java for the DataStream jobs, PyFlink for SQL."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python = python
        path = subprocess.run(
            [python, "-c", "import pyflink; print(pyflink.__path__[0])"], capture_output=True, text=True, check=True
        ).stdout.strip()
        self.classpath = os.pathsep.join([str(folder), f"{path}/lib/*"])
        compiler = shutil.which("javac")
        if compiler is None:
            raise SystemExit("there is no javac: install a JDK 17 (Debian/Ubuntu: `apt-get install default-jdk`)")
        subprocess.run(
            [compiler, "-nowarn", "-d", str(folder), "-cp", self.classpath, str(PROGRAMS / "Jobs.java")], check=True
        )

    def java(self, job: str) -> Callable[[int], Run]:
        return lambda events: run_of(said([str(shutil.which("java")), "-cp", self.classpath, "Jobs", job, str(events)]))


def ours(job: str, *how: str) -> Callable[[int], Run]:
    command = [sys.executable, "-m", "benchmarks.patterns.datastream", job]
    return lambda events: run_of(said([*command, str(events), *how]))


def sql(command: list[str], folder: Path, collected: bool) -> Callable[[int], Run]:
    """The SQL program under an interpreter, or under ours."""

    def run(events: int) -> Run:
        output = "-" if collected else tempfile.mkdtemp(dir=folder)
        numbers = said([*command, str(PROGRAMS / "sql.py"), str(input_of(folder, events)), output])
        matches = int(numbers["matches"]) if collected else lines_in(Path(output))
        return Run(matches, numbers["processor"])

    return run


def input_of(folder: Path, events: int) -> Path:
    path = folder / f"events-{events}"
    if not path.exists():
        path.mkdir()
        start = dt.datetime(1970, 1, 1)
        with (path / "events.csv").open("w", newline="") as file:
            rows = (login(i) for i in range(events))
            csv.writer(file).writerows(
                (key, name, price, (start + dt.timedelta(milliseconds=ts)).isoformat(" ", "milliseconds"))
                for key, name, price, ts in rows
            )
    return path


def lines_in(folder: Path) -> int:
    hidden = (".", "_")
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(hidden)]
    return sum(len(path.read_text().splitlines()) for path in files)


def sides_of(job: str, flink: Flink, folder: Path) -> list[Side]:
    if job == "sql":
        millrace = [sys.executable, "-m", "millrace", "run", "--pyflink"]
        return [
            Side("Flink", sql([flink.python], folder, False)),
            Side("Flink, collected", sql([flink.python], folder, True)),
            Side("Millrace", sql(millrace, folder, False)),
        ]
    return [
        Side("Flink", flink.java(job)),
        Side("Millrace", ours(job)),
        Side("Millrace, expressions", ours(job, "expressions")),
    ]


def compare(job: str, sides: list[Side], runs: int, events: int) -> None:
    seconds: dict[str, list[float]] = {side.name: [] for side in sides}
    for _ in range(runs):
        for side in sides:
            empty, full = side.run(0), side.run(events)
            wanted = EXPECTED[job] if events == EVENTS else full.matches
            if (empty.matches, full.matches) != (0, wanted):
                raise SystemExit(f"{job} on {side.name}: {full.matches} matches (none: {empty.matches}), not {wanted}")
            seconds[side.name].append(full.processor - empty.processor)
            print(f"{job:11} {side.name:22} {full.matches:7,} matches {seconds[side.name][-1]:8.1f} s", flush=True)
    middle = {name: statistics.median(found) for name, found in seconds.items()}
    for side in sides[1:]:
        ratio = middle[side.name] / middle["Flink"]
        print(f"{job:11} {side.name} takes {ratio:.2f} of Flink's processor time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyflink-python", required=True, help="interpreter with apache-flink installed")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--jobs", nargs="*", default=list(EXPECTED), choices=list(EXPECTED))
    parser.add_argument("--sides", nargs="*", help="only these, Flink among them")
    given = parser.parse_args()
    check_events()
    adopt_orphans()
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        flink = Flink(given.pyflink_python, folder)
        for job in given.jobs:
            sides = sides_of(job, flink, folder)
            compare(job, [s for s in sides if not given.sides or s.name in given.sides], given.runs, given.events)
    print(told())


if __name__ == "__main__":
    main()
