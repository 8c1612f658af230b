"""Whether the accumulators of an aggregate function may be merged where Flink would not.

Flink calls ``merge`` for merging windows only, so a program that never uses those may have one that was never right.
Shared slices need more than that: merging must give what adding gives, in any order. That is tried out.
"""

from __future__ import annotations

import copy
import datetime
import decimal
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import islice
from math import isclose
from typing import Any

from millrace.runtime.windows.contents import Fold

LOOKED_AT = 4_096
"""elements that samples are taken from"""
SAMPLES = 16
"""runs of elements that are tried"""
RUN = 3
"""elements of one run: with two, an average of averages would look right"""

_VALUES = frozenset(
    (
        *(int, float, str, bytes, bool, complex, type(None), decimal.Decimal),
        *(datetime.date, datetime.time, datetime.datetime, datetime.timedelta),
    )
)


def may_share(fold: Fold, keys: list[Any], values: list[Any], more: bool = False) -> bool | None:
    """Whether windows may share slices: merging gives what adding gives, and accumulators are cheap to copy.

    Elements are the evidence; None if they are too few, or all the same. The functions are called with copies of them.

    :param more: whether more elements follow at once: then what is no full run of one key is too little.
    """
    try:
        runs = copy.deepcopy(_runs(keys, values, more))
        return all(_is_cheap(_folded(fold, run)) and _agrees(fold, run) for run in runs) if runs else None
    except Exception:
        return False  # a merge that raises is none


def _runs(keys: list[Any], values: list[Any], more: bool) -> list[list[Any]]:
    """Different elements of one key: windows never mix keys, and the key may be in the accumulator.

    Where no key has two, elements of several.
    """
    by_key: dict[Any, list[Any]] = {}
    of_all: list[Any] = []
    for key, value in islice(zip(keys, values), LOOKED_AT):
        for run in (by_key.setdefault(key, []), of_all):
            if len(run) < RUN and value not in run:
                run.append(value)
    if more:
        return [run for run in by_key.values() if len(run) == RUN][:SAMPLES]
    runs = [run for run in by_key.values() if len(run) > 1] or [of_all]
    return sorted((run for run in runs if len(run) > 1), key=len, reverse=True)[:SAMPLES]


def _agrees(fold: Fold, run: list[Any]) -> bool:
    merge, whole = fold.merge, _folded(fold, run)
    merged = [merge(_folded(fold, part), _folded(fold, rest)) for part, rest in _parts(run)]
    merged.append(reduce(merge, [fold.first(value) for value in run]))
    return all(_alike(whole, each) and _alike(fold.result(whole), fold.result(each)) for each in merged)


def _parts(run: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """All ways to divide a run in two."""
    for chosen in range(1, 2 ** len(run) - 1):
        yield (
            [value for place, value in enumerate(run) if chosen >> place & 1],
            [value for place, value in enumerate(run) if not chosen >> place & 1],
        )


def _folded(fold: Fold, run: list[Any]) -> Any:
    accumulator = fold.first(run[0])
    for value in run[1:]:
        accumulator = fold.add(value, accumulator)
    return accumulator


def _alike(left: Any, right: Any) -> bool:
    """Equal but for the rounding of floats, which depends on the order of a sum."""
    if left.__class__ is not right.__class__:
        return bool(left == right)
    if isinstance(left, float):
        return left == right or isclose(left, right, rel_tol=1e-9)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(_alike, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_alike(left[key], right[key]) for key in left)
    return bool(left == right)


def copier(accumulators: Iterable[Any]) -> Callable[[Any], Any]:
    """How to copy any of these accumulators, as cheaply as is safe.

    ``merge`` may change its arguments, and a slice is merged into several windows.
    """
    needed = {_copy_of(accumulator) for accumulator in accumulators}
    return needed.pop() if len(needed) == 1 else copy.deepcopy


def _is_cheap(accumulator: Any) -> bool:
    """Whether an accumulator can be copied at the price of a small list."""
    return _copy_of(accumulator) is not copy.deepcopy


def _copy_of(accumulator: Any) -> Callable[[Any], Any]:
    if accumulator.__class__ is list and all(map(_is_value, accumulator)):
        return list
    if accumulator.__class__ is dict and all(map(_is_value, accumulator.values())):
        return dict
    return _same if _is_value(accumulator) else copy.deepcopy


def _is_value(item: Any) -> bool:
    if item.__class__ is tuple:
        return all(map(_is_value, item))
    return item.__class__ in _VALUES


def _same(accumulator: Any) -> Any:
    return accumulator
