"""A corpus names each case that is wrong, and notices when cases are missing."""

from __future__ import annotations

import inspect

import pytest
from tests.corpus import corpus


def even(number: int, parity: int) -> None:
    assert number % 2 == parity


def test_all_cases_are_checked() -> None:
    seen: list[int] = []
    corpus("number", range(5), 5)(lambda number: seen.append(number))()
    assert seen == [0, 1, 2, 3, 4]


def test_each_wrong_case_is_named() -> None:
    test = corpus(("number", "parity"), [(4, 0), (5, 0), (6, 0), (7, 0)], 4)(even)
    with pytest.raises(AssertionError, match=r"2 of 4 cases:\n\n5; 0\nAssertionError.*\n(.*\n)*7; 0\nAssertionError"):
        test()


def test_what_is_failed_by_name_and_errors_count() -> None:
    def check(number: int) -> None:
        if number:
            pytest.fail("by name")
        raise ZeroDivisionError("an error")

    with pytest.raises(AssertionError, match=r"(?s)2 of 2 cases.*ZeroDivisionError: an error.*Failed: by name"):
        corpus("number", [0, 1], 2)(check)()


def test_fewer_cases_fail() -> None:
    with pytest.raises(AssertionError, match="only 1 cases are left of 2"):
        corpus(("number", "parity"), [(4, 0)], 2)(even)()


def test_other_parameters_are_fixtures() -> None:
    test = corpus("number", [2, 4], 2)(even)
    assert list(inspect.signature(test).parameters) == ["parity"]
    test(parity=0)
    with pytest.raises(AssertionError, match="2 of 2"):
        test(parity=1)
