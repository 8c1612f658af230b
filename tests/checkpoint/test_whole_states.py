"""Whole states and savepoints that are made from the files of tasks while the job runs on.

The oracle is the same program in one go, or the whole state that the task itself writes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import Build, SavedJob, collecting
from tests.checkpoint.test_rescaling import COUNT, KEYED, Positions, Rules, by_key, in_one_go, numbers
from tests.checkpoint.test_table_rescaling import QUERIES, program, table_of
from tests.checkpoint.whole_states import MadeLater

from millrace.checkpoint import merging, sections, task_file
from millrace.checkpoint.merging import TaskChain
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.coordination import compactions, snapshot
from millrace.runtime.coordination.coordinator import Trigger
from millrace.runtime.coordination.snapshot import TaskFiles
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.operator_state import OperatorStateBackend
from millrace.runtime.storage import TaskId, dumps

pytestmark = pytest.mark.draw(6)


def positions(env: StreamExecutionEnvironment) -> DataStream:
    return numbers(env).rebalance().map(Positions()).uid("positions")


def rules(env: StreamExecutionEnvironment) -> DataStream:
    sent = env.from_sequence(0, 2).uid("rules").set_parallelism(1).broadcast(Rules.rules)
    return numbers(env).rebalance().connect(sent).process(Rules()).uid("apply")


STREAMS: dict[str, Build] = {**KEYED, "positions": positions, "rules": rules}


@pytest.fixture(autouse=True)
def made_from_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be divided as if the state were large, and made into whole states often."""
    monkeypatch.setattr(task_file, "UNDIVIDED", 3)
    monkeypatch.setattr(sections, "LEAST_BYTES", 1)
    monkeypatch.setattr(merging, "RANGE_BYTES", 2_000)
    monkeypatch.setattr(compactions, "SMALL_BYTES", 0)
    monkeypatch.setattr(snapshot, "COMPACT_VERSIONS", 2)
    monkeypatch.setattr(snapshot, "TOGETHER", 1)


def run(job: SavedJob, made: MadeLater, every: int) -> None:
    """Run to the end, and make whole states after each so-many-th epoch. Tasks move to another worker in each epoch, so
    that each reads the files that there are."""
    while not job.coordinator.finished:
        job.epoch()
        job.coordinator.validate()
        if job.now % every == 0:
            made.finish()


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("name", KEYED)
def test_tasks_go_on_from_them(name: str, every: int, tmp_path: Path) -> None:
    build = KEYED[name]
    job = SavedJob(collecting(build, 2), tmp_path / "job", 1)
    made = MadeLater(job)
    run(job, made, every)
    assert made.written > 2
    assert by_key(job.collected) == by_key(in_one_go(build, tmp_path))


@pytest.mark.parametrize("every", [1, 2])
def test_tasks_with_state_on_disk_go_on_from_them(every: int, tmp_path: Path) -> None:
    """A copy finds the local store at a version before or after them, or rebuilds it from them."""
    build = KEYED["keyed_states"]
    graph = replace(collecting(build, 2), state=OnDisk((str(tmp_path / "local"),)))
    first = SavedJob(graph, tmp_path / "job", 1)
    made = MadeLater(first)
    for _ in range(7):
        first.epoch()
        if first.now % every == 0:
            made.finish()
    graph.state.discard(graph.job_id)  # its machine is lost
    heir = SavedJob(graph, tmp_path / "job", 1)
    heir.go_on()
    run(heir, MadeLater(heir), every)
    graph.state.discard(graph.job_id)
    assert made.written > 2
    assert by_key([*first.collected, *heir.collected]) == by_key(in_one_go(build, tmp_path))


@pytest.mark.parametrize("name", QUERIES)
def test_tables_go_on_from_them(name: str, tmp_path: Path) -> None:
    build = program(QUERIES[name])
    job = SavedJob(collecting(build, 2, epoch_records=10), tmp_path / "job", 1)
    made = MadeLater(job)
    run(job, made, 1)
    assert made.written > 2
    assert table_of(job.collected) == table_of(
        SavedJob(collecting(build, 1, epoch_records=30), tmp_path / "whole").finish()
    )


def content(job: SavedJob, task: TaskId, files: TaskFiles) -> dict[str, Any]:
    """uid -> the state of an operator in some files, as a copy of the task would have it."""
    groups = job.job.key_groups
    found: dict[str, Any] = {}
    keyed: dict[str, KeyedStateBackend] = {}
    shared: dict[str, OperatorStateBackend] = {}
    gates: dict[str, tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any]]] = {}
    chain = TaskChain(job.directory.shared, job.job.job_id, task, files, groups)
    for section, (part, operator, small, gate, _) in chain._read(lambda section: True):
        if part is not None:
            keyed.setdefault(section.uid, KeyedStateBackend()).apply(part)
        if operator is not None:
            shared.setdefault(section.uid, OperatorStateBackend()).apply(operator)
        if small is not None:
            found[f"{section.uid} small"] = dumps(small)
        if gate is not None:
            marks, idle, opened = gates.setdefault(section.uid, ({}, {}, {}))
            opened.update(gate[1])
            if gate[0] is not None:
                found[f"{section.uid} watermark"] = gate[0][0]
                marks.update(gate[0][1])
                idle.update(gate[0][2])
    found.update((f"{uid} keyed", whole) for uid, backend in keyed.items() if (whole := backend.full()))
    found.update((f"{uid} shared", whole) for uid, backend in shared.items() if (whole := backend.full()))
    found.update((f"{uid} gate", gate) for uid, gate in gates.items())
    return found


