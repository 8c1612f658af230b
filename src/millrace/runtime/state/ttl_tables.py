"""The tables of state with time to live: as those without, but each entry is (time of its last access in ms, what the
user stored). Other kinds, so that the two can't be taken for each other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from millrace.runtime.state.address import key_of
from millrace.runtime.state.tables import ListTable, MapTable, Table, ValueTable

if TYPE_CHECKING:
    from millrace.runtime.state.ttl import Expiry

TTL = "TTL "
"""before the kind of a table: with time to live"""

Show = Callable[[int, Any], Any]
"""what to show of an entry"""


class TtlTable(Table):
    """What the three kinds share."""

    expiry: Expiry | None = None
    """set when the function asks for the state"""

    @abstractmethod
    def drop(self, at: Any, limit: int) -> int | None:
        """Remove the entries at ``at`` that were not accessed after ``limit`` (ms); the oldest access of the others.

        None if no entries are left, or there were none.
        """

    @abstractmethod
    def select(self, row: Any, limit: float, show: Show) -> Any:
        """The entries of a row that were accessed after ``limit``; None without any."""

    def content(self, at: Any) -> Any:
        return self._visible(at, lambda stamp, value: value)

    def expirations(self, at: Any) -> Any:
        """When the entries expire (ms): a time, a list or a dict of times, as the state is. None for nothing."""
        if self.expiry is None:
            raise ValueError("nobody has asked for this state yet: only a descriptor says how long it lives")
        ttl = self.expiry.ttl
        return self._visible(at, lambda stamp, value: stamp + ttl)

    def keys(self) -> Iterator[Any]:
        limit = self._limit()
        return iter(
            dict.fromkeys(
XX            )
        )

    def _visible(self, at: Any, show: Show) -> Any:
        return self.select(self.rows[at], self._limit(), show) if at in self.rows else None

    def _limit(self) -> float:
        """What was accessed later than this can still be seen."""
        expiry = self.expiry
        return float("-inf") if expiry is None or expiry.show_expired else expiry.horizon() - expiry.ttl


class TtlValueTable(TtlTable, ValueTable):
    kind = TTL + ValueTable.kind

    def drop(self, at: Any, limit: int) -> int | None:
        stamp: int = self.rows[at][0]
        if stamp > limit:
            return stamp
        del self.rows[at]
        self.touched[at] = None
        return None

    def select(self, row: Any, limit: float, show: Show) -> Any:
        return show(*row) if row[0] > limit else None


class TtlListTable(TtlTable, ListTable):
    kind = TTL + ListTable.kind

    def drop(self, at: Any, limit: int) -> int | None:
        row = self.rows[at]
        left = [entry for entry in row if entry[0] > limit]
        if len(left) < len(row):
            if left:
                self.rows[at] = left
            else:
                del self.rows[at]
            self.touched[at] = 0
        return min((stamp for stamp, _ in left), default=None)

    def select(self, row: Any, limit: float, show: Show) -> Any:
        return [show(*entry) for entry in row if entry[0] > limit] or None


class TtlMapTable(TtlTable, MapTable):
    kind = TTL + MapTable.kind

    def drop(self, at: Any, limit: int) -> int | None:
        row = self.rows[at]
        gone = [key for key, (stamp, _) in row.items() if stamp <= limit]
        if len(gone) == len(row):
            del self.rows[at]
            self.touched.pop(at, None)
            self.cleared.add(at)
            return None
        if gone:
            touched = self.touched.setdefault(at, {})
            for key in gone:
                del row[key]
                touched[key] = True
        return min((stamp for stamp, _ in row.values()), default=None)

    def select(self, row: Any, limit: float, show: Show) -> Any:
        return {key: show(*entry) for key, entry in row.items() if entry[0] > limit} or None
