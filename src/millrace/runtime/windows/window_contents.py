"""The contents of windows in operators with tables of their own: folded into one object, by window or by slice.

Each layout has one table. Both layouts identify windows by their ends, so an operator fires both in the same way.
Shared slices need an aggregate function whose accumulators can be merged. Flink calls ``merge`` only for merging
windows, so a program without them may have a wrong ``merge``; and merging must give the same result as adding, in any
order. That is tested on the first elements (``may_share``).
"""

from __future__ import annotations

import copy
import datetime
import decimal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from math import isclose
from typing import Any

from millrace.common.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from millrace.runtime.state.window_tables import WindowListTable, WindowTable
from millrace.runtime.windows.slicing import Slicing

# Folds


@dataclass(frozen=True)
class Fold:
    """How elements are folded: ``first`` makes an accumulator of one element; ``add(value, accumulator)`` returns the
    next accumulator.

    ``result`` makes of an accumulator what the window function iterates over. If it is None, as in Flink, the window
    function is not called.
    """

    first: Callable[[Any], Any]
    add: Callable[[Any, Any], Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Iterable[Any] | None]


def fold_of(contents: StateDescriptor) -> Fold:
    """The fold of a window's contents."""
    if isinstance(contents, AggregatingStateDescriptor):
        return _aggregating(contents)
    if isinstance(contents, ReducingStateDescriptor):
        reduce = contents.get_reduce_function().reduce
        return Fold(_itself, lambda value, accumulator: reduce(accumulator, value), reduce, _one)
    assert isinstance(contents, ListStateDescriptor)
    return Fold(_list_of_one, _append, _concatenate, _itself)


def _aggregating(contents: AggregatingStateDescriptor) -> Fold:
    function = contents.get_agg_function()
    create, add, get_result = function.create_accumulator, function.add, function.get_result

    def first(value: Any) -> Any:
        return add(value, create())

    def result(accumulator: Any) -> tuple[Any] | None:
        value = get_result(accumulator)
        return None if value is None else (value,)

    return Fold(first, add, function.merge, result)


def _itself(value: Any) -> Any:
    return value


def _one(value: Any) -> tuple[Any]:
    return (value,)


def _list_of_one(value: Any) -> list[Any]:
    return [value]


def _append(value: Any, elements: list[Any]) -> list[Any]:
    elements.append(value)
    return elements


def _concatenate(left: list[Any], right: list[Any]) -> list[Any]:
    return left + right


# Whether accumulators may be merged

LOOKED_AT = 4_096
"""the number of elements that samples are taken from"""
SAMPLES = 16
"""the number of element runs that are tested"""
RUN = 3
"""the number of elements in a run: with two, an average of averages would look right"""

_VALUES = frozenset(
    (
        *(int, float, str, bytes, bool, complex, type(None), decimal.Decimal),
        *(datetime.date, datetime.time, datetime.datetime, datetime.timedelta),
    )
)


def may_share(fold: Fold, keys: list[Any], values: list[Any], more: bool = False) -> bool | None:
    """Whether windows may share slices: merging gives what adding gives, and accumulators are cheap to copy.

    The functions are tested on these elements; None if they are too few, or all the same. The functions are called with
    copies of them.

    :param more: whether more elements follow at once: then fewer than a full run of one key is too few.
    """
    try:
        runs = copy.deepcopy(_runs(keys, values, more))
        return all(_is_cheap(_folded(fold, run)) and _agrees(fold, run) for run in runs) if runs else None
    except Exception:
        return False  # a merge that raises is none


