"""Defaults, ranges and combined values; the expected values were read off PyFlink 2.3."""

from __future__ import annotations

import datetime
import pickle

import pytest

from millrace.common.configuration import Configuration
from millrace.common.state.storage import ExternalizedCheckpointRetention
from millrace.common.time import Duration
from millrace.datastream.checkpointing_mode import CheckpointingMode
from millrace.datastream.job_settings import CheckpointConfig


def configured(**values: str) -> CheckpointConfig:
    configuration = Configuration()
    for key, value in values.items():
        configuration.set_string("execution.checkpointing." + key.replace("__", ".").replace("_", "-"), value)
    return CheckpointConfig(configuration)


def test_defaults_are_flinks() -> None:
    config = CheckpointConfig()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpoint_timeout() == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(0)
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()
    assert not config.is_force_unaligned_checkpoints()
    assert config.to_dict() == {}


def test_mode_is_at_least_once_until_checkpointing_is_enabled() -> None:
    config = CheckpointConfig()
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    config.set_checkpoint_interval(1000)
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE


def test_setters_chain_and_set() -> None:
    config = (
        CheckpointConfig()
        .set_checkpoint_interval(10)
        .set_checkpoint_timeout(11)
        .set_min_pause_between_checkpoints(12)
        .set_max_concurrent_checkpoints(3)
        .set_fail_on_checkpointing_errors(False)
        .set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
        .set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
        .set_alignment_timeout(datetime.timedelta(seconds=2))
        .set_force_unaligned_checkpoints()
    )
    assert config.get_checkpoint_interval() == 10
    assert config.get_checkpoint_timeout() == 11
    assert config.get_min_pause_between_checkpoints() == 12
    assert config.get_max_concurrent_checkpoints() == 3  # Flink 2.3 keeps it, with or without a pause
    assert config.get_tolerable_checkpoint_failure_number() == 2147483647
    assert not config.is_fail_on_checkpointing_errors()
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.is_externalized_checkpoints_enabled()
    assert config.get_alignment_timeout() == Duration.of_seconds(2)
    assert config.is_force_unaligned_checkpoints()


@pytest.mark.parametrize(
    ("setter", "value"),
    [
        ("set_checkpoint_interval", 9),
        ("set_checkpoint_interval", -1),
        ("set_checkpoint_timeout", 9),
        ("set_min_pause_between_checkpoints", -1),
        ("set_max_concurrent_checkpoints", 0),
        ("set_tolerable_checkpoint_failure_number", -1),
        ("set_aligned_checkpoint_timeout", Duration.of_millis(-5)),
    ],
)
def test_values_out_of_range_are_refused(setter: str, value: object) -> None:
    config = CheckpointConfig()
    with pytest.raises(ValueError, match="must be larger than or equal to"):
        getattr(config, setter)(value)
    assert config.to_dict() == {}


def test_values_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(TypeError, match="Checkpoint interval must be an int, not '1s'"):
        CheckpointConfig().set_checkpoint_interval("1s")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="CheckpointingMode"):
        CheckpointConfig().set_checkpointing_mode("EXACTLY_ONCE")  # type: ignore[arg-type]


def test_unaligned_checkpoints_need_exactly_once() -> None:
    config = CheckpointConfig().enable_unaligned_checkpoints()
    assert not config.is_unaligned_checkpoints_enabled()  # no interval yet
    config.set_checkpoint_interval(100)
    assert config.is_unaligned_checkpoints_enabled()
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)
    assert not config.is_unaligned_checkpoints_enabled()
    config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE).disable_unaligned_checkpoints()
    assert not config.is_unaligned_checkpoints_enabled()


def test_unaligned_checkpoints_do_not_overlap() -> None:
    config = CheckpointConfig().set_checkpoint_interval(100).set_max_concurrent_checkpoints(2)
    config.validate()
    config.enable_unaligned_checkpoints()
    with pytest.raises(ValueError, match="maxConcurrentCheckpoints can't be > 1 if UnalignedCheckpoints enabled"):
        config.validate()
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE).validate()


def test_configure_reads_flinks_keys() -> None:
    config = configured(
        interval="3 min",
        timeout="PT2M",
        mode="at_least_once",
        min_pause="7 s",
        max_concurrent_checkpoints="3",
        tolerable_failed_checkpoints="4",
        externalized_checkpoint_retention="RETAIN_ON_CANCELLATION",
        unaligned__enabled="true",
        unaligned__forced="true",
        aligned_checkpoint_timeout="3 s",
    )
    assert config.get_checkpoint_interval() == 180_000
    assert config.get_checkpoint_timeout() == 120_000
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert config.get_min_pause_between_checkpoints() == 7000
    assert config.get_max_concurrent_checkpoints() == 3
    assert config.get_tolerable_checkpoint_failure_number() == 4
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    assert config.is_force_unaligned_checkpoints()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_seconds(3)
    assert config.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE).is_unaligned_checkpoints_enabled()


def test_the_old_key_of_unaligned_checkpoints_yields_to_the_new_one() -> None:
    assert configured(interval="5 s", unaligned="true").is_unaligned_checkpoints_enabled()
    both = configured(interval="5 s", unaligned__enabled="false", unaligned="true")
    assert not both.is_unaligned_checkpoints_enabled()


def test_configure_leaves_what_is_not_set() -> None:
    config = CheckpointConfig().set_checkpoint_timeout(50)
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.interval", "1 s")
    config.configure(configuration)
    assert (config.get_checkpoint_interval(), config.get_checkpoint_timeout()) == (1000, 50)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("interval", "5"),  # 5 ms
        ("interval", "soon"),
        ("mode", "TWICE"),
        ("unaligned.enabled", "yes"),
        ("max-concurrent-checkpoints", "many"),
    ],
)
def test_a_bad_value_names_its_key_and_changes_nothing(key: str, value: str) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.timeout", "20 s")
    configuration.set_string(f"execution.checkpointing.{key}", value)
    config = CheckpointConfig()
    with pytest.raises(ValueError, match=f"Could not use value '{value}' for key 'execution.checkpointing.{key}'"):
        config.configure(configuration)
    assert config.to_dict() == {}


def test_to_dict_is_what_configure_reads() -> None:
    config = CheckpointConfig().set_checkpoint_interval(1234).enable_unaligned_checkpoints()
    assert config.to_dict() == {
        "execution.checkpointing.interval": "1234 ms",
        "execution.checkpointing.unaligned.enabled": "true",
    }
    configuration = Configuration()
    for key, value in config.to_dict().items():
        configuration.set_string(key, value)
    assert CheckpointConfig(configuration).to_dict() == config.to_dict()


def test_pickles() -> None:
    config = pickle.loads(pickle.dumps(CheckpointConfig().set_checkpoint_interval(77)))
    assert config.get_checkpoint_interval() == 77
