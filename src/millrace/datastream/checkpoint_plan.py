"""From what the environment says about checkpoints to what a job does."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.checkpoint.home import CheckpointPlan
from millrace.common.config_values import to_int
from millrace.common.files.checkpoint_files import CheckpointFiles, own_uri
from millrace.common.state.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from millrace.datastream.checkpoint_config import CheckpointConfig
from millrace.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from millrace.runtime.coordination.checkpoints import CheckpointSettings
from millrace.util.plugin_class import is_class_name, load_class

DIRECTORY = ("execution.checkpointing.dir", "state.checkpoints.dir")
"""The key, and the name that it had in Flink 1."""
RETAINED = ("execution.checkpointing.num-retained", "state.checkpoints.num-retained")
STORAGE = ("execution.checkpointing.storage", "state.checkpoint-storage")


def checkpoint_plan(config: CheckpointConfig, configuration: Mapping[str, str]) -> CheckpointPlan | None:
    """None if checkpointing is disabled.

    :raises ValueError: an option that is wrong; the message names its key.
    """
    if not config.is_checkpointing_enabled():
        return None
    settings = CheckpointSettings(
        config.get_checkpoint_interval(),
        config.get_min_pause_between_checkpoints(),
        config.get_checkpoint_timeout(),
        config.get_tolerable_checkpoint_failure_number(),
        _retained(configuration),
    )
    retention = config.get_externalized_checkpoint_retention()
    chosen = config.get_checkpoint_storage()
    directory = _of_storage(chosen) if chosen is not None else _configured(configuration)
    return CheckpointPlan(settings, directory, retention or ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS)


def _of_storage(storage: CheckpointStorage) -> str | None:
    """Where checkpoints go by what the program has set; None for a temporary place."""
    if isinstance(storage, FileSystemCheckpointStorage):
        return storage.location
    if isinstance(storage, CustomCheckpointStorage):
        return storage.get_checkpoint_path()
    if isinstance(storage, JobManagerCheckpointStorage):
        return None
    raise TypeError(
        f"checkpoint storage {type(storage).__qualname__}: one of your own is a CheckpointFiles in a "
        f"CustomCheckpointStorage"
    )


def _configured(configuration: Mapping[str, str]) -> str | None:
    """The same by the configuration."""
    storage, directory = _value(configuration, STORAGE) or "filesystem", _value(configuration, DIRECTORY)
    if storage.lower() == "filesystem":
        return directory
    if storage.lower() == "jobmanager":
        return None
    key = next(name for name in STORAGE if configuration.get(name))
    if not is_class_name(storage):
        raise ValueError(f"{key} must be filesystem, jobmanager or package.module:Class, not {storage!r}")
    return own_uri(load_class(storage, CheckpointFiles, key), directory or "")  # type: ignore[type-abstract]


def _retained(configuration: Mapping[str, str]) -> int:
    text = _value(configuration, RETAINED)
    number = 1 if text is None else to_int(text)
    if number < 1:
        raise ValueError(f"{RETAINED[0]} must be at least 1, not {number}")
    return number


def _value(configuration: Mapping[str, str], names: tuple[str, str]) -> str | None:
    return next((configuration[name] for name in names if configuration.get(name)), None)
