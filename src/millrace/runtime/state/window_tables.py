"""Tables of windows for all keys: indexed first by the window's end, then by key.

A window that has ended is deleted as a whole, and firing iterates over the keys of one window only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from millrace.runtime.state.address import key_of
from millrace.runtime.state.tables import ABSENT, Table


class _ByWindow(Table):
    """The base of both tables; ``rows`` is end of a window or slice (ms) -> key -> contents."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: dict[int, dict[Any, Any]] = {}
        """end of a window -> keys whose contents changed since the last delta, in order; the value says what is
        unchanged"""
        self._fresh: set[int] = set()
        """ends of windows that the last delta did not contain"""
        self._whole: set[int] = set()
        """ends of windows of which the next delta contains all keys, because tracking changed keys would cost more than
        it saves"""

    def begin(self, end: int) -> tuple[dict[Any, Any], dict[Any, Any] | None]:
        """The rows of one window and its changed keys, both to be written to. None: the next delta contains the whole
        window anyway."""
        row = self.rows.get(end)
        if row is None:
            row = self.rows[end] = {}
            self._fresh.add(end)
            self._whole.add(end)
            self.touched.pop(end, None)  # so that the delta has new windows in the order of the rows
        touched = self.touched.setdefault(end, {})
        if touched and self._is_much(len(touched), len(row)):
            self._whole.add(end)
        return row, None if end in self._whole else touched

    def put(self, end: int, key: Any, contents: Any) -> None:
        """Set the contents of a key in a window."""
        row, touched = self.begin(end)
        row[key] = contents
        if touched is not None:
            touched[key] = 0

    def drop(self, end: int) -> None:
        """Delete a window with all its keys."""
        if self.rows.pop(end, None) is not None:
            self._fresh.discard(end)
            self._whole.discard(end)
            self.touched[end] = {}

    def wipe(self) -> None:
        self.rows.clear()
        self.touched.clear()
        self._fresh.clear()
        self._whole.clear()

    def pending(self) -> int:
        return sum(map(len, self.touched.values()))

    def delta(self) -> dict[Any, Any]:
        changes: dict[Any, Any] = {}
        for end, touched in self.touched.items():
            row = self.rows.get(end)
            if row is None:
                changes[end] = ABSENT
            else:
                found = self._all(row) if end in self._whole else self._changes(row, touched)
                changes[end] = (end in self._fresh, found)
        self.touched, self._fresh, self._whole = {}, set(), set()
        return changes

    def apply(self, changes: dict[Any, Any]) -> None:
        for end, change in changes.items():
            if change is ABSENT:
                self.rows.pop(end, None)
                continue
            fresh, entries = change
            if fresh:
                self.rows.pop(end, None)  # a new row goes to the end, there as here
            self._apply(self.rows.setdefault(end, {}), entries)

    def entries(self) -> dict[Any, Any]:
        return {end: (True, self._all(row)) for end, row in self.rows.items()}

    @staticmethod
    def only(entries: dict[Any, Any], keep: Callable[[Any], bool]) -> dict[Any, Any]:
        # Not as new windows, because another part may contain the same windows.
        parts = (
            (end, {key: entry for key, entry in row.items() if keep(key_of(key))}) for end, (_, row) in entries.items()
        )
        return {end: (False, row) for end, row in parts if row}

    def keys(self) -> Iterator[Any]:
        return iter(dict.fromkeys(key_of(key) for row in self.rows.values() for key in row))

    def _is_much(self, touched: int, keys: int) -> bool:
        """Whether so many keys of a window have changed that the delta may as well contain all of them."""
        return False

    @abstractmethod
    def _all(self, row: dict[Any, Any]) -> dict[Any, Any]:
        """The rows of a window as changes onto nothing."""

    @abstractmethod
    def _changes(self, row: dict[Any, Any], touched: dict[Any, Any]) -> dict[Any, Any]: ...

    @abstractmethod
    def _apply(self, row: dict[Any, Any], changes: dict[Any, Any]) -> None: ...


class WindowTable(_ByWindow):
    """One accumulator per key and window."""

    kind = "windows"

    def _is_much(self, touched: int, keys: int) -> bool:
        return 2 * touched >= keys

    def _all(self, row: dict[Any, Any]) -> dict[Any, Any]:
        return row.copy()

    def _changes(self, row: dict[Any, Any], touched: dict[Any, Any]) -> dict[Any, Any]:
        return {key: row[key] for key in touched}

    def _apply(self, row: dict[Any, Any], changes: dict[Any, Any]) -> None:
        row.update(changes)


class WindowListTable(_ByWindow):
    """A list of elements per key and window; a change is (length that is retained, elements to append)."""

    kind = "window lists"

    def _all(self, row: dict[Any, Any]) -> dict[Any, Any]:
        return {key: (0, elements.copy()) for key, elements in row.items()}

    def _changes(self, row: dict[Any, Any], touched: dict[Any, Any]) -> dict[Any, Any]:
        return {key: (kept, row[key][kept:]) for key, kept in touched.items()}

    def _apply(self, row: dict[Any, Any], changes: dict[Any, Any]) -> None:
        for key, (kept, appended) in changes.items():
            row.setdefault(key, [])[kept:] = appended
