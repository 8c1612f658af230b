"""Python functions in a streaming SQL query: rows/s from ``datagen`` through a function into ``blackhole``.

    python -m benchmarks.table_udfs [--pyflink-python pyflink-env/bin/python]

The PyFlink of PYTHON, if one is given, runs the same program (``pyflink_table_udfs.py``) in the same run, in thread
mode for the function of rows, its fastest; the function of columns has process mode only. Each side runs on a small and
a large input; the speed is the difference of the rows by the difference of the jobs' own run times, so that neither
side pays for its start. Source, function and sink have a parallelism of two. The same by the processor time of all
processes of a program is rows per CPU second, which says more on a machine that does other things, too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import psutil

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyflink_table_udfs.py")
FUNCTIONS = {"row": "function of rows", "pandas": "function of columns"}


@dataclass(frozen=True)
class Run:
    """What a program took, in seconds."""

    net: float
    """by its own clock"""
    cpu: float
    """of all its processes"""


def run(command: list[str]) -> Run:
    """Raises ``RuntimeError`` when the program fails."""
    # PyFlink starts whatever "python" it finds for its workers.
    path = os.pathsep.join([os.path.dirname(os.path.abspath(command[0])), os.environ["PATH"]])
    with tempfile.TemporaryFile("w+") as out:
        process = psutil.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "PATH": path})
        seen: dict[int, float] = {}
        while process.poll() is None:
            with contextlib.suppress(psutil.Error):
                for each in [process, *process.children(recursive=True)]:
                    times = each.cpu_times()
                    seen[each.pid] = times.user + times.system
            time.sleep(0.2)
        out.seek(0)
        text = out.read()
    found = re.search(r"net runtime (\d+) ms", text)
    if process.returncode or found is None:
        raise RuntimeError(f"{' '.join(command)} failed:\n{text[-2000:]}")
    return Run(int(found[1]) / 1000, sum(seen.values()))


def rows_per_second(command: list[str], small: int, large: int, runs: int) -> tuple[float, float]:
    """By the clock and by processor time; the medians of ``runs`` measurements."""
    clock, cpu = [], []
    for _ in range(runs):
        first, second = run([*command, str(small)]), run([*command, str(large)])
        if second.net <= first.net or second.cpu <= first.cpu:
            raise RuntimeError(f"{small:,} rows took {first}, and {large:,} rows {second}: give more --rows")
        clock.append((large - small) / (second.net - first.net))
        cpu.append((large - small) / (second.cpu - first.cpu))
    return statistics.median(clock), statistics.median(cpu)


def shown(side: str, speeds: tuple[float, float]) -> str:
    return f"{side:8} {speeds[0]:>11,.0f} rows/s {speeds[1]:>11,.0f} rows/CPU s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyflink-python", metavar="PYTHON", help="interpreter with apache-flink installed")
    parser.add_argument("--rows", type=int, default=20_000_000, help="of the large input; PyFlink gets a tenth")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--function", choices=FUNCTIONS, action="append", help="only this one")
    given = parser.parse_args()
    for function in given.function or FUNCTIONS:
        title = FUNCTIONS[function]
        millrace = [sys.executable, "-m", "millrace", "run", "--pyflink", PROGRAM, function]
        ours = rows_per_second(millrace, given.rows // 20, given.rows, given.runs)
        print(f"{title:20} {shown('millrace', ours)}", flush=True)
        if given.pyflink_python:
            pyflink = [given.pyflink_python, PROGRAM, function]
            theirs = rows_per_second(pyflink, given.rows // 200, given.rows // 10, given.runs)
            faster = f"{ours[0] / theirs[0]:.1f} times as fast, {ours[1] / theirs[1]:.1f} times by CPU time"
            print(f"{'':20} {shown('PyFlink', theirs)}; millrace is {faster}", flush=True)
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
