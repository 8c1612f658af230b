"""Replays a simulation: ``python -m tests.simulation SEED [--trace] [--program NAME]``, or runs many: ``FROM-TO``."""

from __future__ import annotations

import argparse
import time
from collections import Counter

from tests.simulation.programs import PROGRAMS
from tests.simulation.simulation import simulate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", help="a seed, or the first and the last one: 0-1999")
    parser.add_argument("--trace", action="store_true", help="print all that happened, not only where it went wrong")
    parser.add_argument("--program", choices=sorted(PROGRAMS), help="instead of the one that the seed chooses")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    faults: Counter[str] = Counter()
    bad: list[int] = []
    began = time.monotonic()
    for seed in range(int(first), int(last or first) + 1):
        report = simulate(seed, arguments.program)
        faults.update(report.faults)
        if report.problem is not None:
            bad.append(seed)
        if arguments.trace:
            print(report.render())
        elif report.problem is not None:
            print(f"seed {seed} ({report.program}): {report.problem}")
    print(f"{time.monotonic() - began:.1f} s; {sum(faults.values())} faults; seeds that failed: {bad}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
