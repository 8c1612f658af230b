"""Runs the work on a side, in a process of its own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.sides.work import Found, Taken, Work

PROGRAM = Path(__file__).with_name("program.py")
DEADLINE = 3_600
"""seconds for all queries of a side"""
MILLRACE = "millrace"
FLINK = "flink"


def measured(work: Work, sides: Sequence[str], flink_python: str | None, turns: int) -> dict[str, Found]:
    """Side -> what each query takes there, the median of the turns. The sides take turns."""
    found: dict[str, list[Found]] = {side: [] for side in sides}
    for turn in range(turns):
        for side in sides:
            took = once(work, side, flink_python)
            found[side].append(took)
            # Hours of work are not lost with the other side's error.
            told = ", ".join(f"{name} {each.wall:.2f}" for name, each in took.items() if isinstance(each, Taken))
            print(f"turn {turn + 1}: {side}, load {os.getloadavg()[0]:.1f}: {told}", file=sys.stderr, flush=True)
    return {side: _medians(each) for side, each in found.items()}


def _medians(turns: Sequence[Found]) -> Found:
    return {name: _median([turn[name] for turn in turns]) for name in turns[0]}


def _median(turns: Sequence[Taken | str]) -> Taken | str:
    took = [each for each in turns if isinstance(each, Taken)]
    if len(took) < len(turns):
        return next(each for each in turns if isinstance(each, str))
    return Taken(statistics.median(e.wall for e in took), statistics.median(e.processors for e in took))


def once(work: Work, side: str, flink_python: str | None) -> Found:
    """Query -> what it takes on a side."""
    if side == MILLRACE:
        return _run([sys.executable, "-m", "millrace", "run", "--pyflink"], work, {}, os.environ)
    if flink_python is None:
        raise SystemExit("Flink's side needs --flink-python, an interpreter that has apache-flink")
    # PyFlink starts whatever "python" it finds for its workers.
    path = os.pathsep.join([os.path.dirname(os.path.abspath(flink_python)), os.environ["PATH"]])
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
    settings = {"python.execution-mode": "thread", "pipeline.jars": ";".join(work.jars), **work.settings}
    return _run([flink_python], work, {key: each for key, each in settings.items() if each}, {**environ, "PATH": path})


def _run(python: list[str], work: Work, settings: Mapping[str, str], environ: Mapping[str, str]) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        given = os.path.join(folder, "work.json")
        with open(given, "w") as file:
            json.dump(work.as_json(settings), file)
        command = [*python, str(PROGRAM), given]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=dict(environ), cwd=folder, timeout=DEADLINE, check=False
            )
        except subprocess.TimeoutExpired as late:
            late_found = read((late.stdout or b"").decode(), work.queries)
            return {name: late_found.get(name, f"not at its end when {DEADLINE} s were over") for name in work.queries}
    found = read(done.stdout, work.queries)
    if done.returncode or not found:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return found


def read(text: str, names: Mapping[str, object]) -> Found:
    """What the program's lines say: the seconds on all rows less those on a few."""
    few: dict[str, tuple[float, float]] = {}
    found: Found = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name not in names:
            continue
        size, _, numbers = rest.partition(" ")
        if size == "failed":
            found[name] = numbers
            continue
        wall, processors = map(float, numbers.split())
        if size == "few":
            few[name] = (wall, processors)
        else:
            found[name] = Taken(wall - few[name][0], processors - few[name][1])
    return found
