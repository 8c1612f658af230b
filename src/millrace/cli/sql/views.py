"""The rows behind the modes ``table`` (a changing table) and ``changelog`` (its changes)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Sequence

from millrace.common.types import RowKind

RowCells = tuple[str, ...]
_ADDS = (RowKind.INSERT, RowKind.UPDATE_AFTER)


class View(ABC):
    """The lines of a result that grows or changes while it is shown."""

    def __init__(self) -> None:
        self.received = 0
        self.forgotten = 0
        """number of rows that were dropped in favour of newer ones"""

    @abstractmethod
    def add(self, kind: RowKind, cells: Sequence[str]) -> None:
        """Add a change of the query."""

    @abstractmethod
    def rows(self) -> list[RowCells]:
        """The current lines."""


class ChangelogView(View):
    """The last changes, each with its kind in front."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._rows: deque[RowCells] = deque(maxlen=most)

    def add(self, kind: RowKind, cells: Sequence[str]) -> None:
        self.received += 1
        self.forgotten += len(self._rows) == self._rows.maxlen
        self._rows.append((str(kind), *cells))

    def rows(self) -> list[RowCells]:
        return list(self._rows)


class TableView(View):
    """The table that the changes produce, in the order in which its rows arrived.

    An updated row stays in its place. Equal rows are counted.

    :param most: largest number of rows; beyond it the oldest are dropped.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._rows: dict[int, RowCells] = {}
        self._places: defaultdict[RowCells, list[int]] = defaultdict(list)
        self._next = 0
        self._replaced: int | None = None
        """place of the row that was just retracted by an UPDATE_BEFORE; its UPDATE_AFTER comes next"""

    def add(self, kind: RowKind, cells: Sequence[str]) -> None:
        self.received += 1
        row = tuple(cells)
        if kind is RowKind.UPDATE_AFTER and self._replaced is not None:
            place, self._replaced = self._replaced, None
            self._put(place, row)
            return
        self._settle()
        if kind in _ADDS:
            self._put(self._next, row)
            self._next += 1
        else:
            self._take(row, stays=kind is RowKind.UPDATE_BEFORE)

    def _put(self, place: int, row: RowCells) -> None:
        self._rows[place] = row
        self._places[row].append(place)
        if len(self._rows) > self._most:
            oldest = next(iter(self._rows))
            self._forget(oldest)
            del self._rows[oldest]
            self.forgotten += 1

    def _take(self, row: RowCells, stays: bool) -> None:
        if row not in self._places:
            return  # it has given way to newer ones
        place = self._places[row][-1]
        self._forget(place)
        if stays:
            self._replaced = place
        else:
            del self._rows[place]

    def _settle(self) -> None:
        """Remove a retracted row for which no UPDATE_AFTER came."""
        if self._replaced is not None:
            del self._rows[self._replaced]
            self._replaced = None

    def _forget(self, place: int) -> None:
        row = self._rows[place]
        if place in self._places.get(row, ()):
            self._places[row].remove(place)
            if not self._places[row]:
                del self._places[row]

    def rows(self) -> list[RowCells]:
        return [row for place, row in list(self._rows.items()) if place != self._replaced]
