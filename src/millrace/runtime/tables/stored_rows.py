"""The layout of rows in an operator's state, and which of them a changed query can reuse.

A query that uses fewer columns reuses the stored rows, cut to these columns, which are identified by what they are in
the source tables. Columns that it newly uses are in no stored row, so it is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.runtime.state.row_buffer_table import RowBufferTable
from millrace.runtime.state.tables import MapTable
from millrace.runtime.state.ttl_tables import TtlMapTable
from millrace.runtime.state.window_tables import WindowTable
from millrace.runtime.tables.stored_types import NotKeptError, widens

Row = tuple[Any, ...]
Entries = dict[Any, Any]
Adapt = Callable[[str, Entries, Callable[[Any], Any]], Entries]
"""(kind of a table, its entries, function that converts a value) -> the converted entries"""

WAITING, ROW, VERSIONS, NEAR, NUMBERED, CHANGES, RANKED, TIMED, SIDE, WITH_RESULTS = (
    "waiting", "row", "versions", "near", "numbered", "changes", "ranked", "timed", "side", "with results"
)  # fmt: skip
PLACED, PLACED_BY_KEY, ARRIVALS, FOUND = "placed", "placed by key", "arrivals", "found"
"""the forms of states with rows"""


@dataclass(frozen=True)
class StoredRows:
    """The layout of a state with rows."""

    state: str
    """name of the state"""
    form: str
    what: str
    """a name for the rows in messages"""
    columns: tuple[str, ...]
    """description of each column"""
    types: tuple[str, ...]
    unique: tuple[str, ...] | None = None
    """columns by which the state identifies rows; None: by all columns"""
    counts: bool = False
    """for a side of a join, whether each row is stored with the number of its partners"""
    results: int = 0
    """number of last columns that are results stored next to the row"""
    names: tuple[str, ...] = ()
    """the query's names of the first columns, as readers of a savepoint see them; a changed name changes no state"""

    @staticmethod
    def of(plain: dict[str, Any]) -> StoredRows:
        """Made from plain JSON."""
        unique = plain.get("unique")
        several = {name: tuple(plain.get(name, ())) for name in ("columns", "types", "names")}
        return StoredRows(**{**plain, **several, "unique": None if unique is None else tuple(unique)})


@dataclass(frozen=True)
class KeptRows:
    """How a state with rows is converted for a changed query."""

    before: StoredRows
    now: StoredRows
    places: tuple[int, ...]
    """for each present column, its index before"""

    @property
    def changes_nothing(self) -> bool:
        same = self.places == tuple(range(len(self.before.columns)))
        return same and (self.before.unique, self.before.form) == (self.now.unique, self.now.form)

    def cut(self, row: Row) -> Row:
        return tuple([row[place] for place in self.places])

    def _with_kind(self, row: Row) -> Row:
        return row[0], *self.cut(row[1:])

    def convert(self, kind: str, entries: Entries, adapt: Adapt) -> Entries:
        """The entries of the state, in full form, with converted rows."""
        if kind == RowBufferTable.kind:
            return {key: (times, [self._with_kind(row) for row in rows]) for key, (times, rows) in entries.items()}
        if kind == WindowTable.kind:
            change = _FORMS[self.now.form]
            return {
                end: (fresh, {key: change(self, kept) for key, kept in rows.items()})
                for end, (fresh, rows) in entries.items()
            }
        if self.now.form in (SIDE, PLACED, PLACED_BY_KEY, ARRIVALS) and kind in (MapTable.kind, TtlMapTable.kind):
            merged = {SIDE: self._side, ARRIVALS: self._arrivals}.get(self.now.form, self._placed)
            stamped = kind == TtlMapTable.kind
            return {at: (fresh, merged(rows, stamped), *more) for at, (fresh, rows, *more) in entries.items()}
        return adapt(kind, entries, lambda value: _FORMS[self.now.form](self, value))

    # -- states whose entries become one where rows are equal now --------------------------------------------------

    def _side(self, entries: Entries, stamped: bool) -> Entries:
        """A side of a join: (row, or its unique columns) -> the row, or the number of its copies; with its number of
        partners."""
        found: dict[Row, tuple[int, int, int]] = {}
        """row -> (number of copies, number of partners, time of the write in ms); rows that become equal are merged"""
        for key, value in entries.items():
            stamp, value = value if stamped else (0, value)
            first, partners = value if self.before.counts else (value, 0)
            row, count = (key, first) if self.before.unique is None else (first, 1)
            known = found.get(self.cut(row), (0, 0, 0))
            found[self.cut(row)] = (known[0] + count, partners, max(known[2], stamp))
        unique = self.now.unique
        by = None if unique is None else [self.now.columns.index(name) for name in unique]
        made: Entries = {}
        for row, (count, partners, stamp) in found.items():
            first = count if by is None else row
            value = (first, partners) if self.now.counts else first
            made[row if by is None else tuple([row[place] for place in by])] = (stamp, value) if stamped else value
        return made

    def _placed(self, entries: Entries, stamped: bool) -> Entries:
        """Rows with their arrival numbers, by the columns in which equal rows agree."""
        made: Entries = {}
        for name, value in entries.items():
            stamp, (places, row) = value if stamped else (0, value)
            row = self.cut(row)
            name = row if self.now.unique is None else name
            if name in made:
                old_stamp, (others, _) = made[name] if stamped else (0, made[name])
                stamp, places = max(stamp, old_stamp), tuple(sorted((*others, *places)))
            made[name] = (stamp, (places, row)) if stamped else (places, row)
        return made

    def _arrivals(self, entries: Entries, stamped: bool) -> Entries:
        """Row -> its arrival numbers."""
        made: Entries = {}
        for name, value in entries.items():
            stamp, numbers = value if stamped else (0, value)
            row = self.cut(name)
            if row in made:
                old_stamp, others = made[row] if stamped else (0, made[row])
                stamp, numbers = max(stamp, old_stamp), tuple(sorted((*others, *numbers)))
            made[row] = (stamp, numbers) if stamped else numbers
        return made


