"""The queries of Nexmark on Flink SQL beside ours.

Both read the same events, but not in the same way: Flink has no source of them, so it reads CSV files that are written
before; Millrace's sources make them. What that costs shows in q0, which does nothing else. Each query of Flink has the
run time that its job tells, so neither side pays for its start; processor time includes planning on both sides. Flink
keeps its state in memory, has parallelism 2, and mini-batches if asked for.

q14's function is Python on both sides (Flink: thread mode).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.session import BID_NOW, PARALLELISM, environment, sink_columns
from benchmarks.nexmark.tables import BLOCK, COLUMNS, SIDE_ROWS, ddl, rows_of, side_word

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flink_program.py")
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
}


class Taken(NamedTuple):
    """What a query takes, in seconds."""

    time: float
    processors: float


def compare(python: str, events: int, ours: Mapping[str, Taken], settings: Mapping[str, str]) -> None:
    """Run the same queries on Flink, print both times and their ratio.

    :param python: an interpreter that has apache-flink installed.
    :param ours: query -> what it took.
    :param settings: what else Flink is told.
    """
    theirs = flink_times(python, events, list(ours), settings)
    print("\n      time: millrace, flink, times as fast     processors: millrace, flink, ratio")
    both = {name: (ours[name], found) for name, found in theirs.items() if isinstance(found, Taken)}
    for name in ours:
        print(f"{name:5} {_line(*both[name])}" if name in both else f"{name:5} Flink: {theirs.get(name, 'no answer')}")
    mine, other = (Taken(*map(sum, zip(*side))) for side in zip(*both.values()))
    print(f"all   {_line(mine, other)}   ({len(both)} queries that both run)")
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


def _line(ours: Taken, theirs: Taken) -> str:
    parts = [f"{one:8.2f} s {other:8.2f} s {other / one:6.1f}" for one, other in zip(ours, theirs)]
    return "      ".join(parts)


def flink_times(python: str, events: int, names: list[str], settings: Mapping[str, str]) -> dict[str, Taken | str]:
    """Query -> what it takes on Flink, or why it does not run."""
    with tempfile.TemporaryDirectory() as base:
        write_events(base, Settings(events=events))
        given = os.path.join(base, "queries.json")
        with open(given, "w") as file:
            json.dump(_program(base, names, settings), file)
        # PyFlink starts whatever "python" it finds for its workers.
        path = os.pathsep.join([os.path.dirname(os.path.abspath(python)), os.environ["PATH"]])
        environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
        command = [python, PROGRAM, given]
        done = subprocess.run(command, capture_output=True, text=True, env={**environ, "PATH": path}, check=False)
    found: dict[str, Taken | str] = {}
    for line in done.stdout.splitlines():
        name, _, answer = line.partition(" ")
        if name in names:
            found[name] = answer if answer.startswith("failed") else _taken(*answer.split())
    if not found:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return found


def _taken(millis: str, processors: str) -> Taken:
    return Taken(int(millis) / 1000, float(processors))


def _program(base: str, names: list[str], settings: Mapping[str, str]) -> dict[str, Any]:
    events = Settings()
    tables = [_over_files(ddl(kind, events), os.path.join(base, kind)) for kind in COLUMNS]
    side = "CREATE TEMPORARY TABLE side (number BIGINT, word STRING)"
    tables.append(_over_files(f"{side} WITH ()", os.path.join(base, "side")))
    session = environment(Settings(events=1))
    queries = {
        name: {"sql": _quoted(QUERIES[name]), "columns": sink_columns(session.sql_query(QUERIES[name]))}
        for name in names
    }
    return {
        "parallelism": PARALLELISM,
        "settings": dict(settings),
        "ddl": [*map(_quoted, tables), BID_NOW],
        "queries": queries,
    }


def _quoted(statement: str) -> str:
    """DATETIME is a reserved word in Flink."""
    return re.sub(r"\bdateTime\b", "`dateTime`", statement)


def _over_files(statement: str, path: str) -> str:
    columns = statement.partition(" WITH (")[0]
    return f"{columns} WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'csv')"


def write_events(base: str, settings: Settings) -> None:
    """A folder for each kind, with a file for each subtask: blocks in turn, so that event time goes on evenly."""
    for kind, columns in COLUMNS.items():
        places = range(columns.count(",") + 1)
        os.makedirs(os.path.join(base, kind))
        for subtask in range(PARALLELISM):
            starts = np.arange(subtask * BLOCK, settings.events, PARALLELISM * BLOCK).tolist()
            path = os.path.join(base, kind, f"part-{subtask}.csv")
            _write(path, [rows_of(kind, settings, places, at, min(at + BLOCK, settings.events)).batch for at in starts])
    os.makedirs(os.path.join(base, "side"))
    numbers = list(range(SIDE_ROWS))
    words = pa.record_batch([pa.array(numbers), pa.array(list(map(side_word, numbers)))], ["number", "word"])
    _write(os.path.join(base, "side", "part-0.csv"), [words])


def _write(path: str, batches: list[pa.RecordBatch]) -> None:
    with open(path, "wb") as file:
        for batch in batches:
            fields = [_shown(column) for column in batch.columns]
            csv.write_csv(pa.table(fields, batch.schema.names), file, csv.WriteOptions(include_header=False))


def _shown(column: pa.Array) -> pa.Array:
    """Times with milliseconds, as Flink reads them."""
    return column.cast(pa.timestamp("ms")) if pa.types.is_timestamp(column.type) else column
