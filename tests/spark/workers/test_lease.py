"""Leases between an owner and its driver."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millrace.spark.workers.lease import Lease


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.integers(0, 25), max_size=30), st.integers(0, 30))
def test_a_lease_ends_with_the_first_silence_that_is_too_long(pauses: list[int], last: int) -> None:
    clock = Clock()
    lease = Lease(10, clock)
    for pause in pauses:
        clock.now += pause
        lease.renew()
    clock.now += last
    assert lease.over == any(pause > 10 for pause in (*pauses, last))


def test_a_lease_of_no_seconds_does_not_end() -> None:
    clock = Clock()
    lease = Lease(0, clock)
    clock.now = 1e9
    assert not lease.over
    lease.renew()
    assert not lease.over
