"""The start, cold: from the command to the first row of a bounded job of three lines, beside bare PySpark.

    python -m benchmarks.start [--turns 5] [--plain | --session]

Ours is ``millrace run`` of a program with one map. The other side is a PySpark program that does the same with
``mapInArrow`` and collects, on ``local[2]``, with an archive of its own classes (made first, by such a run). Both print
when what happened, so that the time is told in steps; the sides alternate, and medians are told. Beside the time stands
the processor time of all processes of a side up to the first row, which counts on a machine that has other work.
Wanted: 0.8 of PySpark's time at most, 0.6 is the aim. ``--plain`` adds the program without the command, as
``python program.py``.

With ``--session`` the same program is run on a session that stays, which this starts and stops. Wanted: its first row
within a second. The processor time is then that of all processes, those of the session, too.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

BAR, SESSION_SECONDS = 0.8, 1.0
STEPS = ("program", "JVM", "session", "plan", "worker", "row")
"""what has happened by then: the program's first line runs, the JVM answers, there is a session, the plan is ready, a
Python worker has its first row, the program has printed it"""

PROBES = """
import os, sys, time

def step(name):
    with open(os.environ["START_STEPS"], "a") as file:
        file.write(f"{name} {time.time()}\\n")

step("program")

def after(owner, name, told):
    call = getattr(owner, name)
    def telling(*arguments, **named):
        found = call(*arguments, **named)
        step(told)
        return found
    setattr(owner, name, telling)

def before(owner, name, told):
    call = getattr(owner, name)
    def telling(*arguments, **named):
        step(told)
        return call(*arguments, **named)
    setattr(owner, name, telling)

def of_sessions(module):
    import pyspark
    after(pyspark.SparkContext, "_ensure_initialized", "JVM")
    after(module.SparkSession.Builder, "getOrCreate", "session")

def of_frames(module):
    before(module.DataFrame, "collect", "plan")

class Watch:
    # wraps modules of PySpark when they have been imported, so that nothing is imported for the sake of the probes
    wanted = {"pyspark.sql.session": of_sessions, "pyspark.sql.classic.dataframe": of_frames}

    def find_spec(self, name, path=None, target=None):
        probe = self.wanted.pop(name, None)
        if probe is None:
            return None
        import importlib.util
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module
        def loaded(module):
            load(module)
            probe(module)
        spec.loader.exec_module = loaded
        return spec

sys.meta_path.insert(0, Watch())
"""
OURS = (
    PROBES
    + """
from millrace.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_collection([1, 2, 3, 4]).map(lambda v: f"row {v} {time.time()}").print()
env.execute("three lines")
"""
)
THEIRS = (
    PROBES
    + """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.driver.extraJavaOptions", sys.argv[1]).getOrCreate()
def rows(batches):
    import pyarrow as pa
    for batch in batches:
        yield pa.record_batch([pa.array([f"row {v} {time.time()}" for v in batch.column(0).to_pylist()])], ["t"])
for row in spark.createDataFrame([(v,) for v in (1, 2, 3, 4)], "v long").mapInArrow(rows, "t string").collect():
    print(row.t, flush=True)
