"""What is left of an epoch's limits for a subtask of a source."""

from __future__ import annotations

from millrace.runtime.bases.operator import ReadingLimits
from millrace.runtime.operators.source import Budget


class Clock:
    now = 1_000

    def __call__(self) -> int:
        return self.now


def test_without_limits_it_is_never_spent() -> None:
    whole = Budget(ReadingLimits(1, 1, False, lambda: True), Clock(), True)
    for budget in (Budget(ReadingLimits(), Clock(), False), whole):
        assert budget.unlimited
        budget.took(10**9)
        assert not budget.spent()
        assert budget.fitting(77) == 77


def test_records() -> None:
    budget = Budget(ReadingLimits(10), Clock(), False)
    assert not budget.unlimited
    assert (budget.fitting(4), budget.fitting(100)) == (4, 10)
    budget.took(7)
    assert (budget.fitting(100), budget.spent()) == (3, False)
    budget.took(5)
    assert budget.spent()
    assert budget.fitting(100) == 1, "a piece has one element at least"


def test_what_the_stages_behind_can_do_divides_batches_of_rows() -> None:
    budget = Budget(ReadingLimits(10, paced=40), Clock(), False)
    assert (budget.fitting(100), budget.fitting(100, rows=True)) == (10, 40)
    budget.took(40)
    assert budget.spent()


def test_time() -> None:
    clock = Clock()
    budget = Budget(ReadingLimits(None, 50), clock, False)
    assert not budget.unlimited
    clock.now += 60
    assert not budget.spent(), "however little time there is, a piece is handed on"
    budget.took(0)
    assert not budget.spent(), "a mark is no piece"
    budget.took(1)
    assert budget.spent()


def test_the_time_of_a_new_task_begins_with_its_first_piece() -> None:
    clock = Clock()
    budget = Budget(ReadingLimits(None, 50, True), clock, False)
    clock.now += 5_000
    budget.took(1)
    assert not budget.spent()
    clock.now += 49
    budget.took(1)
    assert not budget.spent()
    clock.now += 1
    assert budget.spent()


def test_the_task_may_have_to_end_for_another_reason() -> None:
    answers = [False]
    budget = Budget(ReadingLimits(None, None, False, lambda: answers[-1]), Clock(), False)
    assert not budget.spent()
    answers.append(True)
    assert budget.spent()


def test_a_clock_that_is_set_back_ends_the_epoch() -> None:
    """Else it would read until the clock is again where it was: for an hour, or a year."""
    clock = Clock()
    budget = Budget(ReadingLimits(millis=100), clock, False)
    budget.took(1)
    assert not budget.spent()
    clock.now -= 3_600_000
    assert budget.spent()
