"""Forks find what they need imported: what is missing here, each owner would import for each job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.owners.driving import OwnedJob

from millrace.datastream import StreamExecutionEnvironment

PROGRAM = """
import pickle, sys
from millrace.spark.owners.warm import warm_up
warm_up()
known = set(sys.modules)
from millrace.spark.running import Running
running = Running()
running.take("job", open(sys.argv[1], "rb").read())
running._jobs["job"].load()
print(*sorted(name for name in set(sys.modules) - known if name.startswith("millrace")))
"""


def test_a_job_is_loaded_without_an_import(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    counts = env.from_collection(["a", "b"]).map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    job = OwnedJob(counts, tmp_path / "state")
    (tmp_path / "job").write_bytes(job.payload)
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "job")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
