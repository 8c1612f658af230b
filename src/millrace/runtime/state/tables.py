"""The tables of the heap backend: one dict per state, and what changed since the last delta.

A delta contains only changed entries, in the table's own form: ``apply`` on another copy of the table with the same
content gives the same result. ``entries`` is the full content as a delta onto an empty table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from millrace.runtime.state.address import key_of
from millrace.runtime.state.figures import MEMORY_BYTES, ROWS, Figures


class _Absent:
    """Marks an entry that a delta removes."""

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


class Table(ABC):
    """All entries of one named state in one subtask."""

    kind: str
    in_columns = False
    """whether ``apply`` also accepts deltas in columns (``column_deltas.py``)"""
    added_share = 0.0
    """the part (0 to 1) of the last delta in columns that only adds entries and replaces none"""

    def __init__(self) -> None:
        self.rows: MutableMapping[Any, Any] = {}

    @abstractmethod
    def delta(self) -> dict[Any, Any]:
        """The changes since the last call (address -> change)."""

    def pending(self) -> int:
        """The number of entries changed since the last delta, as far as it is known without counting."""
        return 0

    @abstractmethod
    def apply(self, changes: dict[Any, Any]) -> None:
        """Apply a delta."""

    @abstractmethod
    def entries(self) -> dict[Any, Any]:
        """The whole content, as a delta onto an empty table."""

    def entry_pieces(self) -> Iterator[dict[Any, Any]]:
        """The whole content, as deltas onto an empty table that are applied one after the other."""
        entries = self.entries()
        if entries:
            yield entries

    def told_pieces(self) -> Iterator[dict[Any, Any]]:
        """The whole content as ``entry_pieces`` gives it, but in the form of ``delta``, which may differ from that of
        entries."""
        return self.entry_pieces()

    def figures(self) -> Figures:
        """What the table tells of itself: the number of its entries (of windows: of their ends)."""
        return {ROWS: len(self.rows)}

    def size(self) -> Any:
        """The bytes of the rows in memory; of a table of objects the dict of its entries, of which they are
        estimated."""
        return self.figures().get(MEMORY_BYTES, self.rows)

    def wipe(self) -> None:
        """Delete everything, and forget the changes: no delta will be taken."""
        raise NotImplementedError

    def on_disk(self, shelf: Any, folder: str, memory: int) -> Any:
        """For an empty table in columns: let its rows be on disk, in runs.

        :param shelf: the ``StoredTable`` for the list of runs.
        :param folder: where the runs are.
        :param memory: the bytes of rows that all tables of the process may have in memory.
        :return: the rows as a table of the task's store (``RowsOnDisk``).
        """
        raise NotImplementedError(f"{type(self).__name__} has no rows on disk")

    @staticmethod
    def only(entries: dict[Any, Any], keep: Callable[[Any], bool]) -> dict[Any, Any]:
        """The part of ``entries`` whose keys satisfy ``keep``; several such parts may be applied one after the
        other.
        """
        return {at: entry for at, entry in entries.items() if keep(key_of(at))}

    def row(self, at: Any) -> Any:
        """The entry at an address (not a copy: don't change it); None: there is none."""
        return self.rows.get(at)

    def content(self, at: Any) -> Any:
        """What a user sees at an address (not a copy); None: nothing."""
        return self.row(at)

    def addresses(self) -> Iterator[Any]:
        """All addresses with an entry; the table may change meanwhile."""
        return iter(list(self.rows))

    def visible(self) -> Iterator[Any]:
        """The addresses at which users see something; the table may change meanwhile."""
        return self.addresses()

    def keys(self) -> Iterator[Any]:
        """The distinct keys for which users see something; the table may change meanwhile."""
        return iter(dict.fromkeys(map(key_of, self.visible())))


class ValueTable(Table):
    """One object per address: value, reducing and aggregating state."""

    kind = "value"

    def __init__(self) -> None:
        super().__init__()
        self.touched: dict[Any, None] = {}
        """an ordered set of changed addresses: a copy of the table gets new rows in the same order"""

    def wipe(self) -> None:
        self.rows.clear()
        self.touched.clear()

    def pending(self) -> int:
        return len(self.touched)

    def delta(self) -> dict[Any, Any]:
        get = self.rows.get
        changes = {at: get(at, ABSENT) for at in self.touched}
        self.touched.clear()
        return changes

    def apply(self, changes: dict[Any, Any]) -> None:
        removed = [at for at, value in changes.items() if value is ABSENT]
        self.rows.update(changes)
        for at in removed:
            del self.rows[at]

    def entries(self) -> dict[Any, Any]:
        return dict(self.rows)


class ListTable(Table):
    """A list per address. A change is (length that is retained, elements to append), so appending costs only what is
    appended."""

    kind = "list"

    def __init__(self) -> None:
        super().__init__()
        self.touched: dict[Any, int] = {}
        """address -> number of elements at the beginning of the list that are unchanged since the last delta"""

    def append(self, at: Any, value: Any) -> None:
        row = self.rows.get(at)
        if row is None:
            self.rows[at] = [value]
            self.touched[at] = 0
            return
        if at not in self.touched:
            self.touched[at] = len(row)
        row.append(value)

    def replace(self, at: Any, values: list[Any]) -> None:
        """Replace the list by ``values``, which must not be empty."""
        self.rows[at] = list(values)
        self.touched[at] = 0

    def remove(self, at: Any) -> None:
        if self.rows.pop(at, None) is not None:
            self.touched[at] = 0

    def wipe(self) -> None:
        self.rows.clear()
        self.touched.clear()

    def pending(self) -> int:
        return len(self.touched)

    def delta(self) -> dict[Any, Any]:
        changes = {}
        for at, kept in self.touched.items():
            row = self.rows.get(at)
            changes[at] = ABSENT if row is None else (kept, row[kept:])
        self.touched = {}
        return changes

    def apply(self, changes: dict[Any, Any]) -> None:
        for at, change in changes.items():
            if change is ABSENT:
                self.rows.pop(at, None)
            else:
                kept, appended = change
                self.rows.setdefault(at, [])[kept:] = appended

    def entries(self) -> dict[Any, Any]:
        return {at: (0, list(row)) for at, row in self.rows.items()}


class MapTable(Table):
    """A dict per address. A change is (start from empty, {user key: value or ABSENT}, user keys to put at the end).

    The order of a dict is kept on every copy: what a user function sees must not depend on the worker that runs it.
    """

    kind = "map"
    in_memory = True
    """whether ``rows`` contains the whole content"""

    def __init__(self) -> None:
        super().__init__()
        self.touched: dict[Any, dict[Any, bool]] = {}
        """address -> user key -> whether it was removed since the last delta; in the order of the rows"""
        self.cleared: dict[Any, None] = {}
        """addresses whose map the next delta contains as a whole, because it is new or was cleared; they are not in
        ``touched``"""

    def get(self, at: Any, key: Any) -> Any:
        """The value of a user key; None: there is none."""
        row = self.rows.get(at)
        return None if row is None else row.get(key)

    def contains(self, at: Any, key: Any) -> bool:
        return key in self.rows.get(at, ())

    def is_empty(self, at: Any) -> bool:
        return at not in self.rows

    def put(self, at: Any, key: Any, value: Any) -> None:
        row = self.rows.get(at)
        if row is None:
            self.rows[at] = {key: value}
            self.cleared[at] = None
            return
        if at not in self.cleared:
            touched = self.touched.get(at)
            if touched is None:
                self.touched[at] = {key: False}
            elif key in row:
                touched.setdefault(key, False)
            else:  # a new key goes to the end, there as here
                touched[key] = touched.pop(key, False)
        row[key] = value

    def remove_key(self, at: Any, key: Any) -> None:
        row = self.rows.get(at)
        if row is None or key not in row:
            return
        if len(row) == 1:
            self.remove(at)
            return
        del row[key]
        if at not in self.cleared:
            touched = self.touched.get(at)
            if touched is None:
                touched = self.touched[at] = {}
            touched[key] = True

    def remove(self, at: Any) -> None:
        """Remove the whole map."""
        if self.rows.pop(at, None) is not None:
            self.touched.pop(at, None)
            self.cleared[at] = None

    def wipe(self) -> None:
        self.rows.clear()
        self.touched.clear()
        self.cleared.clear()

    def pending(self) -> int:
        return len(self.touched) + len(self.cleared)

    def delta(self) -> dict[Any, Any]:
        changes: dict[Any, Any] = {}
        for at in self.cleared:
            row = self.rows.get(at)
            changes[at] = ABSENT if row is None else (True, dict(row), [])
        for at, keys in self.touched.items():
            row = self.rows[at]
            again = [key for key, removed in keys.items() if removed and key in row]
            changes[at] = (False, {key: row.get(key, ABSENT) for key in keys}, again)
        self.touched, self.cleared = {}, {}
        return changes

    def apply(self, changes: dict[Any, Any]) -> None:
        for at, change in changes.items():
            if change is ABSENT:
                self.rows.pop(at, None)
                continue
            fresh, items, again = change
            row = {} if fresh else self.rows.get(at, {})
            for key in again:
                row.pop(key, None)
            for key, value in items.items():
                if value is ABSENT:
                    row.pop(key, None)
                else:
                    row[key] = value
            if row:
                self.rows[at] = row
            else:
                self.rows.pop(at, None)

    def entries(self) -> dict[Any, Any]:
        return {at: (True, dict(row), []) for at, row in self.rows.items()}