def _runs(keys: list[Any], values: list[Any], more: bool) -> list[list[Any]]:
    """Runs of different elements of one key: windows never mix keys, and the key may be in the accumulator.

    Where no key has two elements, runs of several keys.
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
    """All ways to divide a run into two parts."""
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
    """Whether two results are equal, except for the rounding of floats, which depends on the order of a sum."""
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
    """A function that copies any of these accumulators, as cheaply as is safe."""
    needed = {_copy_of(accumulator) for accumulator in accumulators}
    return needed.pop() if len(needed) == 1 else copy.deepcopy


def _is_cheap(accumulator: Any) -> bool:
    """Whether copying an accumulator costs no more than copying a small list."""
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


# Layouts

Target = tuple[dict[Any, Any], dict[Any, Any] | None]
"""rows and changed keys to write an element to; None: the delta contains the whole window anyway"""


class Layout(ABC):
    """The contents of all open windows."""

    def __init__(self, slicing: Slicing, table: WindowTable | WindowListTable) -> None:
        self.slicing = slicing
        self.table = table

    @abstractmethod
    def targets(self, slice_start: int, open_ends: list[int]) -> list[Target]:
        """Where an element of a slice is added, so that it is in all windows with ``open_ends``."""

    @abstractmethod
    def ends(self) -> Iterable[int]:
        """The ends of windows with contents; may include windows that have ended."""

    def forget(self) -> None:
        """The table was changed from outside: drop everything derived from it."""

    @abstractmethod
    def contents(self, end: int) -> dict[Any, Any]:
        """key -> accumulator of one window."""

    @abstractmethod
    def contents_of(self, end: int, key: Any) -> Any:
        """The accumulator of one key in a window; None: there is none."""

    @abstractmethod
    def drop(self, end: int) -> None:
        """A window has ended; windows are dropped in the order of their ends."""


class WindowLayout(Layout):
    """Stores accumulators for every window separately."""

    def targets(self, slice_start: int, open_ends: list[int]) -> list[Target]:
        return [self.table.begin(end) for end in open_ends]

    def ends(self) -> Iterable[int]:
        return self.table.rows

    def contents(self, end: int) -> dict[Any, Any]:
        row: dict[Any, Any] = self.table.rows.get(end, {})
        return row

    def contents_of(self, end: int, key: Any) -> Any:
        return self.table.rows[end][key]

    def drop(self, end: int) -> None:
        self.table.drop(end)


class SliceLayout(Layout):
    """An element is folded once, into its slice; a window's accumulators are merged when it fires.

    Windows in ``own``, which had contents before sharing began, stay as they are.
    """

    def __init__(self, slicing: Slicing, table: WindowTable, fold: Fold, own: WindowLayout) -> None:
        super().__init__(slicing, table)
        self._own, self._own_rows = own, own.table.rows
        self._merge = fold.merge
        self._copiers: dict[int, Callable[[Any], Any]] = {}
        """end of a slice that is not written to any more -> function that copies its accumulators"""

    def targets(self, slice_start: int, open_ends: list[int]) -> list[Target]:
        targets = self._own.targets(slice_start, [end for end in open_ends if end in self._own_rows])
        if len(targets) < len(open_ends):
            slice_end = slice_start + self.slicing.slice_size
            self._copiers.pop(slice_end, None)
            targets.append(self.table.begin(slice_end))
        return targets

    def ends(self) -> Iterable[int]:
        size, found = self.slicing.slice_size, set[int]()
        for slice_end in sorted(self.table.rows):
            for end in sorted(self.slicing.window_ends(slice_end - size), reverse=True):
                if end in found:
                    break  # an earlier slice lies in this window, and so in all that end before it
                found.add(end)
        return found.union(self._own_rows)

    def forget(self) -> None:
        self._copiers.clear()

    def contents(self, end: int) -> dict[Any, Any]:
        return self._own.contents(end) if end in self._own_rows else self._merged(end)

    def _merged(self, end: int) -> dict[Any, Any]:
        merged: dict[Any, Any] = {}
        merge, rows = self._merge, self.table.rows
        for slice_end in self.slicing.slice_ends(end):
            row = rows.get(slice_end)
            if row is None:
                continue
            copy = self._copier(slice_end, row)
            for key, accumulator in row.items():
                part = copy(accumulator)
                merged[key] = merge(merged[key], part) if key in merged else part
        return merged

    def put_together(self) -> None:
        """The tables were restored from several subtasks, of which some shared slices and others did not: give each
        window with accumulators of its own accumulators for all keys."""
        for end in self._own_rows:
            row = self._own_rows[end]
            for key, accumulator in self._merged(end).items():
                if key not in row:
                    self._own.table.put(end, key, accumulator)

    def contents_of(self, end: int, key: Any) -> Any:
        if end in self._own_rows:
            return self._own.contents_of(end, key)
        rows = [self.table.rows.get(slice_end, {}) for slice_end in self.slicing.slice_ends(end)]
        merged, *others = [copier((row[key],))(row[key]) for row in rows if key in row]
        for part in others:
            merged = self._merge(merged, part)
        return merged

    def drop(self, end: int) -> None:
        self._own.drop(end)
        for slice_end in self.slicing.slice_ends(end):
            # Windows end in order, so the last window that contains a slice is the last to need it.
            if self.slicing.last_window(slice_end) == end:
                self.table.drop(slice_end)
                self._copiers.pop(slice_end, None)

    def _copier(self, slice_end: int, row: dict[Any, Any]) -> Callable[[Any], Any]:
        copy = self._copiers.get(slice_end)
        if copy is None:
            copy = self._copiers[slice_end] = copier(row.values())
        return copy
