"""A cluster of Millrace's own: how soon a job's first line is there, and many jobs at once.

    python -m benchmarks.cluster [--jobs 20] [--turns 5]

A word count of one line is run by ``millrace run`` on a warm cluster, and in the foreground with a Spark of its own;
told is the time from the command to its first line. Then so many of them are started at once: told are the time until
all have ended, whether each has printed all of its lines, and the most memory that the processes of the cluster took
together. Wanted: the first line within 1.5 s, none of 20 jobs lost, 6 GB at the most.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

BAR_SECONDS, BAR_GB = 1.5, 6.0
LINES = ["(be,1)", "(or,1)", "(not,1)", "(be,2)", "(to,1)", "(to,2)"]
PROGRAM = """
from millrace.common import Types
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
words = env.from_collection("to be or not to be".split(), Types.STRING())
pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.LONG()]))
pairs.key_by(lambda pair: pair[0]).sum(1).print()
env.execute("word count")
"""


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "millrace", *words]


def first_line(*words: str) -> float:
    """Seconds from a command to its first line; it must print all of them."""
    began = time.monotonic()
    with subprocess.Popen(command(*words), stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        took = time.monotonic() - began
        found = [line, *running.stdout]
    assert is_right(found), found
    return took


def is_right(lines: list[str]) -> bool:
    return sorted(line.strip() for line in lines if line.startswith("(")) == sorted(LINES)


class Memory:
    """The most that processes whose command line names a folder took together, in GB."""

    def __init__(self, folder: str) -> None:
        self.most = 0.0
        self._folder = folder
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._ended.wait(0.5):
            total = 0
            for process in psutil.process_iter(["environ", "memory_info"]):
                environment, memory = process.info["environ"] or {}, process.info["memory_info"]
                if memory is not None and environment.get("MILLRACE_RUN_DIR") == self._folder:
                    total += memory.rss
            self.most = max(self.most, total / 1e9)

    def end(self) -> float:
        self._ended.set()
        self._thread.join()
        return self.most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-cluster-") as folder:
        os.environ["MILLRACE_RUN_DIR"] = folder
        program = Path(folder) / "words.py"
        program.write_text(PROGRAM)
        subprocess.run(command("cluster", "start"), check=True, stdout=subprocess.DEVNULL)
        memory = Memory(folder)
        try:
            first_line("run", str(program))
            warm = [first_line("run", str(program)) for _ in range(given.turns)]
            alone = [first_line("run", "-t", "local", str(program)) for _ in range(2)]
            began = time.monotonic()
            jobs = [
                subprocess.Popen(command("run", str(program)), stdout=subprocess.PIPE, text=True)
                for _ in range(given.jobs)
            ]
            right = sum(is_right(job.communicate()[0].splitlines()) for job in jobs)
            together = time.monotonic() - began
        finally:
            most = memory.end()
            subprocess.run(command("cluster", "stop"), check=True, stdout=subprocess.DEVNULL)
    print(json.dumps({"first line, warm cluster (s)": warm, "with a Spark of its own (s)": alone}))
    ratio = statistics.median(warm) / statistics.median(alone)
    print(f"first line on a warm cluster: {statistics.median(warm):.2f} s (bar {BAR_SECONDS}), ratio {ratio:.2f}")
    print(f"{right} of {given.jobs} jobs at once are right, in {together:.1f} s; {most:.1f} GB (bar {BAR_GB})")


if __name__ == "__main__":
    main()
