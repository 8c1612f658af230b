"""What rules a restart out, and what an error says of its causes."""

from __future__ import annotations

from millrace.runtime.failure import describe, is_final


def test_an_error_that_is_its_own_cause_is_looked_at_once() -> None:
    error, other = ValueError("a"), ValueError("b")
    error.__cause__, other.__cause__ = other, error
    assert not is_final(error)


def test_a_class_without_a_message_brings_its_cause() -> None:
    try:
        try:
            raise ValueError("7 is too much")
        except ValueError as error:
            raise TimeoutError from error
    except TimeoutError as error:
        silent = error
    assert describe(silent) == "TimeoutError: ValueError: 7 is too much"
    assert describe(TimeoutError()) == "TimeoutError"
    silent.__cause__ = silent
    assert describe(silent) == "TimeoutError"
