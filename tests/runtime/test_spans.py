"""Spans of time while the clock is set."""

from __future__ import annotations

import pytest

from millrace.runtime.clocks import is_over


@pytest.mark.parametrize(
    ("now", "over"),
    [(1_000, False), (1_999, False), (2_000, True), (10**12, True), (999, True), (-(10**12), True)],
)
def test_a_span_is_over_when_the_clock_leaves_it(now: int, over: bool) -> None:
    assert is_over(now, until=2_000, span=1_000) == over
