from __future__ import annotations

import pytest

from millrace.common.configuration import Configuration
from millrace.common.execution_config import ExecutionConfig


def test_defaults_are_flinks() -> None:
    config = ExecutionConfig()
    assert config.get_auto_watermark_interval() == 200
    assert config.get_latency_tracking_interval() == 0
    assert (config.get_parallelism(), config.get_max_parallelism()) == (-1, -1)
    assert config.get_task_cancellation_interval() == 30_000
    assert config.get_task_cancellation_timeout() == 180_000
    assert config.has_auto_generated_uids_enabled()
    assert config.is_closure_cleaner_enabled()
    assert not config.is_object_reuse_enabled()
    assert not config.is_use_snapshot_compression()
    assert not config.has_generic_types_disabled()
    assert config.get_global_job_parameters() == {}
    assert config.get_default_kryo_serializer_classes() == {}
    assert config.get_registered_kryo_types() == config.get_registered_pojo_types() == []


def test_settings_lie_under_flinks_keys() -> None:
    configuration = Configuration()
    (
        ExecutionConfig(configuration)
        .set_parallelism(3)
        .set_max_parallelism(7)
        .set_auto_watermark_interval(77)
        .set_latency_tracking_interval(5)
        .set_task_cancellation_interval(9)
        .set_task_cancellation_timeout(10)
        .enable_object_reuse()
        .disable_auto_generated_uids()
        .disable_closure_cleaner()
        .set_use_snapshot_compression(True)
        .set_global_job_parameters({"a": 1, "b": True})
    )
    assert configuration.to_dict() == {
        "parallelism.default": "3",
        "pipeline.max-parallelism": "7",
        "pipeline.auto-watermark-interval": "77 ms",
        "metrics.latency.interval": "5 ms",
        "task.cancellation.interval": "9 ms",
        "task.cancellation.timeout": "10 ms",
        "pipeline.object-reuse": "true",
        "pipeline.auto-generate-uids": "false",
        "pipeline.closure-cleaner-level": "NONE",
        "execution.checkpointing.snapshot-compression": "true",
        "pipeline.global-job-parameters": "a:1,b:True",
    }
    read_back = ExecutionConfig(Configuration.from_dict(configuration.to_dict()))
    assert read_back.get_parallelism() == 3
    assert read_back.get_auto_watermark_interval() == 77
    assert read_back.get_global_job_parameters() == {"a": "1", "b": "True"}


@pytest.mark.parametrize(
    ("enable", "disable", "ask", "when_enabled"),
    [
        ("enable_closure_cleaner", "disable_closure_cleaner", "is_closure_cleaner_enabled", True),
        ("enable_force_kryo", "disable_force_kryo", "is_force_kryo_enabled", True),
        ("enable_force_avro", "disable_force_avro", "is_force_avro_enabled", True),
        ("enable_generic_types", "disable_generic_types", "has_generic_types_disabled", False),
        ("enable_auto_generated_uids", "disable_auto_generated_uids", "has_auto_generated_uids_enabled", True),
        ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled", True),
    ],
)
def test_switches(enable: str, disable: str, ask: str, when_enabled: bool) -> None:
    config = ExecutionConfig()
    assert getattr(config, enable)() is config
    assert getattr(config, ask)() is when_enabled
    getattr(config, disable)()
    assert getattr(config, ask)() is not when_enabled


@pytest.mark.parametrize(
    ("setter", "wrong"),
    [
        ("set_parallelism", 0),
        ("set_parallelism", -5),
        ("set_max_parallelism", 0),
        ("set_auto_watermark_interval", -1),
        ("set_task_cancellation_interval", -1),
        ("set_task_cancellation_timeout", -1),
    ],
)
def test_wrong_numbers(setter: str, wrong: int) -> None:
    with pytest.raises(ValueError, match=str(wrong)):
        getattr(ExecutionConfig(), setter)(wrong)


def test_unknown_parallelism_changes_nothing() -> None:
    config = ExecutionConfig().set_parallelism(4).set_parallelism(ExecutionConfig.PARALLELISM_UNKNOWN)
    assert config.get_parallelism() == 4
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT).get_parallelism() == -1


def test_equality() -> None:
    assert ExecutionConfig().set_parallelism(2) == ExecutionConfig().set_parallelism(2)
    assert ExecutionConfig().set_parallelism(2) != ExecutionConfig().set_parallelism(3)
    assert hash(ExecutionConfig().set_parallelism(2)) == hash(ExecutionConfig().set_parallelism(2))
