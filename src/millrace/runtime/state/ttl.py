"""Time to live of state: when the entries of one state expire, and when they are removed.

An entry is what has a timestamp of its own: a value, an accumulator, an element of a list, a key of a map. Tables store
it as the time of its last access and the user's value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.state import StateTtlConfig
from millrace.common.time import to_millis
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.state.ttl_cleanup import IncrementalCleanup
from millrace.runtime.state.ttl_tables import TtlTable

Entry = tuple[int, Any]
"""(time of the last access in ms, the user's value)"""


class Expiry:
    """The rules for one table. All state objects over the table share it.

    What a user sees never depends on when expired entries are removed, unless the state is configured with
    ``ReturnExpiredIfNotCleanedUp``.
    """

    def __init__(self, table: TtlTable, config: StateTtlConfig, time: StateTime) -> None:
        event_time = config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.EventTime
        self.now = time.event if event_time else time.processing
        """gives the time of the current access (ms)"""
        self.horizon = time.horizon if event_time else time.processing
        """gives a lower limit of the time of later accesses (ms)"""
        self.ttl = to_millis(config.get_ttl())
        self.renew_on_read = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        self.show_expired = config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        strategies = config.get_cleanup_strategies()
        incremental = strategies.get_incremental_cleanup_strategy()
        size = 0 if incremental is None else incremental.get_cleanup_size()
        self._cleanup = IncrementalCleanup(table, self.horizon, self.ttl, size)
        self._for_every_record = incremental is not None and incremental.run_cleanup_for_every_record()
        compaction = strategies.get_rocksdb_compact_filter_cleanup_strategy()
        self._when_full = strategies.in_full_snapshot() or compaction is not None
        self._table = table

    # -- accesses -------------------------------------------------------------------------------------------------

    def access(self) -> int:
        """The time of an access that begins (ms). Each access does a little cleanup first."""
        now = self.now()
        if now >= self._cleanup.due:
            self._cleanup.step()
        return now

    def is_hidden(self, stamp: int, now: int) -> bool:
        """Whether an entry that was last accessed at ``stamp`` (ms) counts as absent."""
        return stamp <= now - self.ttl and not self.show_expired

    def read(
        self, entry: Entry | None, now: int, renew: Callable[..., None], drop: Callable[..., None], *key: Any
    ) -> Entry | None:
        """The value that a reader of an entry sees. Renews the entry by ``renew(*key, entry)``, or removes it by
        ``drop(*key)``.

        An expired entry that may be seen is seen once: reading removes it.
        """
        if entry is None:
            return None
        stamp = entry[0]
        if stamp <= now - self.ttl:
            if stamp <= self.horizon() - self.ttl:
                drop(*key)
            return entry if self.show_expired else None
        if self.renew_on_read and stamp < now:
            renew(*key, (now, entry[1]))
        return entry

    def combine(self, one: Entry, other: Entry, function: Callable[[Any, Any], Any]) -> Entry:
        """Combine two entries into one; an expired entry counts as absent."""
        now = self.now()
        if self.is_hidden(min(one[0], other[0]), now):
            return one if one[0] >= other[0] else other
        return max(now, one[0], other[0]), function(one[1], other[1])

    # -- cleaning -------------------------------------------------------------------------------------------------

    def after_records(self, count: int) -> None:
        """The operator has processed this many elements."""
        if self._for_every_record and self.now() >= self._cleanup.due:
            self._cleanup.step(count)

    def before_full_snapshot(self) -> None:
        """The whole table is about to be written: remove entries that cannot be seen any more.

        This is also the backend's compaction, so a state that is cleaned up by compaction is cleaned up here.
        """
        if self._when_full:
            limit = self.horizon() - self.ttl
            for at in self._table.addresses():
                self._table.drop(at, limit)
