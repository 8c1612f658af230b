"""Ring 3 of the tests: everything, in groups one after the other, the cheap ones first; each leaves a report.

make night                                           # all groups: hours
python -m scripts.rings.night --continue             # those that have not passed at this commit
python -m scripts.rings.night --one-in 50            # of each group a draw
python -m scripts.rings.night --list                 # what they run, and what each took last
python -m scripts.rings.night crash random           # these

A group's output is in ``build/night/GROUP.txt``, the results are in ``build/night/results.json``. A group that fails
does not stop the others; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from scripts.house.commits import git

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "night"
WORLDS = 5_000
"""simulated worlds of each kind, with new seeds"""
QUERIES = 2_000
"""random queries"""
COUNT = "MILLRACE_RANDOM_COUNT"
"""environment variable: how many random queries"""
TAIL = 15
"""lines of a failed group that are printed"""


@dataclass(frozen=True)
class Group:
    """A part of ring 3, which is one command."""

    name: str
    about: str
    markers: str = ""
    """which tests of ``paths`` it takes, as pytest's ``-m``; empty: it is no run of pytest"""
    paths: tuple[str, ...] = ("tests",)
    without: tuple[str, ...] = ()
    """folders and files below ``paths`` whose tests other groups take"""
    lanes: str = ""
    """processes side by side (tests/lanes.py); empty: one after the other, for they need the machine"""
    command: tuple[str, ...] = ()
    """what is run where it is not pytest"""
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self, one_in: int) -> list[str]:
        """The command line."""
        if self.command:
            return [sys.executable, *(_seeds(one_in) if word == SEEDS else word for word in self.command)]
        options = [f"--ignore={path}" for path in self.without] + [f"--lanes={self.lanes}"] * bool(self.lanes)
        return [sys.executable, "-m", "pytest", "-q", "-m", self.markers, *options, *self.paths]


SEEDS = "SEEDS"
"""in a command: the first and the last seed"""
_APART = ("tests/crash", "tests/cluster")
"""folders whose long tests need the machine for themselves"""
_RANDOM = ("tests/random",)

GROUPS = (
    Group(
        "unit",
        "all tests without Java, families whole",
        "not spark and not services and not slow",
        lanes="unit, unit, unit*",
    ),
    Group("spark", "all tests on Spark, families whole", "spark and not slow", without=_RANDOM, lanes="spark, spark"),
    Group(
        "services",
        "all tests on real servers, families whole",
        "services and not spark and not slow",
        lanes="services, services",
    ),
    Group(
        "long-unit",
        "what repeats a property at length",
        "slow and not spark and not services",
        without=_APART,
        lanes="unit, unit*",
    ),
    Group("long-spark", "long tests on Spark", "slow and spark", without=_APART),
    Group("long-services", "long tests on real servers", "slow and services and not spark", without=_APART),
    Group("simulation", f"{WORLDS:,} worlds", command=("-m", "tests.simulation", SEEDS)),
    Group("simulation-flow", f"{WORLDS:,} worlds in flow", command=("-m", "tests.simulation", SEEDS, "--flow")),
    Group(
        "random",
        f"{QUERIES:,} random queries in both modes",
        "spark",
        paths=_RANDOM,
        environment={COUNT: str(QUERIES)},
    ),
    Group("crash", "every process of a job is killed at every point", "slow", paths=("tests/crash",)),
    Group(
        "crash-cluster",
        "every process of a cluster is killed during every operation",
        "slow",
        paths=("tests/cluster/killing",),
    ),
    Group(
        "cluster",
        "processes of jobs on executors are killed and stopped",
        "slow",
        paths=("tests/cluster",),
        without=("tests/cluster/killing",),
    ),
)


@dataclass(frozen=True)
class Result:
    """How a group ended."""

    code: int
    said: str
    """the last line that it wrote"""
    elapsed_s: float
    processor_s: float

    @property
    def passed(self) -> bool:
        return self.code in (0, 5)  # 5: a draw had no test

    def __str__(self) -> str:
        outcome = "passed" if self.passed else f"FAILED ({self.code})"
        return f"{outcome}, {self.elapsed_s:.0f} s, {self.processor_s:.0f} s of processor time: {self.said}"


