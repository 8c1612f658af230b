"""Bytes of addresses: equal exactly when the values are, as far as bytes can tell, and short."""

from __future__ import annotations

import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row
from millrace.datastream.window import CountWindow, GlobalWindow, TimeWindow
from millrace.runtime.state.address import Scoped
from millrace.runtime.state.disk.keys import LONGEST, decode, is_plain, part, parts, time_of, time_part

NUMBERS = st.integers() | st.booleans() | st.floats(allow_nan=False) | st.decimals(allow_nan=False) | st.fractions()
SCALARS = NUMBERS | st.text() | st.binary() | st.none()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


@given(VALUES, VALUES)
def test_equal_values_have_equal_bytes_and_others_differ(one: Any, other: Any) -> None:
    assert (part(one) == part(other)) == (one == other)


@given(NUMBERS)
def test_numbers_are_equal_whatever_their_class(number: Any) -> None:
    for kind in (int, float, decimal.Decimal, fractions.Fraction, np.float64, np.int64):
        try:
            same = kind(number)
            # numpy also calls a float and an integer equal that are not, and whose hashes differ
            equal = bool(same == number) and hash(same) == hash(number)
        except (TypeError, ValueError, ArithmeticError):
            continue
        if equal:
            assert part(same) == part(number)


@given(VALUES)
def test_a_plain_part_gives_the_value_back(value: Any) -> None:
    encoded = part(value)
    assert len(encoded) <= LONGEST
    if is_plain(value, encoded):
        found = decode(encoded)
        assert found == value
        assert repr(found) == repr(value), "1 is not True, nor 1.0"


@pytest.mark.parametrize(
    "value",
    [
        *(0, -1, 2**63 - 1, -(2**63), 2**63, "", "ü", "\ud800", b"", None, 0.5, float("inf"), (), (1, ("a", None))),
        *("x" * 159, TimeWindow(0, 1), Scoped("a", TimeWindow(-5, 2**62)), Scoped(("a", 1), None)),
    ],
)
def test_what_is_plain(value: Any) -> None:
    assert is_plain(value, part(value))
    found = decode(part(value))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "value",
    [
        *(True, 1.0, -0.0, "x" * 160, (1, True), Row(1), frozenset({1}), datetime.date(2024, 1, 1), np.int64(1)),
        *(decimal.Decimal("0.1"), CountWindow(1), GlobalWindow.get(), TimeWindow(0, 2**63), Scoped(1, CountWindow(1))),
    ],
)
def test_what_is_not(value: Any) -> None:
    assert not is_plain(value, part(value))


def test_rows_with_their_fields_in_another_order_are_equal() -> None:
    assert part(Row(a=1, b="x")) == part(Row(b="x", a=1))
    assert part(Row(a=1, b="x")) != part(Row(a=2, b="x"))


def test_values_without_a_stable_hash_share_their_bytes() -> None:
    assert part(CountWindow(1)) == part(CountWindow(2))
    assert part(Scoped("a", CountWindow(1))) == part(Scoped("a", CountWindow(2))) != part(Scoped("b", CountWindow(1)))


def test_numbers_that_count_up_lie_side_by_side() -> None:
    numbers = [0, 1, 255, 256, 10**6, 2**40, 2**63 - 1]
    assert sorted(map(part, numbers)) == parts(numbers)


@given(st.lists(st.integers()) | st.lists(SCALARS))
def test_all_at_once_is_the_same(values: list[Any]) -> None:
    assert parts(values) == [part(value) for value in values]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_times_are_in_order(times: list[int]) -> None:
    assert [time_of(encoded) for encoded in sorted(map(time_part, times))] == sorted(times)


def test_a_time_has_64_bits() -> None:
    with pytest.raises(ValueError, match="9223372036854775808 is no timestamp"):
        time_part(2**63)