spark.stop()
"""
)


@dataclass(frozen=True)
class Start:
    """One start of a side."""

    steps: dict[str, float]
    """what had happened how many seconds after the command"""
    processor: float
    """seconds of all processes until the first row was printed"""


def start(command: list[str], folder: Path, beside: int | None = None) -> Start:
    """Run a side to its end, which must be a good one.

    :param beside: a process that does a part of the work.
    """
    steps = folder / "steps"
    steps.unlink(missing_ok=True)
    environment = os.environ | {"START_STEPS": str(steps), "PYSPARK_PYTHON": sys.executable}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else our modules are compiled at every start, PySpark's are not
    before = 0.0 if beside is None else processor_seconds(beside)
    began = time.time()
    with (
        open(folder / "errors", "w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as run,
    ):
        assert run.stdout is not None
        line = run.stdout.readline()
        while line and "row" not in line:
            line = run.stdout.readline()
        ended = time.time()
        processor = processor_seconds(run.pid) + (0.0 if beside is None else processor_seconds(beside) - before)
        rows = [text for text in [line, *run.stdout] if "row" in text]
    assert run.returncode == 0 and len(rows) == 4, (run.returncode, rows, (folder / "errors").read_text()[-2000:])
    found = {"worker": min(float(text.split()[-1]) for text in rows) - began, "row": ended - began}
    for text in steps.read_text().splitlines() if steps.exists() else []:
        name, moment = text.split()
        found.setdefault(name, float(moment) - began)
    return Start(found, processor)


def processor_seconds(pid: int) -> float:
    """What a process and all below it, with those that have ended, have used."""
    total = 0.0
    process = psutil.Process(pid)
    for each in [process, *process.children(recursive=True)]:
        try:
            total += sum(each.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return total


@contextlib.contextmanager
def session(folder: Path) -> Iterator[int]:
    """A session of its own inside: the number of its supervisor."""
    os.environ["MILLRACE_RUN_DIR"] = str(folder / "run")
    command = [sys.executable, "-m", "millrace", "session"]
    subprocess.run([*command, "start"], check=True)
    try:
        status = subprocess.run([*command, "status"], check=True, capture_output=True, text=True).stdout
        yield int(status.partition("process ")[2].split()[0])
    finally:
        subprocess.run([*command, "stop"], check=True)


def make_archive(folder: Path, program: Path) -> str:
    """The options that use an archive of the classes that the PySpark program loads."""
    path, quiet = folder / "classes.jsa", "-Xlog:disable -Xlog:all=error:stderr"
    start([sys.executable, str(program), f"-XX:ArchiveClassesAtExit={path} {quiet}"], folder)
    until = time.monotonic() + 300
    while not path.exists():  # the JVM writes it when its driver has ended
        assert time.monotonic() < until, "no archive for 300 s"
        time.sleep(0.2)
    time.sleep(2)
    return f"-XX:SharedArchiveFile={path} {quiet}"


def told(side: str, runs: list[Start]) -> float:
    medians = {name: statistics.median(run.steps.get(name, 0.0) for run in runs) for name in STEPS}
    parts, last = [], 0.0
    for name in STEPS:
        if medians[name]:
            parts.append(f"{name} {max(medians[name] - last, 0.0):.2f}")
            last = max(medians[name], last)
    processor = statistics.median(run.processor for run in runs)
    print(f"{side:9} {medians['row']:6.2f} s, processor {processor:5.2f} s: {', '.join(parts)}", flush=True)
    return medians["row"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--plain", action="store_true", help="also without the command")
    other.add_argument("--session", action="store_true", help="on a session that stays, alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="millrace-start-") as name:
        folder = Path(name)
        (ours := folder / "ours.py").write_text(OURS)
        (theirs := folder / "theirs.py").write_text(THEIRS)
        run = [sys.executable, "-m", "millrace", "run"]
        start([*run, "-t", "local", str(ours)], folder)  # not measured: it may have to compile
        if arguments.session:
            with session(folder) as supervisor:
                runs = [start([*run, str(ours)], folder, supervisor) for _ in range(arguments.turns)]
            row = told("session", runs)
            print(f"the first row after {row:.2f} s; wanted: {SESSION_SECONDS} at most")
            return
        options = make_archive(folder, theirs)
        sides: dict[str, tuple[list[str], list[Start]]] = {
            "PySpark": ([sys.executable, str(theirs), options], []),
            "Millrace": ([*run, "-t", "local", str(ours)], []),
        }
        if arguments.plain:
            sides["plain"] = ([sys.executable, str(ours)], [])
        for _ in range(arguments.turns):
            for command, runs in sides.values():
                runs.append(start(command, folder))
        rows = {side: told(side, runs) for side, (_, runs) in sides.items()}
        processor = {side: statistics.median(run.processor for run in runs) for side, (_, runs) in sides.items()}
        print(
            f"ratio {rows['Millrace'] / rows['PySpark']:.2f}, of processor time "
            f"{processor['Millrace'] / processor['PySpark']:.2f}; wanted: {BAR} at most"
        )


if __name__ == "__main__":
    main()
