"""RAND, RAND_INTEGER, UUID."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings, call
from millrace.relational.rex import Literal, Rex

INT = t.IntType(False)
ROWS = 1000


def values(name: str, *numbers: int, now: int = 0) -> list[Any]:
    args: list[Rex] = [Literal(INT, number) for number in numbers]
    return Evaluator([], Surroundings(ROWS, now=now)).column(call(name, args)).to_pylist()


def test_rand_is_from_0_to_1() -> None:
    found = values("RAND")
    assert len(set(found)) == ROWS and all(0 <= value < 1 for value in found)


def test_rand_integer_reaches_all_numbers_below_its_bound() -> None:
    assert set(values("RAND_INTEGER", 5)) == set(range(5))
    assert set(values("RAND_INTEGER", 3, 5)) == set(range(5))


@pytest.mark.parametrize("call_", [("RAND", 7), ("RAND", -7), ("RAND_INTEGER", 7, 100)], ids=str)
def test_equal_seeds_give_equal_numbers_but_other_ones_in_another_batch(call_: tuple[str, int]) -> None:
    name, *numbers = call_
    assert values(name, *numbers) == values(name, *numbers)
    assert values(name, *numbers) != values(name, *numbers, now=1)


def test_calls_without_seed_are_computed_each_for_itself() -> None:
    both = Evaluator([], Surroundings(ROWS))
    assert both.column(call("RAND", [])) != both.column(call("RAND", []))


def test_a_bound_that_is_not_positive_is_refused() -> None:
    with pytest.raises(ValueError, match="the bound of RAND_INTEGER must be positive, not 0"):
        values("RAND_INTEGER", 0)


def test_uuids_are_random_ones_and_all_different() -> None:
    found = values("UUID")
    assert len(set(found)) == ROWS and {uuid.UUID(value).version for value in found} == {4}
