"""What an owner tells of an epoch that goes on, by a clock of this test."""

from __future__ import annotations

from typing import Any

from millrace.runtime.bases.epoch_protocol import OperatorSoFar, OperatorTimes, TaskSoFar, TaskTimes
from millrace.runtime.storage import TaskId
from millrace.spark.workers.flow_messages import EpochProgress
from millrace.spark.workers.flow_owner import FIRST_SECONDS, SECONDS, Reports


class Task:
    """One that has counted so many records; None: it has no epoch."""

    def __init__(self, name: TaskId) -> None:
        self.name = name
        self.records: int | None = 0
        self.pressed = 0

    def so_far(self) -> TaskSoFar | None:
        if self.records is None:
            return None
        report = OperatorSoFar(1, self.name[1], self.records, 0, 0, 0, 0, 0, OperatorTimes(), None)
        return TaskSoFar(*self.name, (report,), TaskTimes(pressed=self.pressed))


class Owner:
    def __init__(self) -> None:
        self.now = 100.0
        self.tasks = {name: Task(name) for name in ((0, 0), (1, 0))}
        self.said: list[EpochProgress] = []
        tasks: Any = self.tasks
        self.reports = Reports(tasks, self.said.append, lambda: self.now)

    def after(self, seconds: float) -> list[list[tuple[int, int | None]]]:
        """What it says then: (stage, records) of each task that it tells of, a list for each message."""
        self.now += seconds
        self.said.clear()
        self.reports.look()
        return [[(task.stage, task.reports[0].records_in) for task in said.tasks] for said in self.said]


def test_an_epoch_that_is_soon_over_is_not_told_of() -> None:
    owner = Owner()
    assert owner.reports.left() is None
    owner.reports.begin(1)
    assert owner.after(FIRST_SECONDS / 2) == []
    assert owner.reports.left() == FIRST_SECONDS / 2
    for task in owner.tasks.values():
        task.records = None
    assert owner.after(FIRST_SECONDS) == []
    assert owner.reports.left() is None, "nothing will come before the next epoch"


def test_a_long_epoch_is_told_of_once_a_second() -> None:
    owner = Owner()
    owner.reports.begin(1)
    owner.tasks[0, 0].records = 5
    assert owner.after(FIRST_SECONDS) == [[(0, 5), (1, 0)]]
    owner.tasks[0, 0].records = 6
    assert owner.after(SECONDS / 2) == []
    assert owner.after(SECONDS / 2) == [[(0, 6)]]


def test_only_what_is_new_is_told() -> None:
    owner = Owner()
    owner.reports.begin(1)
    owner.after(FIRST_SECONDS)
    assert owner.after(SECONDS) == []
    owner.tasks[1, 0].pressed = 10
    assert owner.after(SECONDS) == [[(1, 0)]]
    owner.tasks[0, 0].records = None
    owner.tasks[1, 0].records = 3
    assert owner.after(SECONDS) == [[(1, 3)]]


def test_each_epoch_begins_again() -> None:
    owner = Owner()
    for run in (1, 2):
        owner.reports.begin(run)
        assert owner.after(FIRST_SECONDS) == [[(0, 0), (1, 0)]]
        assert owner.said[0].run == run
