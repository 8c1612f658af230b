"""When epochs begin: an interval apart, and rarely while nothing comes."""

from __future__ import annotations

from millrace.spark.jobs.runner import IDLE_SECONDS, Pace


class Hand:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def epoch(pace: Pace, clock: Hand, takes: float, records: int) -> float:
    """Wait, run an epoch; the wait."""
    waited = pace.left()
    clock.now += waited
    pace.begun()
    clock.now += takes
    pace.ended(records)
    return round(waited, 6)


def test_beginnings_lie_an_interval_apart() -> None:
    clock = Hand()
    pace = Pace(0.01, 0.01, clock=clock)
    assert [epoch(pace, clock, 0.004, 1) for _ in range(3)] == [0.0, 0.006, 0.006]
    assert epoch(pace, clock, 0.03, 1) == 0.006
    assert epoch(pace, clock, 0.004, 1) == 0.0, "what took longer has used up its wait"


def test_an_idle_job_waits_longer_until_something_comes() -> None:
    clock = Hand()
    pace = Pace(0.01, 0.1, clock=clock)
    waits = [epoch(pace, clock, 0.0, 0) for _ in range(200)]
    assert set(waits[1:95]) == {0.01}
    assert set(waits[-50:]) == {0.1}
    assert sum(waits[:102]) >= IDLE_SECONDS
    assert epoch(pace, clock, 0.0, 5) == 0.1
    assert epoch(pace, clock, 0.0, 0) == 0.01
    assert epoch(pace, clock, 0.0, 0) == 0.01, "idle again only after a while"


def test_the_longer_nothing_comes_the_longer_it_waits() -> None:
    clock = Hand()
    pace = Pace(0.1, 0.6, 2.4, clock=clock)
    epoch(pace, clock, 0.0, 1)
    began = clock.now
    waits = []
    while clock.now < began + 60:
        quiet = clock.now - began
        waits.append((quiet, epoch(pace, clock, 0.0, 0)))
    for quiet, wait in waits:
        assert wait == (0.1 if quiet < IDLE_SECONDS else round(min(max(0.6, quiet / 5), 2.4), 6))
    assert epoch(pace, clock, 0.0, 3) == 2.4
    assert epoch(pace, clock, 0.0, 0) == 0.1


def test_an_interval_that_is_longer_than_that_of_idle_jobs_stays() -> None:
    clock = Hand()
    pace = Pace(0.5, 0.1, clock=clock)
    assert [epoch(pace, clock, 0.0, 0) for _ in range(6)] == [0.0, *[0.5] * 5]


def test_a_job_that_is_behind_has_an_interval_of_its_own() -> None:
    clock = Hand()
    pace = Pace(60.0, 60.0, behind=0.1, clock=clock)
    pace.begun()
    clock.now += 0.04
    pace.ended(5, more=True)
    assert round(pace.left(), 6) == 0.06
    clock.now += 1.0
    pace.begun()
    clock.now += 0.04
    pace.ended(5)
    assert round(pace.left(), 6) > 50


def test_a_timer_that_is_due_has_an_epoch() -> None:
    clock = Hand()
    pace = Pace(0.1, 10.0, clock=clock)
    clock.now += 5.0
    pace.begun()
    pace.ended(0, due_in=1.0)
    assert round(pace.left(), 6) == 1.0
    pace.begun()
    pace.ended(0, due_in=-3.0)
    assert round(pace.left(), 6) == 0.1
