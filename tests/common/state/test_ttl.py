"""StateTtlConfig; defaults were read off PyFlink 2.3."""

from __future__ import annotations

import datetime
import pickle

import pytest

from millrace.common.time import Duration, Time
from millrace.datastream.state import StateTtlConfig

Cleanup = StateTtlConfig.CleanupStrategies


def test_defaults() -> None:
    config = StateTtlConfig.new_builder(Time.hours(1)).build()
    assert config.get_ttl() == Time.hours(1)
    assert config.is_enabled()
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    cleanup = config.get_cleanup_strategies()
    assert cleanup.is_cleanup_in_background()
    assert not cleanup.in_full_snapshot()
    incremental = cleanup.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (5, False)
    compaction = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert compaction is not None
    assert compaction.get_query_time_after_num_entries() == 1000
    assert compaction.get_periodic_compaction_time() == Duration.of_days(30)


def test_builder() -> None:
    config = (
        StateTtlConfig.new_builder(Time.hours(1))
        .set_ttl(Time.seconds(5))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(7, True)
        .cleanup_in_rocksdb_compact_filter(9, Duration.of_millis(0))
        .disable_cleanup_in_background()
        .build()
    )
    config = pickle.loads(pickle.dumps(config))
    assert config.get_ttl() == Time.seconds(5)
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    cleanup = config.get_cleanup_strategies()
    assert cleanup.in_full_snapshot()
    assert not cleanup.is_cleanup_in_background()
    assert cleanup.get_incremental_cleanup_strategy().get_cleanup_size() == 7
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy().get_periodic_compaction_time() == Duration.of_millis(0)


def test_event_time() -> None:
    config = StateTtlConfig.new_builder(Time.hours(1)).use_event_time().build()
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.EventTime
    again = StateTtlConfig.new_builder(Time.hours(1)).use_event_time().use_processing_time().build()
    assert again.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime


def test_without_cleanup_in_background_there_is_no_default() -> None:
    cleanup = StateTtlConfig.new_builder(Time.hours(1)).disable_cleanup_in_background().build().get_cleanup_strategies()
    assert cleanup.get_incremental_cleanup_strategy() is None
    assert cleanup.get_rocksdb_compact_filter_cleanup_strategy() is None


def test_a_builder_that_goes_on_does_not_change_what_it_built() -> None:
    builder = StateTtlConfig.new_builder(Time.hours(1))
    first = builder.build()
    builder.cleanup_full_snapshot()
    assert not first.get_cleanup_strategies().in_full_snapshot()


@pytest.mark.parametrize("ttl", [Time.milliseconds(0), Duration.of_millis(-1), datetime.timedelta(0)])
def test_the_time_to_live_is_positive(ttl: Time) -> None:
    with pytest.raises(ValueError, match="TTL is expected to be positive"):
        StateTtlConfig.new_builder(ttl).build()


def test_the_time_to_live_is_a_span() -> None:
    with pytest.raises(TypeError):
        StateTtlConfig.new_builder(5).build()  # type: ignore[arg-type]