@pytest.mark.parametrize("name", STREAMS)
def test_they_hold_what_the_files_hold(name: str, tmp_path: Path) -> None:
    job = SavedJob(collecting(STREAMS[name], 2), tmp_path / "job", 1)
    made = MadeLater(job)
    found = 0
    for _ in range(8):
        job.epoch()
        before = {task: run.files for task, run in job.coordinator.compactions._running.items()}
        made.finish()
        job.epoch()
        for task, files in before.items():
            whole = job.coordinator._chains.tasks[task].files()
            assert whole.whole == files.last and whole.stored is not None
            alone = TaskFiles(whole.whole, whole.whole_bytes, 0, "", whole.whole_checksum, whole.whole_run)
            assert content(job, task, alone) == content(job, task, files)
            found += 1
    assert found > 3


def saved_while_it_runs_on(build: Build, tmp_path: Path) -> tuple[list[Any], list[Any]]:
    """Results up to a savepoint that is complete some epochs later, and those of a job that begins with it."""
    job = SavedJob(collecting(build, 2), tmp_path / "job", 1)
    made = MadeLater(job)
    for _ in range(4):
        job.epoch()
        made.finish()
    begun = job.begin_savepoint(tmp_path / "saved")
    before = list(job.collected)
    for _ in range(3):
        job.epoch()
        job.coordinator.validate()
    made.finish()
    begun()
    second = SavedJob(collecting(build, 3), tmp_path / "second", workers=1)
    second.restore(str(tmp_path / "saved"))
    return before, second.finish()


@pytest.mark.parametrize("name", KEYED)
def test_a_savepoint_is_made_while_the_job_runs_on(name: str, tmp_path: Path) -> None:
    before, after = saved_while_it_runs_on(KEYED[name], tmp_path)
    assert after
    assert by_key([*before, *after]) == by_key(in_one_go(KEYED[name], tmp_path))


@pytest.mark.parametrize("name", QUERIES)
def test_a_savepoint_of_tables_is_made_while_the_job_runs_on(name: str, tmp_path: Path) -> None:
    build = program(QUERIES[name])
    before, after = saved_while_it_runs_on(build, tmp_path)
    wanted = table_of(SavedJob(collecting(build, 1, epoch_records=30), tmp_path / "whole").finish())
    assert table_of([*before, *after]) == wanted


@pytest.mark.parametrize("build", [positions, rules])
def test_operator_state_in_a_savepoint_that_is_made_while_the_job_runs_on(build: Build, tmp_path: Path) -> None:
    before, after = saved_while_it_runs_on(build, tmp_path)
    assert sorted(value for value, *_ in [*before, *after]) == list(range(COUNT))
    if build is rules:
        assert all(known == {n: f"rule {n}" for n in range(3)} for _, known in after)
    else:
        known = tuple(sorted(value for value, *_ in before))
        assert {union for _, _, union in after[:3]} == {known}, "all get the union"


def test_a_process_that_ends_costs_nothing(tmp_path: Path) -> None:
    """The chain of files stays; the task writes its next whole state itself."""
    job = SavedJob(collecting(KEYED["keyed_states"], 2), tmp_path / "job", 1)
    made = MadeLater(job)
    direct = 0
    while not job.coordinator.finished:
        job.epoch()
        job.coordinator.validate()
        made.die()
        direct += sum(chain.whole > 0 and chain.stored is None for chain in job.coordinator._chains.tasks.values())
    assert made.written > 1 and direct
    assert by_key(job.collected) == by_key(in_one_go(KEYED["keyed_states"], tmp_path))


def test_another_driver_goes_on_from_them(tmp_path: Path) -> None:
    graph = collecting(KEYED["keyed_states"], 2)
    job = SavedJob(graph, tmp_path / "job", 1)
    made = MadeLater(job)
    for _ in range(7):
        job.epoch()
        made.finish()
    heir = SavedJob(graph, tmp_path / "job", 1)
    heir.go_on()
    assert any(chain.stored is not None for chain in heir.coordinator._chains.tasks.values())
    run(heir, MadeLater(heir), 2)
    assert by_key([*job.collected, *heir.collected]) == by_key(in_one_go(KEYED["keyed_states"], tmp_path))


def test_files_that_are_read_are_not_deleted(tmp_path: Path) -> None:
    job = SavedJob(collecting(KEYED["keyed_states"], 2), tmp_path / "job", 1)
    made = MadeLater(job)
    begun = job.begin_savepoint(tmp_path / "saved")
    waiting, made.waiting = made.waiting, []
    while not job.coordinator.finished:
        job.epoch()
        job.coordinator.validate()
        made.finish()
    assert any(chain.first > 5 for chain in job.coordinator._chains.tasks.values())
    made.waiting = waiting
    made.finish()
    begun()
    heir = SavedJob(collecting(KEYED["keyed_states"], 2), tmp_path / "heir", 1)
    heir.restore(str(tmp_path / "saved"))
    wanted = by_key(in_one_go(KEYED["keyed_states"], tmp_path))
    assert {key: wanted[key][-5:] for key in wanted} == {key: rows[-5:] for key, rows in by_key(heir.finish()).items()}


def test_a_full_checkpoint_waits_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "COMPACT_VERSIONS", 500)
    job = SavedJob(collecting(KEYED["keyed_states"], 2), tmp_path / "job", 1)
    made = MadeLater(job)
    job.epoch()
    plan = job.coordinator.plan(checkpoint=Trigger.FULL)
    assert all(own.compact and own.from_files for own in plan.tasks.values())
    job.coordinator.complete(plan, job.tasks(plan))
    assert job.coordinator.compactions.asked
    job.epoch()
    made.finish()
    assert job.coordinator.compactions.asked, "they are there, but not yet in the chains"
    job.epoch()
    assert not job.coordinator.compactions.asked
    assert all(chain.first == plan.epoch for chain in job.coordinator._chains.tasks.values())
    job.coordinator.validate()
