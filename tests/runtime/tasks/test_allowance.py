"""How long a task may work in an epoch."""

from __future__ import annotations

from millrace.runtime.tasks.waiting import Allowance


class Clock:
    def __init__(self) -> None:
        self.now = 1_000
        self.asked = 0

    def __call__(self) -> int:
        self.asked += 1
        return self.now


def test_without_a_limit_it_is_never_over() -> None:
    clock = Clock()
    allowance = Allowance(clock)
    assert not allowance.over()
    allowance.begin(None, None)
    allowance.worked()
    clock.now += 10**9
    assert not allowance.over()
    assert clock.asked == 0, "nobody looks at the clock"


def test_however_little_time_there_is_one_piece_is_done() -> None:
    clock = Clock()
    allowance = Allowance(clock)
    allowance.begin(10, None)
    clock.now += 50
    assert not allowance.over()
    allowance.worked()
    assert allowance.over()


def test_it_is_over_when_the_time_is_and_stays_so() -> None:
    clock = Clock()
    allowance = Allowance(clock)
    allowance.begin(10, None)
    allowance.worked()
    clock.now += 9
    assert not allowance.over()
    clock.now += 1
    assert allowance.over()
    clock.now -= 5
    assert allowance.over()
    allowance.begin(10, None)
    allowance.worked()
    assert not allowance.over(), "each epoch has its own"


def test_the_time_of_a_new_task_begins_with_its_first_piece() -> None:
    clock = Clock()
    allowance = Allowance(clock)
    allowance.begin(10, None, at_first_piece=True)
    clock.now += 5_000
    allowance.worked()
    assert not allowance.over()
    clock.now += 9
    allowance.worked()
    assert not allowance.over()
    clock.now += 1
    assert allowance.over()


def test_told_to_finish_it_is_over_even_before_the_first_piece() -> None:
    answers = iter([False, True, False])
    allowance = Allowance(Clock())
    allowance.begin(10, lambda: next(answers))
    assert not allowance.over()
    assert allowance.over()
    assert allowance.over(), "nobody is asked again"
    assert next(answers) is False


def test_what_cannot_wait_has_all_the_time_in_the_world() -> None:
    clock = Clock()
    allowance = Allowance(clock)
    allowance.begin(10, lambda: True)
    assert allowance.over()
    allowance.extend()
    allowance.worked()
    clock.now += 10**9
    assert not allowance.over()


def test_calls_that_would_not_end_in_time_do_not_begin() -> None:
    clock = Clock()
    allowance = Allowance(clock)
    allowance.begin(100, None)
    assert not allowance.calls_over(wait=100, call=1), "one piece is done in any case"
    allowance.worked()
    clock.now += 20
    assert not allowance.calls_over(wait=50, call=29)
    assert not allowance.reading_over()
    assert allowance.calls_over(wait=50, call=30)
    assert allowance.calls_over(wait=0, call=0), "and stays so"
    assert allowance.reading_over()
    assert not allowance.over(), "results are handed on"
    allowance.begin(100, None)
    assert not allowance.reading_over()


def test_calls_that_take_long_may_begin_in_a_part_of_the_time() -> None:
    clock = Clock()
    allowance = Allowance(clock)
    allowance.begin(100, None)
    allowance.worked()
    clock.now += 24
    assert not allowance.calls_over(wait=0, call=10_000)
    clock.now += 1
    assert allowance.calls_over(wait=0, call=10_000)


def test_calls_have_to_end_without_the_time_for_reading() -> None:
    clock = Clock()
    allowance = Allowance(clock)
    allowance.begin(150, None, reading=50)
    allowance.worked()
    clock.now += 60
    assert not allowance.calls_over(wait=0, call=39)
    assert allowance.calls_over(wait=0, call=40)
    allowance.begin(150, None, reading=50)
    allowance.worked()
    clock.now += 150
    assert allowance.over()
    assert allowance.calls_over(wait=0, call=0)


def test_a_clock_that_is_set_back_ends_the_epoch() -> None:
    for ask in (Allowance.over, lambda allowance: allowance.calls_over(0, 1)):
        clock = Clock()
        allowance = Allowance(clock)
        allowance.begin(1_000, None)
        allowance.worked()
        assert not ask(allowance)
        clock.now -= 3_600_000
        assert ask(allowance)
