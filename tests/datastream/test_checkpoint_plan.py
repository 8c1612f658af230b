"""Where a job's checkpoints go, by the program and by the configuration."""

from __future__ import annotations

import pytest
from tests.testing.conformance import storages
from tests.testing.conformance.storages import MemoryFiles

from millrace.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from millrace.datastream.job_settings import CheckpointConfig, checkpoint_plan

STORAGES = storages.__name__


def directory(config: CheckpointConfig | None = None, **configuration: str) -> str | None:
    config = (config or CheckpointConfig()).set_checkpoint_interval(1_000)
    keys = {f"execution.checkpointing.{name}": value for name, value in configuration.items()}
    plan = checkpoint_plan(config, keys)
    assert plan is not None
    return plan.directory


def test_without_an_interval_there_is_no_plan() -> None:
    assert checkpoint_plan(CheckpointConfig(), {}) is None


def test_the_configuration_says_where() -> None:
    assert directory() is None
    assert directory(dir="/tmp/x") == "/tmp/x"
    assert directory(dir="/tmp/x", storage="filesystem") == "/tmp/x"
    assert directory(dir="/tmp/x", storage="jobmanager") is None
    assert directory(dir="/tmp/x", storage=f"{STORAGES}:MemoryFiles") == f"plugin://{STORAGES}:MemoryFiles//tmp/x"


def test_the_program_counts_more() -> None:
    config = CheckpointConfig()
    assert config.get_checkpoint_storage() is None
    storage = FileSystemCheckpointStorage("/tmp/y")
    assert config.set_checkpoint_storage(storage) is config
    assert config.get_checkpoint_storage() is storage
    assert directory(config, dir="/tmp/x") == "/tmp/y"
    assert directory(config.set_checkpoint_storage_dir("/tmp/z"), dir="/tmp/x") == "/tmp/z"
    assert directory(config.set_checkpoint_storage(JobManagerCheckpointStorage()), dir="/tmp/x") is None
    own = CustomCheckpointStorage(MemoryFiles, "here")
    assert (
        directory(config.set_checkpoint_storage(own), storage="jobmanager") == f"plugin://{STORAGES}:MemoryFiles/here"
    )


def test_what_is_wrong_is_said_with_the_option() -> None:
    with pytest.raises(ValueError, match=r"^execution.checkpointing.storage must be filesystem, .*, not 'rocks'"):
        directory(storage="rocks")
    with pytest.raises(TypeError, match=r"^execution.checkpointing.storage: NoFiles lacks delete\(\)"):
        directory(storage=f"{STORAGES}:NoFiles")
    with pytest.raises(ValueError, match=r"^state.checkpoint-storage: module nothing of 'nothing.there'"):
        checkpoint_plan(CheckpointConfig().set_checkpoint_interval(10), {"state.checkpoint-storage": "nothing.there"})
    with pytest.raises(TypeError, match="takes a CheckpointStorage, not '/tmp'"):
        CheckpointConfig().set_checkpoint_storage("/tmp")  # type: ignore[arg-type]

    class Bare(CheckpointStorage):
        pass

    with pytest.raises(TypeError, match="Bare: one of your own is a CheckpointFiles in a CustomCheckpointStorage"):
        directory(CheckpointConfig().set_checkpoint_storage(Bare()))
