"""The same PyFlink program on PyFlink (thread mode, and process mode if asked for) and, unchanged, on Millrace.

Needs an interpreter that has PyFlink in an environment of its own (its requirements clash with PySpark's):

    python -m venv pyflink-env && pyflink-env/bin/pip install apache-flink==2.3.0
    python -m benchmarks.against_pyflink --pyflink-python pyflink-env/bin/python

Each side runs twice, on a small and on a large input; the speed is the difference of the events by the difference of
the jobs' own run times, so that neither side pays for its start.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyflink_program.py")


def write_lines(directory: str, events: int, keys: int, files: int = 4) -> str:
    os.makedirs(directory)
    random = np.random.default_rng(3)
    for number, share in enumerate(np.array_split(np.arange(events), files)):
        keys_of = random.integers(0, keys, len(share))
        values = random.integers(0, 1000, len(share))
        with open(os.path.join(directory, f"part-{number}.txt"), "w") as file:
            file.writelines(f"{key},{value}\n" for key, value in zip(keys_of, values))
    return directory


def net_runtime_ms(command: list[str]) -> int:
    """What the program says of its own run time."""
    # PyFlink starts whatever "python" it finds for its workers.
    path = os.pathsep.join([os.path.dirname(os.path.abspath(command[0])), os.environ["PATH"]])
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    found = re.search(r"net runtime (\d+) ms", done.stdout)
    if done.returncode or found is None:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return int(found[1])


def events_per_second(command: list[str], inputs: list[tuple[int, str]], mode: str) -> float:
    (small, small_input), (large, large_input) = inputs
    first = net_runtime_ms([*command, PROGRAM, small_input, mode])
    second = net_runtime_ms([*command, PROGRAM, large_input, mode])
    return (large - small) / (second - first) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pyflink-python", required=True, help="interpreter with apache-flink installed")
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--process-mode", action="store_true", help="also PyFlink's default mode (slow)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:

        def inputs(small: int, large: int) -> list[tuple[int, str]]:
            pairs = []
            for events in (small, large):
                path = os.path.join(base, str(events))
                pairs.append((events, path if os.path.exists(path) else write_lines(path, events, given.keys)))
            return pairs

        millrace = [sys.executable, "-m", "millrace", "run", "--pyflink"]
        ours = events_per_second(millrace, inputs(100_000, 2_100_000), "thread")
        print(f"millrace               {ours:>9,.0f} events/s", flush=True)
        modes = [("thread", inputs(50_000, 350_000))]
        if given.process_mode:
            modes.append(("process", inputs(5_000, 35_000)))
        for mode, files in modes:
            theirs = events_per_second([given.pyflink_python], files, mode)
            print(f"pyflink {mode:7} mode   {theirs:>9,.0f} events/s   millrace is {ours / theirs:.1f} times as fast")
        print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