def _seeds(one_in: int) -> str:
    first = random.SystemRandom().randrange(10**9)
    return f"{first}-{first + max(WORLDS // one_in, 1) - 1}"


def run(group: Group, one_in: int) -> Result:
    """Run a group with new seeds; its output is in ``FOLDER``."""
    environment = {**os.environ, **group.environment}
    if one_in > 1:
        environment["MILLRACE_DRAW"] = str(random.SystemRandom().randrange(10**6))
        if COUNT in group.environment:
            environment[COUNT] = str(max(int(group.environment[COUNT]) // one_in, 1))
        else:
            environment["MILLRACE_ONE_IN"] = str(one_in)
    for variable in ("CI", "MILLRACE_RING"):  # with the one seeds are the same each time, with the other tests are left
        environment.pop(variable, None)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{group.name}.txt"
    begun, before_s = time.monotonic(), _children_s()
    with path.open("w") as file:
        code = subprocess.run(group.words(one_in), cwd=ROOT, env=environment, stdout=file, stderr=file).returncode
    lines = path.read_text(errors="replace").splitlines()
    said = next(
        (line for line in reversed(lines) if re.search(r"\d+ (passed|failed|skipped|seeds|deselected)", line)), ""
    )
    return Result(code, said.strip("= "), round(time.monotonic() - begun, 1), round(_children_s() - before_s, 1))


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Results:
    """What the groups have given at one commit."""

    def __init__(self, file: Path, commit: str) -> None:
        self._file, self._commit = file, commit
        found = json.loads(file.read_text()) if file.exists() else {}
        self.earlier = {name: Result(**each) for name, each in found.get("groups", {}).items()}
        """of the last run, whatever its commit was"""
        self.groups = dict(self.earlier) if found.get("commit") == commit else {}

    def clear(self) -> None:
        self.groups = {}

    def add(self, name: str, result: Result) -> None:
        self.groups[name] = result
        self._file.parent.mkdir(parents=True, exist_ok=True)
        groups = {each: asdict(found) for each, found in self.groups.items()}
        self._file.write_text(json.dumps({"commit": self._commit, "groups": groups}, indent=1) + "\n")


def main(given: Sequence[str] | None = None) -> int:
    names = [group.name for group in GROUPS]
    parser = argparse.ArgumentParser(prog="python -m scripts.rings.night", description=__doc__.partition("\n")[0])
    parser.add_argument("groups", nargs="*", help=f"only these: {', '.join(names)}")
    parser.add_argument("--continue", dest="goes_on", action="store_true", help="leave out what has passed")
    parser.add_argument("--one-in", type=int, default=1, help="take one test in so many (default: all)")
    parser.add_argument("--list", action="store_true", help="say what the groups are, and run nothing")
    arguments = parser.parse_args(given)
    if unknown := set(arguments.groups) - set(names):
        parser.error(f"there is no group {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    results = Results(FOLDER / "results.json", git(ROOT, "rev-parse", "HEAD").strip())
    chosen = [group for group in GROUPS if group.name in arguments.groups or not arguments.groups]
    if arguments.list:
        for group in chosen:
            print(f"{group.name:<16}{group.about}; last time: {results.earlier.get(group.name, 'not run')}")
        return 0
    if not arguments.goes_on and not arguments.groups:
        results.clear()
    failed = []
    for group in chosen:
        if arguments.goes_on and group.name in results.groups and results.groups[group.name].passed:
            print(f"{group.name:<16}has passed at this commit")
            continue
        result = run(group, arguments.one_in)
        results.add(group.name, result)
        print(f"{group.name:<16}{result}", flush=True)
        if not result.passed:
            failed.append(group.name)
            print(
                "\n".join((FOLDER / f"{group.name}.txt").read_text(errors="replace").splitlines()[-TAIL:]), flush=True
            )
    if failed:
        print(f"failed: {', '.join(failed)}; their output is in {FOLDER.relative_to(ROOT)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
