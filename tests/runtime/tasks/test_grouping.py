from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.runtime.tasks.batch_columns import MANY, Groups, groups_of, positions, sort_keys

KEYS: dict[str, Callable[[int], Any]] = {
    "numbers": lambda i: i * 7 % 500 - 250,
    "many numbers": lambda i: i * 7919 % 70_001,
    "texts": lambda i: f"key {i * 7 % 500}",
    "large numbers": lambda i: 2**64 + i % 3,
    "half surrogates": lambda i: "\ud800" * (i % 3),
    "mixed": lambda i: (i % 3, float(i % 3), True)[i % 2],
}


def expected(keys: list[Any], times: list[int | None] | None) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    for places in groups.values():
        if times is not None:
            places.sort(key=lambda place: float("-inf") if times[place] is None else times[place])
    return list(groups.values())


def lists(groups: Groups) -> list[list[int]]:
    places = groups.places if isinstance(groups.places, list) else groups.places.tolist()
    return [places[start:end] for start, end in zip(groups.bounds, groups.bounds[1:])]


@pytest.mark.parametrize("times", ["no times", "times", "some times", "large times"])
@pytest.mark.parametrize("kind", KEYS)
def test_groups(kind: str, times: str) -> None:
    draw = random.Random(1)
    choices = {"times": range(50), "some times": [None, 3, 1, 2], "large times": [2**70, 1, -(2**70)]}
    for count in (0, 3, MANY, 140_000):
        keys = list(map(KEYS[kind], range(count)))
        stamps = [draw.choice(choices[times]) for _ in keys] if times in choices else None
        groups = groups_of(keys, stamps)
        assert lists(groups) == expected(keys, stamps)
        assert [keys[place] for place in groups.firsts()] == [keys[group[0]] for group in lists(groups)]


@given(st.lists(st.integers(1, 5), max_size=20), st.integers(1, 12))
def test_rounds_are_whole_keys(sizes: list[int], size: int) -> None:
    keys = [key for key, count in enumerate(sizes) for _ in range(count)]
    groups = groups_of(keys, None)
    rounds = list(groups.rounds(size))
    assert [group for part in rounds for group in lists(part)] == lists(groups)
    assert [count for part in rounds for count in part.sizes()] == sizes
    for part in rounds[:-1]:
        assert size <= part.bounds[-1] < size + 5


def test_positions() -> None:
    assert positions("abca") == {"a": [0, 3], "b": [1], "c": [2]}


def test_elements_without_a_timestamp_come_first() -> None:
    assert sort_keys([3, None, -5]) == [3, -(2**63), -5]
