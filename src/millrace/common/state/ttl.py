"""Time-to-live of state: ``StateTtlConfig``, importable from ``millrace.common.state``."""

from __future__ import annotations

from abc import ABC
from enum import Enum
from typing import Any, ClassVar

from millrace.common.time import Duration, TimeSpan, to_millis

__all__ = ["StateTtlConfig"]

_COMPACTION = Duration.of_days(30)


class StateTtlConfig:
    """When entries of a state expire, and whether expired ones may still be read.

    Made by ``StateTtlConfig.new_builder(Time.hours(1))....build()``.

        >>> ttl = StateTtlConfig.new_builder(Time.hours(1)).never_return_expired().build()
        >>> descriptor = ValueStateDescriptor("last", Types.INT())
        >>> descriptor.enable_time_to_live(ttl)
        >>> descriptor.get_ttl_config().get_ttl().to_milliseconds()
        3600000

    :raises ValueError: the time-to-live is not positive.
    """

    class UpdateType(Enum):
        """What starts the time of an entry again."""

        Disabled = 0
        """Nothing: entries do not expire."""
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired entry that is still there can be read."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """The clock of the time-to-live."""

        ProcessingTime = 0
        EventTime = 1
        """Timestamps and watermarks (an addition of Millrace). An access is at the time of the element that it is made
        for, or at the watermark if that is later; it sees what was stored less than the time-to-live before. So an
        hour of silence in the data lets entries expire, however fast the data is read."""

    def __init__(
        self,
        update_type: UpdateType,
        state_visibility: StateVisibility,
        ttl_time_characteristic: TtlTimeCharacteristic,
        ttl: TimeSpan,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        if to_millis(ttl) <= 0:
            raise ValueError("TTL is expected to be positive.")
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = ttl
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: TimeSpan) -> StateTtlConfig.Builder:
        """Start a configuration with this time-to-live."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> UpdateType:
        """What starts the time again."""
        return self._update_type

    def get_state_visibility(self) -> StateVisibility:
        """Whether expired entries can be read."""
        return self._state_visibility

    def get_ttl(self) -> TimeSpan:
        """The time-to-live, as it was given."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """The clock."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Whether entries expire at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """How expired entries that are not read are removed."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig<update_type={self._update_type}, state_visibility={self._state_visibility}, "
            f"ttl_time_characteristic={self._ttl_time_characteristic}, ttl={self._ttl}>"
        )

    class Builder:
        """Collects a configuration. By default: renewed on create and write, expired entries never returned."""

        def __init__(self, ttl: TimeSpan) -> None:
            self._ttl = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._is_cleanup_in_background = True
            self._strategies: dict[Any, Any] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """What starts the time of an entry again."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Only writing starts the time again."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Reading, too, starts the time again."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfig.Builder:
            """Whether expired entries can be read."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Expired entries can be read until they are removed."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Expired entries cannot be read."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """The clock."""
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Use the wall clock."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

        def use_event_time(self) -> StateTtlConfig.Builder:
            """Use timestamps and watermarks: what expires follows from the data alone. An addition of Millrace."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.EventTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired entries out of full snapshots."""
            cleanup = StateTtlConfig.CleanupStrategies
            return self._with(cleanup.Strategies.FULL_STATE_SCAN_SNAPSHOT, cleanup.EMPTY_STRATEGY)

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Look at ``cleanup_size`` entries on each access (and for each element, if so wished)."""
            cleanup = StateTtlConfig.CleanupStrategies
            strategy = cleanup.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
            return self._with(cleanup.Strategies.INCREMENTAL_CLEANUP, strategy)

        def cleanup_in_rocksdb_compact_filter(
            self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
        ) -> StateTtlConfig.Builder:
            """Remove expired entries when the on-disk backend compacts its files."""
            cleanup = StateTtlConfig.CleanupStrategies
            strategy = cleanup.RocksdbCompactFilterCleanupStrategy(
                query_time_after_num_entries, periodic_compaction_time
            )
            return self._with(cleanup.Strategies.ROCKSDB_COMPACTION_FILTER, strategy)

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Remove expired entries only as configured by the methods above, and on access."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: TimeSpan) -> StateTtlConfig.Builder:
            """Replace the time-to-live."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """The configuration; ValueError if the time-to-live is not positive."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(dict(self._strategies), self._is_cleanup_in_background),
            )

        def _with(self, key: Any, strategy: Any) -> StateTtlConfig.Builder:
            self._strategies[key] = strategy
            return self

    class CleanupStrategies:
        """How expired entries that are not read are removed."""

        class Strategies(Enum):
            """The kinds of cleanup."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy(ABC):
            """Settings of a kind of cleanup."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A kind without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """A few entries at each access."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Entries looked at each time."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Whether each element triggers a look, too."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """With the compaction of the on-disk backend."""

            def __init__(
                self, query_time_after_num_entries: int, periodic_compaction_time: Duration | None = None
            ) -> None:
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = (
                    _COMPACTION if periodic_compaction_time is None else periodic_compaction_time
                )

            def get_query_time_after_num_entries(self) -> int:
                """After how many entries the clock is read again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration:
                """Files older than this are compacted; 30 days by default, zero for never."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY: ClassVar[CleanupStrategy] = EmptyCleanupStrategy()

        def __init__(self, strategies: dict[Strategies, CleanupStrategy], is_cleanup_in_background: bool) -> None:
            self._strategies = strategies
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Whether the backend's default cleanup is on."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Whether full snapshots leave expired entries out."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(self) -> IncrementalCleanupStrategy | None:
            """The incremental cleanup: as configured; by default 5 entries in the background, else None."""
            default = self.IncrementalCleanupStrategy(5, False) if self._is_cleanup_in_background else None
            found = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP, default)
            return found if isinstance(found, self.IncrementalCleanupStrategy) else None

        def get_rocksdb_compact_filter_cleanup_strategy(self) -> RocksdbCompactFilterCleanupStrategy | None:
            """The cleanup by compaction: as configured; by default 1000 entries in the background, else None."""
            default = self.RocksdbCompactFilterCleanupStrategy(1000) if self._is_cleanup_in_background else None
            found = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER, default)
            return found if isinstance(found, self.RocksdbCompactFilterCleanupStrategy) else None
