"""Tables of state with time to live: each entry is (time of its last access in ms, the user's value).

They have kinds of their own, so that they can't be confused with tables without time to live.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from millrace.runtime.state.tables import ListTable, MapTable, Table, ValueTable

if TYPE_CHECKING:
    from millrace.runtime.state.ttl import Expiry

TTL = "TTL "
"""prefix of the kind of a table with time to live"""

Show = Callable[[int, Any], Any]
"""(time of the last access in ms, value) -> what ``select`` returns for the entry"""


class TtlTable(Table):
    """The base of the three kinds of tables with time to live."""

    expiry: Expiry | None = None
    """set when the function requests the state"""

    @abstractmethod
    def drop(self, at: Any, limit: int) -> int | None:
        """Remove the entries at ``at`` that were not accessed after ``limit`` (ms). Returns the oldest access of the
        remaining ones.

        None if no entries remain, or there were none.
        """

    @abstractmethod
    def select(self, row: Any, limit: float, show: Show) -> Any:
        """The entries of a row that were accessed after ``limit`` (ms); None: there are none."""

    def content(self, at: Any) -> Any:
        return self._visible(at, lambda stamp, value: value)

    def expirations(self, at: Any) -> Any:
        """When the entries expire (ms): a time, or a list or dict of times, in the shape of the state. None: there are
        no entries."""
        if self.expiry is None:
            raise ValueError("nobody has asked for this state yet: only a descriptor says how long it lives")
        ttl = self.expiry.ttl
        return self._visible(at, lambda stamp, value: stamp + ttl)

    def visible(self) -> Iterator[Any]:
        return (at for at in self.addresses() if self.content(at) is not None)

    def _visible(self, at: Any, show: Show) -> Any:
        row = self.row(at)
        return None if row is None else self.select(row, self._limit(), show)

    def _limit(self) -> float:
        """The time of access (ms) after which an entry can still be seen."""
        expiry = self.expiry
        return float("-inf") if expiry is None or expiry.show_expired else expiry.horizon() - expiry.ttl


class TtlValueTable(TtlTable, ValueTable):
    """One entry per address."""

    kind = TTL + ValueTable.kind

    def drop(self, at: Any, limit: int) -> int | None:
        entry = self.rows.get(at)
        if entry is None:
            return None
        stamp: int = entry[0]
        if stamp > limit:
            return stamp
        del self.rows[at]
        self.touched[at] = None
        return None

    def select(self, row: Any, limit: float, show: Show) -> Any:
        return show(*row) if row[0] > limit else None


class TtlListTable(TtlTable, ListTable):
    """A list of entries per address."""

    kind = TTL + ListTable.kind

    def drop(self, at: Any, limit: int) -> int | None:
        row = self.row(at) or ()
        left = [entry for entry in row if entry[0] > limit]
        if not left:
            self.remove(at)
        elif len(left) < len(row):
            self.replace(at, left)
        return min((stamp for stamp, _ in left), default=None)

    def select(self, row: Any, limit: float, show: Show) -> Any:
        return [show(*entry) for entry in row if entry[0] > limit] or None


class TtlMapTable(TtlTable, MapTable):
    """A dict of entries per address."""

    kind = TTL + MapTable.kind

    def drop(self, at: Any, limit: int) -> int | None:
        row = self.row(at) or {}
        left = [stamp for stamp, _ in row.values() if stamp > limit]
        if not left:
            self.remove(at)
        elif len(left) < len(row):
            for key in [key for key, (stamp, _) in row.items() if stamp <= limit]:
                self.remove_key(at, key)
        return min(left, default=None)

    def select(self, row: Any, limit: float, show: Show) -> Any:
        return {key: show(*entry) for key, entry in row.items() if entry[0] > limit} or None
