"""How long what is gathered may wait."""

from __future__ import annotations

import pytest

from millrace.connectors.sink_base import WAIT_MS, Patience


class Clock:
    now = 5_000

    def __call__(self) -> int:
        return self.now


def test_the_first_element_counts() -> None:
    clock = Clock()
    patience = Patience(clock)
    assert not patience.is_over(), "nothing waits"
    patience.begin()
    clock.now += WAIT_MS - 1
    patience.begin()
    assert not patience.is_over()
    assert patience.is_over(clock.now + 1), "whoever asks may know the time"
    clock.now += 1
    assert patience.is_over()
    patience.end()
    assert not patience.is_over()
    patience.begin()
    assert not patience.is_over()


@pytest.mark.parametrize(("millis", "over"), [(None, False), (0, True), (5_000, False), (60_000, False), (1, False)])
def test_how_long(millis: int | None, over: bool) -> None:
    patience = Patience(Clock(), millis)
    patience.begin()
    assert patience.is_over() == over
    assert patience.is_over(3_600_000) == (millis is not None)


def test_a_clock_that_is_put_back_delays_nothing() -> None:
    patience = Patience(Clock(), 60_000)
    patience.begin()
    assert patience.is_over(4_999)
