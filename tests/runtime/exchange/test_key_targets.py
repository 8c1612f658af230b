"""``KeyTargets`` against ``key_group`` of each key alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.types import Row
from millrace.runtime.exchange.keys import UnstableKeyError, key_group, subtask_of_group
from millrace.runtime.exchange.partitioners import BadKeyError, KeyTargets

INTEGERS = st.integers(-(2**70), 2**70) | st.integers(-(2**63), 2**63 - 1) | st.integers(-300, 300)
TEXTS = st.text() | st.just("\ud800")
OTHERS = st.booleans() | st.floats(allow_nan=False) | st.none() | st.tuples(st.integers(), st.text()) | st.binary()
KEYS = st.lists(INTEGERS) | st.lists(TEXTS) | st.lists(INTEGERS | TEXTS | OTHERS)


def expected(keys: list[Any], groups: int, receivers: int) -> list[int]:
    return [subtask_of_group(key_group(key, groups), groups, receivers) for key in keys]


@given(st.lists(KEYS, max_size=4), st.sampled_from([(128, 2), (128, 128), (2048, 1000), (32768, 32768)]))
def test_like_each_key_alone(chunks: list[list[Any]], widths: tuple[int, int]) -> None:
    targets = KeyTargets(*widths)
    for keys in chunks:
        assert targets.of(keys).tolist() == expected(keys, *widths)
        assert targets.of(keys).tolist() == expected(keys, *widths), "as it remembers them"


@pytest.mark.parametrize("keys", [list(range(100)), [str(n) for n in range(100)], [(n,) for n in range(100)]])
def test_it_remembers_no_more_than_its_limit(keys: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyTargets, "LIMIT", 30)
    targets = KeyTargets(128, 3)
    for size in (1, 7, 20, 100):
        for start in range(0, 100, size):
            chunk = keys[start : start + size]
            assert targets.of(chunk).tolist() == expected(chunk, 128, 3)
            assert len(targets._known) <= 30


def test_keys_that_come_again_are_learned_after_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyTargets, "LIMIT", 30)
    targets = KeyTargets(128, 3)
    targets.of(list(range(25)))
    again = list(range(1_000, 1_020))
    for _ in range(KeyTargets.PATIENCE):
        assert targets.of(again).tolist() == expected(again, 128, 3)
    assert set(targets._known) == set(again)


def test_equal_keys_of_different_types() -> None:
    targets = KeyTargets(128, 100)
    assert targets.of([1]).tolist() == targets.of([1.0]).tolist() == targets.of([True]).tolist()


class Unequal:
    """Has a hash, and no opinion on what it equals."""

    def __hash__(self) -> int:
        raise LookupError("no such thing")


@pytest.mark.parametrize(
    ("bad", "cause"), [(object(), UnstableKeyError), ([1], UnstableKeyError), (Unequal(), LookupError)]
)
@pytest.mark.parametrize("before", [[], [1], ["a", Row(1), "a"]])
def test_a_bad_key_is_named(bad: Any, cause: type[Exception], before: list[Any]) -> None:
    targets = KeyTargets(128, 2)
    with pytest.raises(BadKeyError) as caught:
        targets.of([*before, bad, 5])
    assert caught.value.position == len(before)
    assert isinstance(caught.value.__cause__, cause)
