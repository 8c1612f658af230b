"""Folds over stretches that only move forward: each value is folded a fixed number of times, however long they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def sliding(
    values: Sequence[Any], lows: Sequence[int], highs: Sequence[int], merge: Callable[[Any, Any], Any], zero: Any
) -> list[Any]:
    """The fold of ``values[low] ... values[high]`` for each pair of bounds; both bounds never go back.

    :param merge: is associative; nothing is ever taken back, so floats do not drift.
    """
    results = []
    folded: list[Any] = []
    """folds of what is left of an older part, from each of its places to its end, the longest last"""
    newer = zero
    """the fold of what came after that part"""
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
