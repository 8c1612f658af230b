"""Everything that is compared with Flink, one program after the other: what docs/performance.md begins with.

    python -m benchmarks.beside_flink --flink-python pyflink-env/bin/python [--only nexmark,shapes] [--turns 1]

Takes about an hour on two cores, with nothing beside it: a clock says little on a machine that does something else.
The environment is that of the sides of each program: an interpreter with ``apache-flink`` installed, Java, and
PostgreSQL for ``jdbc`` and the look-ups of ``shapes``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable

Arguments = Callable[[str, int], list[str]]
"""(the interpreter with PyFlink, how often) -> of a program"""

PROGRAMS: dict[str, Arguments] = {
    "nexmark": lambda python, turns: ["--flink-python", python, "--turns", str(turns)],
    "shapes": lambda python, turns: ["--flink-python", python, "--turns", str(turns)],
    "tpc": lambda python, turns: [
        *("--scale", "0.1", "--turns", str(turns), "--against-spark", "--flink-python", python)
    ],
    "table_udfs": lambda python, turns: ["--pyflink-python", python, "--runs", str(turns)],
    "datastream": lambda python, turns: ["--pyflink-python", python, "--runs", str(turns)],
    "jdbc": lambda python, turns: ["--flink-python", python, "--keys", "1000000", "--rounds", str(turns)],
    "start": lambda python, turns: ["--turns", str(turns + 1)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flink-python", required=True, metavar="PYTHON", help="interpreter with apache-flink")
    parser.add_argument("--only", default=",".join(PROGRAMS), help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--turns", type=int, default=1)
    given = parser.parse_args()
    names = given.only.split(",")
    if not set(names) <= set(PROGRAMS):
        parser.error(f"programs are {', '.join(PROGRAMS)}")
    failed = []
    for name in names:
        print(f"\n## {name}: {dt.date.today()}, {platform.machine()}, {os.cpu_count()} cores", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", *PROGRAMS[name](given.flink_python, given.turns)]
        began = time.perf_counter()
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
        print(f"({time.perf_counter() - began:.0f} s; load now {os.getloadavg()[0]:.1f})", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
