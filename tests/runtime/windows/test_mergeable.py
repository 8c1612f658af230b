"""``may_share`` finds merges that are not right; ``copier`` keeps merges from changing what they are given."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from millrace.runtime.windows.window_contents import Fold, copier, may_share


def fold(
    first: Callable[[Any], Any], add: Callable[[Any, Any], Any], merge: Callable[[Any, Any], Any], result: Any = None
) -> Fold:
    return Fold(first, add, merge, result or (lambda accumulator: (accumulator,)))


def _raise(left: Any, right: Any) -> Any:
    raise NotImplementedError


def _extend(left: list[Any], right: list[Any]) -> list[Any]:
    left.extend(right)
    left.sort()
    return left


def _counted(left: dict[Any, int], right: dict[Any, int]) -> dict[Any, int]:
    for item, count in right.items():
        left[item] = left.get(item, 0) + count
    return left


def _with(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


SUM = fold(lambda v: v, lambda v, a: a + v, lambda a, b: a + b)
MEAN = fold(lambda v: (v, 1), lambda v, a: (a[0] + v, a[1] + 1), lambda a, b: (a[0] + b[0], a[1] + b[1]))
WORDS = fold(lambda v: {v: 1}, lambda v, a: _counted(a, {v: 1}), _counted)

RIGHT = {
    "sum": SUM,
    "mean": MEAN,
    "largest": fold(lambda v: v, lambda v, a: max(v, a), max),
    "sorted list, in place": fold(lambda v: [v], lambda v, a: _extend(a, [v]), _extend),
    "counts, in place": WORDS,
}
WRONG = {
    "None": fold(lambda v: v, lambda v, a: a + v, lambda a, b: None),
    "raises": fold(lambda v: v, lambda v, a: a + v, _raise),
    "concatenates": fold(lambda v: [v], lambda v, a: _with(a, v), lambda a, b: a + b),
    "last value": fold(lambda v: v, lambda v, a: v, lambda a, b: b),
    "first value": fold(lambda v: v, lambda v, a: a, lambda a, b: a),
    "ignores one": fold(lambda v: v, lambda v, a: a + v, lambda a, b: a),
    "average of averages": fold(
        lambda v: (v, 1),
        lambda v, a: ((a[0] * a[1] + v) / (a[1] + 1), a[1] + 1),
        lambda a, b: ((a[0] + b[0]) / 2, a[1] + b[1]),
    ),
    "halfway": fold(lambda v: v, lambda v, a: (a + v) / 2, lambda a, b: (a + b) / 2),
    "only the result shows it": fold(
        lambda v: {v: 1}, lambda v, a: _counted(a, {v: 1}), _counted, lambda accumulator: (list(accumulator),)
    ),
    "nested, so copies cost": fold(lambda v: [[v]], lambda v, a: [_extend(a[0], [v])], lambda a, b: [[*a[0], *b[0]]]),
}
NUMBERS = [3, 1, 2, 3, 5]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_merge(name: str) -> None:
    assert may_share(RIGHT[name], [0] * 5, NUMBERS)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_merge(name: str) -> None:
    assert may_share(WRONG[name], [0] * 5, NUMBERS) is False


def test_sums_of_floats_are_rounded_in_their_own_ways() -> None:
    assert 0.1 + 0.2 + 0.3 != 0.1 + (0.2 + 0.3)
    assert may_share(SUM, [0] * 3, [0.1, 0.2, 0.3])
    assert may_share(MEAN, [0] * 3, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(("keys", "values"), [([], []), ([0], [1]), ([0, 0, 0], [1, 1, 1]), ([0, 1], [1, 1])])
def test_without_different_elements_there_is_no_evidence(keys: list[Any], values: list[Any]) -> None:
    assert may_share(RIGHT["largest"], keys, values) is None


def test_windows_do_not_mix_keys() -> None:
    """An accumulator may hold the key; merging those of two keys makes no sense."""

    def merge(left: Any, right: Any) -> Any:
        assert left[0] == right[0]
        return left[0], left[1] + right[1]

    keyed = fold(lambda v: v, lambda v, a: (v[0], a[1] + v[1]), merge)
    values = [("a", 1), ("b", 2), ("a", 3), ("b", 4)]
    assert may_share(keyed, ["a", "b", "a", "b"], values)
    assert not may_share(keyed, ["a", "b"], values[:2]), "no two elements of one key, and neighbours can't be merged"


def test_elements_of_several_keys_are_evidence_where_no_key_has_two() -> None:
    assert may_share(SUM, ["a", "b", "c"], [1, 2, 3])
    assert not may_share(WRONG["last value"], ["a", "b", "c"], [1, 2, 3])


def test_the_elements_stay_as_they_are() -> None:
    """The first element is the accumulator here, and changes."""

    def add(value: list[int], accumulator: list[int]) -> list[int]:
        accumulator[0] += value[0]
        return accumulator

    values = [[1], [2], [3]]
    assert may_share(fold(lambda v: list(v), add, lambda a, b: add(b, a)), [0] * 3, values)
    may_share(fold(lambda v: v, add, lambda a, b: add(b, a)), [0] * 3, values)
    assert values == [[1], [2], [3]]


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


@pytest.mark.parametrize(
    "accumulators",
    [
        [1, (2, ("a", None))],
        [[1, 2], [3]],
        [{"a": 1}, {}],
        [[[1], [2]]],
        [{"a": [1]}],
        [1, [2]],
        [([1],)],
        [{1}],
    ],
    ids=repr,
)
def test_what_happens_to_a_copy_does_not_happen_to_the_accumulator(accumulators: list[Any]) -> None:
    before = copy.deepcopy(accumulators)
    copied = [copier(accumulators)(accumulator) for accumulator in accumulators]
    assert copied == before
    for each in copied:
        _spoil(each)
    assert accumulators == before


def _spoil(item: Any) -> None:
    """Change whatever can be changed in place."""
    if isinstance(item, (list, tuple)):
        for part in item:
            _spoil(part)
    elif isinstance(item, dict):
        for part in item.values():
            _spoil(part)
    if isinstance(item, list):
        item.append("spoilt")
    elif isinstance(item, dict):
        item["spoilt"] = True
    elif isinstance(item, set):
        item.add("spoilt")


def test_objects_are_copied() -> None:
    point = Point(1)
    copied = copier([point])(point)
    copied.x = 2
    assert point.x == 1


def test_values_are_not_copied() -> None:
    accumulator = (1, "a", (2.5, None))
    assert copier([accumulator])(accumulator) is accumulator
