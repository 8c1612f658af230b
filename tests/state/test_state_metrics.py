"""The metrics of stores of keyed state, and the sizes of states, of whole jobs against what is in their tables."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.checkpoint.jobs import SavedJob
from tests.state.test_query_tables import CASES, Case, orders, people
from tests.table.programs.program import Program, Source
from tests.table.programs.running import bound, job_of

from millrace.common import Configuration
from millrace.datastream import StreamExecutionEnvironment
from millrace.metrics.report import GaugeSnapshot
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.disk.plan import OnDisk

JOIN, GROUPS = CASES[0], CASES[4]
EPOCHS = 8


def tables() -> tuple[Source, Source]:
    draw = random.Random(3)
    return people(draw), orders(draw)


def run(case: Case, directory: Path, on_disk: bool, told: bool = True) -> SavedJob:
    """A job with one subtask after some epochs, each of which has read a row of each table."""
    made = bound(Program(case.name, case.sql, tables(), only="streaming", why="epochs", paced=True))
    job = replace(job_of(made, random.Random(3), 1), state_metrics=told)
    if on_disk:
        job = replace(job, state=OnDisk((str(directory / "local"),), rows_memory=0))
    saved = SavedJob(job, directory / "job", workers=1)
    for _ in range(EPOCHS):
        saved.epoch()
    return saved


def figures(job: SavedJob, operator: str) -> dict[str, Any]:
    """Name of a metric, with its groups -> value."""
    entries = [each for each in job.coordinator.report().entries if (each.operator or "").startswith(operator)]
    mine = [each for each in entries if each.path[0] in ("stateStore", "taskStore")]
    found = {each.name: each.value.value for each in mine if isinstance(each.value, GaugeSnapshot)}
    assert len(found) == len({each.name for each in mine}), "all are gauges"
    return found


def read(table: Source) -> list[tuple[Any, ...]]:
    return [row for _, row in table.changelog][:EPOCHS]


def test_states_in_memory_tell_their_entries_and_bytes(tmp_path: Path) -> None:
    found = figures(run(JOIN, tmp_path, on_disk=False), "Join")
    read_orders = [row for row in read(tables()[1]) if row[0] is not None]
    assert found["stateStore.left.estimate-num-keys"] == len(read_orders)
    assert found["stateStore.left.block-cache-usage"] > 0
    assert found["stateStore.right.estimate-num-keys"] == 6
    assert not any(name.startswith("taskStore") for name in found)


def test_states_on_disk_tell_what_they_read_and_write(tmp_path: Path) -> None:
    job = run(JOIN, tmp_path, on_disk=True)
    found, left = figures(job, "Join"), "stateStore.left."
    files = [path.stat().st_size for path in (tmp_path / "local").rglob("*.run")]
    assert found[f"{left}num-files"] <= len(files)
    assert 0 < found[f"{left}total-sst-files-size"] <= sum(files)
    assert (
        found[f"{left}bytes-written"] >= found[f"{left}total-sst-files-size"] - found[f"{left}compaction-write-bytes"]
    )
    assert 0 < found[f"{left}estimate-num-keys"] <= EPOCHS
    # Each row of the other side looks for its key, and none may stay in memory unchanged.
    assert found[f"{left}block-cache-capacity"] == 0
    assert found[f"{left}block-cache-hit"] + found[f"{left}block-cache-miss"] > 0
    assert all(value >= 0 for value in found.values())


def test_the_environment_of_a_task_tells_its_size_once(tmp_path: Path) -> None:
    job = run(JOIN, tmp_path, on_disk=True)
    uids = [entry.uid for entry in job.coordinator.report().entries if entry.path == ("taskStore", "map-size")]
    stages = [info.stage for info in job.job.operators if info.uid in uids]
    assert 0 < len(uids) == len(set(stages))
    found = {name: value for each in job.job.operators for name, value in figures(job, each.name).items()}
    assert 0 < found["taskStore.used-bytes"] < found["taskStore.map-size"]
    assert found["taskStore.num-entries"] > 0
    assert 0 < found["taskStore.num-writes"] <= EPOCHS


def test_without_the_option_there_are_none(tmp_path: Path) -> None:
    assert not figures(run(GROUPS, tmp_path, on_disk=False, told=False), "")


def test_the_option() -> None:
    def job(value: str | None) -> JobGraph:
        configuration = Configuration()
        if value is not None:
            configuration.set_string("millrace.state.metrics", value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.from_collection([1]).print()
        return env.job_graph()

    assert [job(each).state_metrics for each in (None, "false", "true")] == [False, False, True]


def test_what_over_and_sessions_retain_is_counted_in_rows(tmp_path: Path) -> None:
    retained = {row[1] for row in read(tables()[1])}
    assert figures(run(CASES[10], tmp_path, on_disk=False), "WindowAggregate")[
        "stateStore.sessions.estimate-num-keys"
    ] == len(retained)
    assert (
        figures(run(CASES[11], tmp_path / "over", on_disk=False), "OverAggregate")["stateStore.kept.estimate-num-keys"]
        == EPOCHS
    )
