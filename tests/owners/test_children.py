"""Which owner takes a task, and which has to go: what the keeper decides, with a clock of the test's own."""

from __future__ import annotations

import socket
from dataclasses import replace

from millrace.spark.workers.frames import Greeting, TaskId
from millrace.spark.workers.keeper import ActiveRun, Child, JobOwners

ONE, OTHER = (0, 0), (1, 0)


def owner(*runs: tuple[TaskId, int]) -> Child:
    """An owner at work on these runs: (task, epoch)."""
    return Child(0, socket.socket(), {number: ActiveRun(*run) for number, run in enumerate(runs)})


def greeting(task: TaskId, epoch: int, cancel_seconds: float = 5.0) -> Greeting:
    return Greeting("job", task, epoch, 2, 60.0, cancel_seconds)


def test_a_run_is_outdated_by_another_of_its_task_and_by_a_later_epoch() -> None:
    child = owner((ONE, 3), (OTHER, 3))
    job = JobOwners([child])
    job.greet(greeting(ONE, 3), 100.0)
    assert [run.outdated for run in child.runs.values()] == [100.0, None]
    job.greet(greeting((2, 0), 4), 101.0)
    assert [run.outdated for run in child.runs.values()] == [100.0, 101.0]


def test_a_late_order_outdates_nothing_that_is_newer() -> None:
    child = owner((ONE, 3))
    job = JobOwners([child], epoch=3)
    job.greet(greeting(OTHER, 2), 100.0)
    assert child.wanted


def test_an_owner_is_overdue_when_the_time_of_its_run_is_over() -> None:
    child = owner((ONE, 3))
    job = JobOwners([child])
    job.greet(greeting(ONE, 4), 100.0)
    assert job.overdue(105.0) == []
    assert job.overdue(105.1) == [child]


def test_without_a_limit_none_is_overdue_and_none_has_to_make_room() -> None:
    child = owner((ONE, 3))
    job = JobOwners([child])
    job.greet(greeting(ONE, 4, cancel_seconds=0.0), 100.0)
    assert job.overdue(1e9) == []
    assert job.too_many(1) == []


def test_the_owner_that_hangs_longest_makes_room() -> None:
    children = [owner(), owner((ONE, 4)), owner((ONE, 3))]
    job = JobOwners(list(children))
    job.epoch = 4
    job.greet(greeting(OTHER, 4), 100.0)
    job.greet(greeting(ONE, 5), 101.0)
    assert job.too_many(4) == []
    assert job.too_many(3) == [children[2]]
    assert job.too_many(1) == [children[2], children[1]], "one without a run that hangs stays"


def test_a_task_does_not_join_an_owner_in_which_it_hangs() -> None:
    hangs, works = owner((ONE, 3)), owner((OTHER, 3), ((2, 0), 3))
    job = JobOwners([hangs, works])
    assert job.least_loaded(greeting(ONE, 3)) == (works, True)
    assert job.least_loaded(greeting((3, 0), 3)) == (hangs, True)


def test_a_task_that_stays_joins_no_owner_in_which_any_run_hangs() -> None:
    """It would be at work there for ever, and so would the process not be ended."""
    hangs, works = owner((ONE, 3)), owner((OTHER, 4), ((2, 0), 4))
    job = JobOwners([hangs, works])
    job.greet(greeting((4, 0), 4), 100.0)
    arrives = greeting((3, 0), 4)
    assert job.least_loaded(arrives) == (hangs, True)
    assert job.least_loaded(replace(arrives, stays=True)) == (works, True)


def test_an_owner_that_leaves_has_no_tasks_any_more() -> None:
    leaving, stays = owner(), owner()
    job = JobOwners([leaving, stays], places={ONE: leaving, OTHER: stays})
    job.retire(leaving)
    assert (job.children, job.leaving, job.places) == ([stays], [leaving], {OTHER: stays})
    job.forget(leaving)
    assert job.leaving == []


def test_nobody_waits_for_a_job_whose_runs_are_all_outdated() -> None:
    job = JobOwners([owner((ONE, 3))])
    assert job.wanted
    job.greet(greeting(OTHER, 4), 100.0)
    assert not job.wanted
