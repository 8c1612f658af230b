"""Variables of modules that may hold a job's settings are found, and threads that lose them."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.house.process_state import process_state
from scripts.house.tree import read_tree
from tests.house.test_layers import write

FOUND = {
    "runtime/a.py": ("x = 1\n\ndef f():\n    global x\n    x = 2\n", "millrace.runtime.a:4 changes x"),
    "connectors/a.py": (
        "import threading\n\nthreading.Thread(target=print)\n",
        "millrace.connectors.a:3 starts a thread",
    ),
    "checkpoint/a.py": ("with ThreadPoolExecutor(2) as pool:\n    pass\n", "millrace.checkpoint.a:1 starts a thread"),
    "spark/job_records.py": ("x = 1\n", "millrace.spark.job_records changes no variable of its own any more"),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_may_belong_to_a_job_is_found(tmp_path: Path, name: str) -> None:
    text, said = FOUND[name]
    write(tmp_path, {name: text})
    (line,) = process_state(read_tree(tmp_path))
    assert line.startswith(said)


def test_threads_of_a_job_and_of_the_command_are_fine(tmp_path: Path) -> None:
    write(tmp_path, {"runtime/a.py": "JobThread(target=print)\n", "cli/a.py": "threading.Thread(target=print)\n"})
    assert list(process_state(read_tree(tmp_path))) == []
