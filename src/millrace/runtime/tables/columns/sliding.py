"""Folds over ranges that only move forward: each value is folded a fixed number of times, however long the ranges
are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def sliding(
    values: Sequence[Any], lows: Sequence[int], highs: Sequence[int], merge: Callable[[Any, Any], Any], zero: Any
) -> list[Any]:
    """The fold of ``values[low] ... values[high]`` for each pair of bounds; both bounds never go back.

    :param merge: an associative function; values are never subtracted, so floats do not drift.
    """
    results = []
    folded: list[Any] = []
    """folds of the rest of an older part, from each index to its end, the longest last"""
    newer = zero
    """the fold of the values after that part"""
    first = following = 0
    for low, high in zip(lows, highs):
        if low >= following:
            folded, newer, first, following = [], zero, low, low
        while following <= high:
            newer = merge(newer, values[following])
            following += 1
        while first < low:
            if not folded:
                newer, fold = zero, zero
                for place in range(following - 1, first - 1, -1):
                    fold = merge(values[place], fold)
                    folded.append(fold)
            folded.pop()
            first += 1
        results.append(merge(folded[-1], newer) if folded else newer)
    return results