def _with_results(kept: KeptRows, rows: Entries) -> Entries:
    at = len(kept.now.columns) - kept.now.results
    both = {place: kept.cut((*row, *results)) for place, (row, results) in rows.items()}
    return {place: (row[:at], row[at:]) for place, row in both.items()}


_FORMS: dict[str, Callable[[KeptRows, Any], Any]] = {
    ROW: lambda kept, row: kept.cut(row),
    VERSIONS: lambda kept, rows: {time: row and kept.cut(row) for time, row in rows.items()},
    NEAR: lambda kept, rows: {time: tuple([(kept.cut(row), had) for row, had in of]) for time, of in rows.items()},
    NUMBERED: lambda kept, rows: {number: kept.cut(row) for number, row in rows.items()},
    CHANGES: lambda kept, rows: {number: (kind, kept.cut(row)) for number, (kind, row) in rows.items()},
    FOUND: lambda kept, found: [[kept.cut(row) for row in rows] for rows in found],
    RANKED: lambda kept, rows: tuple([(kept.cut(row), rank) for row, rank in rows]),
    WITH_RESULTS: _with_results,
    TIMED: lambda kept, value: (value[0], kept.cut(value[1])),
}
"""form of a state -> function that converts the value at an address"""


def kept_rows(before: StoredRows, now: StoredRows) -> KeptRows:
    """The conversion of rows that an earlier query stored.

    :raises NotKeptError: the rows lack a column that is needed now.
    """
    if before.form != now.form or before.counts != now.counts:
        raise NotKeptError(f"keeps {now.what} in another way: other kinds of changes come, or others are given")
    if before.unique != now.unique and (now.unique is not None or now.form != SIDE):
        by = "all columns" if now.unique is None else ", ".join(now.unique)
        raise NotKeptError(f"knows {now.what} by {by}; before by {', '.join(before.unique or ('all columns',))}")
    new = [name for name in dict.fromkeys(now.columns) if name not in before.columns]
    if new:
        raise NotKeptError(f"takes more columns: {now.what} have {', '.join(before.columns)}, and not {', '.join(new)}")
    times, now_times = Counter(before.columns), Counter(now.columns)
    several = next((name for name in now.columns if times[name] > 1 and times[name] != now_times[name]), None)
    if several is not None:
        raise NotKeptError(f"takes {several} of {now.what}, which have several columns of that: it is not known which")
    return KeptRows(before, now, _places(before.columns, now.columns, before.types, now.types, now.what))


def _places(
    before: Sequence[str], now: Sequence[str], types: Sequence[str], now_types: Sequence[str], what: str
) -> tuple[int, ...]:
    at: dict[str, list[int]] = {}
    for place, name in enumerate(before):
        at.setdefault(name, []).append(place)
    found = tuple([at[name].pop(0) for name in now])
    for place, name, kind in zip(found, now, now_types):
        if not widens(types[place], kind):
            raise NotKeptError(
                f"has {name} of {what} as {kind}, which does not hold all of the values before: {types[place]}"
            )
    return found
