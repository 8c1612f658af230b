"""What must hold between two calls of the coordinator: ``validate`` is quiet about a job that runs, and finds each
broken part."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from millrace.common.types import Row
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import TaskAck
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.coordination.snapshot import TaskChain
from millrace.runtime.storage import version_of
from millrace.testing.local import LocalEngine, job_of

TASK = (0, 0)


@pytest.fixture
def coordinator() -> Coordinator:
    """Of a job in whose first epoch each subtask of the source has read a part."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    sums = env.from_collection([Row(key, 1) for key in "abcd" * 10]).key_by(lambda row: row[0]).sum(1)
    job = job_of(sums)
    engine = LocalEngine(job, lambda: 0)
    engine.run_epoch(engine.coordinator.plan())
    engine.coordinator.validate()
    return engine.coordinator


def a_chain(coordinator: Coordinator) -> TaskChain:
    return coordinator._chains.tasks[TASK]


def count_version(coordinator: Coordinator) -> None:
    a_chain(coordinator).versions += 1


def lose_bytes(coordinator: Coordinator) -> None:
    a_chain(coordinator).delta_bytes += 1


def add_more_than_there_is(coordinator: Coordinator) -> None:
    chain = a_chain(coordinator)
    chain.added_bytes = chain.delta_bytes + 1


def repeat_epoch(coordinator: Coordinator) -> None:
    for run in (1, 2):
        a_chain(coordinator).add(TaskAck(1, *TASK, run=run, delta_bytes=3))


def run_ahead(coordinator: Coordinator) -> None:
    a_chain(coordinator).ran = version_of(9, 1)


def delete_what_is_needed(coordinator: Coordinator) -> None:
    coordinator._discarded[TASK] = 7


def number_again(coordinator: Coordinator) -> None:
    coordinator._next_epoch = 1


def conclude_too_soon(coordinator: Coordinator) -> None:
    coordinator._concluded = 5


def know_too_many_subtasks(coordinator: Coordinator) -> None:
    coordinator._sources[0].finished.add(7)


def finish_with_splits(coordinator: Coordinator) -> None:
    source = coordinator._sources[0]
    source.finished.add(0)
    source.splits[0] = ["a split"]


def send_what_is_not_there(coordinator: Coordinator) -> None:
    coordinator._sources[0]._sent[0] = (99, 0)


BROKEN: dict[Callable[[Coordinator], None], str] = {
    count_version: "task (0, 0): 2 versions are counted, there are 1",
    lose_bytes: "bytes of changes are counted",
    add_more_than_there_is: "bytes are additions",
    repeat_epoch: "changes are not in order",
    run_ahead: "task (0, 0) has acknowledged epoch 9, and the last complete one is 1",
    delete_what_is_needed: "files before 7 are deleted",
    number_again: "epoch 1 is complete and the next is 1",
    conclude_too_soon: "5 is recorded before 1",
    know_too_many_subtasks: "are finished, there are",
    finish_with_splits: "has finished and reports splits that are left",
    send_what_is_not_there: "99 splits are under way of 0",
}


@pytest.mark.parametrize("break_it", BROKEN, ids=lambda each: each.__name__)
def test_a_broken_invariant_is_found(coordinator: Coordinator, break_it: Callable[[Coordinator], None]) -> None:
    break_it(coordinator)
    with pytest.raises(AssertionError, match=re.escape(BROKEN[break_it])):
        coordinator.validate()
