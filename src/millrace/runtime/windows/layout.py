"""Where aligned windows keep their contents: every window for itself, or shared slices.

A layout has one table. Both know the same windows by the same ends, so an operator fires either of them alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from millrace.runtime.state.window_tables import WindowListTable, WindowTable
from millrace.runtime.windows.contents import Fold
from millrace.runtime.windows.mergeable import copier
from millrace.runtime.windows.slicing import Slicing

Target = tuple[dict[Any, Any], dict[Any, Any] | None]
"""rows and touched keys to write an element to; None: of a window that is recorded as a whole"""


class Layout(ABC):
    """The contents of all open windows."""

    def __init__(self, slicing: Slicing, table: WindowTable | WindowListTable) -> None:
        self.slicing = slicing
        self.table = table

    @abstractmethod
    def targets(self, slice_start: int, open_ends: list[int]) -> list[Target]:
        """What an element of a slice is added to, so that it is in all windows with ``open_ends``."""

    @abstractmethod
    def ends(self) -> Iterable[int]:
        """The windows that hold something; may name some that are over."""

    def forget(self) -> None:
        """The table has changed from outside: nothing that was derived from it holds any more."""

    @abstractmethod
    def contents(self, end: int) -> dict[Any, Any]:
        """key -> accumulator of one window."""

    @abstractmethod
    def contents_of(self, end: int, key: Any) -> Any:
        """The accumulator of one key."""

    @abstractmethod
    def drop(self, end: int) -> None:
        """A window is over; windows are dropped in the order of their ends."""


class WindowLayout(Layout):
    """Every window has accumulators of its own."""

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

    Windows of ``own``, which had something before sharing began, stay as they are.
    """

    def __init__(self, slicing: Slicing, table: WindowTable, fold: Fold, own: WindowLayout) -> None:
        super().__init__(slicing, table)
        self._own, self._own_rows = own, own.table.rows
        self._merge = fold.merge
        self._copiers: dict[int, Callable[[Any], Any]] = {}
        """end of a slice that wasn't written to since -> how to copy its accumulators"""

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
        """The tables have come from several subtasks, some of which shared slices while others did not yet: a window
        with accumulators of its own has them for all keys."""
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
            # Windows end in order, so the last one that a slice lies in is the last to need it.
            if self.slicing.last_window(slice_end) == end:
                self.table.drop(slice_end)
                self._copiers.pop(slice_end, None)

    def _copier(self, slice_end: int, row: dict[Any, Any]) -> Callable[[Any], Any]:
        copy = self._copiers.get(slice_end)
        if copy is None:
            copy = self._copiers[slice_end] = copier(row.values())
        return copy
