"""Replays a simulation, or runs many.

python -m tests.simulation 4711 --trace
python -m tests.simulation 0-1999
python -m tests.simulation 17 --damage
python -m tests.simulation 17 --flow
python -m tests.simulation 17 --fault "driver dies" commit
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from functools import partial

from tests.simulation.programs import PROGRAMS
from tests.simulation.simulation import simulate, simulate_damage, simulate_fault, simulate_flow


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description="Replay a simulation, or run many.")
    parser.add_argument("seeds", help="a seed, or the first and the last one: 0-1999")
    parser.add_argument("--trace", action="store_true", help="print all that happened, also if nothing went wrong")
    parser.add_argument("--program", choices=sorted(PROGRAMS), help="instead of the one that the seed chooses")
    parser.add_argument("--damage", action="store_true", help="instead of all other faults: one damaged file")
    parser.add_argument("--flow", action="store_true", help="all tasks at the same time, not stage by stage")
    parser.add_argument("--fault", nargs=2, metavar=("KIND", "WHERE"), help="is sure to come beside all others")
    arguments = parser.parse_args()
    run = simulate_damage if arguments.damage else simulate_flow if arguments.flow else simulate
    if arguments.fault:
        run = partial(simulate_fault, fault=tuple(arguments.fault))
    first, _, last = arguments.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    faults: Counter[str] = Counter()
    bad: list[int] = []
    began = time.monotonic()
    for seed in seeds:
        report = run(seed, program=arguments.program)
        faults.update({kind: count for (kind, _), count in report.faults.items()})
        if report.problem is not None:
            bad.append(seed)
        if arguments.trace or (report.problem is not None and len(seeds) == 1):
            print(report.render())
        elif report.problem is not None:
            print(f"seed {seed} ({report.program}): {report.problem}")
    took = time.monotonic() - began
    print(f"{len(seeds)} seeds in {took:.1f} s; {sum(faults.values())} faults; failed: {bad or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
