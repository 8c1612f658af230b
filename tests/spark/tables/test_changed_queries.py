"""A changed query goes on from its savepoint on three executors, with another parallelism."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.tables.killed import killed
from tests.table.programs.test_changed_queries import table
from tests.table.programs.test_mapped_rows import MAPPED, given, job_of, saved, whole

from millrace.common import Row, RowKind

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.mark.parametrize(
    "is_killed",
    [pytest.param(False, id="untouched"), pytest.param(True, id="killed while it is restored")],
)
def test_a_changed_query_on_three_executors(is_killed: bool, tmp_path: Path) -> None:
    """An executor is killed, and the process of a task when it begins once more."""
    before, after, places = MAPPED["a full join of groups"]
    first, path = saved(tmp_path, job_of(before), "savepoint")
    program = [sys.executable, "-m", "tests.spark.tables.changed_query"]
    arguments = ["local-cluster[3,1,700]", path, str(tmp_path / "state"), after]
    kills = tmp_path / "killed"
    kills.mkdir()
    if is_killed:
        arguments.append(str(kills))
    said = subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=380)
    assert said.returncode == 0, said.stderr
    second = []
    for line in said.stdout.splitlines():
        if line.startswith("ROW "):
            kind, *values = json.loads(line.removeprefix("ROW "))
            second.append(Row(*values))
            second[-1].set_row_kind(RowKind(kind))
    assert killed(kills) == (["0 executor", "1 owner"] if is_killed else [])
    assert table([*given(first, places), *second]) == whole(tmp_path, after)
