"""What rules a restart out, whatever causes an error has."""

from __future__ import annotations

from millrace.runtime.failure import is_final


def test_an_error_that_is_its_own_cause_is_looked_at_once() -> None:
    error, other = ValueError("a"), ValueError("b")
    error.__cause__, other.__cause__ = other, error
    assert not is_final(error)
