"""Plain Spark and Flink on the same files, each in a process of its own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.tpc.data import Workload
from millrace.testing.services.downloads import jars

PARALLELISM = 2
FLINK = "2.3.0"
_HERE = Path(__file__).resolve().parent
Times = dict[str, float | str]
"""query -> seconds, or why it failed"""


def spark_times(workload: Workload, turns: int, settings: Mapping[str, str]) -> Times:
    """Plain Spark SQL with its defaults.

    :param settings: what else it is told.
    """
    return _times(sys.executable, "spark_program.py", workload, {**_work(workload, turns), "spark": dict(settings)})


def flink_times(python: str, workload: Workload, turns: int) -> Times:
    """Flink's batch mode.

    :param python: an interpreter that has apache-flink.
    """
    settings = {
        "parallelism.default": str(PARALLELISM),
        "table.local-time-zone": "UTC",
        "pipeline.jars": ";".join(f"file://{jar}" for jar in parquet_jars()),
        "taskmanager.memory.managed.size": "1gb",
        "taskmanager.memory.network.min": "256mb",
        "taskmanager.memory.network.max": "256mb",
        "taskmanager.numberOfTaskSlots": "16",
    }
    return _times(python, "flink_program.py", workload, {**_work(workload, turns), "flink": settings})


def parquet_jars() -> list[Path]:
    """Flink's format, and the classes of Hadoop that it names: PySpark has them."""
    spec = find_spec("pyspark")
    assert spec is not None and spec.origin is not None
    hadoop = Path(spec.origin).parent.glob("jars/hadoop-client-*.jar")
    format = jars("flink-parquet", f"org.apache.flink:flink-sql-parquet:{FLINK}")
    return [*sorted(format.glob("flink-sql-parquet*.jar")), *sorted(hadoop)]


def _work(workload: Workload, turns: int) -> dict[str, Any]:
    return {
        "parallelism": PARALLELISM,
        "turns": turns,
        "first": workload.first(),
        "tables": {name: str(path) for name, path in workload.tables.items()},
        "ddl": workload.ddl(),
        "queries": {name: query.text for name, query in workload.queries.items()},
    }


def _times(python: str, program: str, workload: Workload, work: dict[str, Any]) -> Times:
    """Query -> the median of its turns."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(work, file)
        file.flush()
        path = os.pathsep.join([os.path.dirname(os.path.abspath(python)), os.environ["PATH"]])
        environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")}
        command = [python, str(_HERE / program), file.name]
        done = subprocess.run(command, capture_output=True, text=True, env={**environ, "PATH": path}, check=False)
    answers: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, answer = line.partition("\t")
        if name in workload.queries:
            answers.setdefault(name, []).append(answer)
    if not answers:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return {name: _median(found) for name, found in answers.items()}


def _median(answers: list[str]) -> float | str:
    failed = next((each for each in answers if each.startswith("failed")), None)
    return failed or statistics.median(map(float, answers))
