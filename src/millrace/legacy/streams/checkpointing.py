"""Names of Flink 1 for what becomes of checkpoints: ``ExternalizedCheckpointCleanup`` and the methods with it."""

from __future__ import annotations

from millrace.common.state.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from millrace.datastream.checkpoint_config import CheckpointConfig
from millrace.legacy.telling import tell

__all__ = ["ExternalizedCheckpointCleanup"]

ExternalizedCheckpointCleanup = ExternalizedCheckpointRetention


def enable_externalized_checkpoints(
    config: CheckpointConfig, cleanup_mode: ExternalizedCheckpointRetention
) -> CheckpointConfig:
    """Let checkpoints outlive the job."""
    return _set("enable_externalized_checkpoints", config, cleanup_mode)


def set_externalized_checkpoint_cleanup(
    config: CheckpointConfig, cleanup_mode: ExternalizedCheckpointRetention
) -> CheckpointConfig:
    """Decide whether checkpoints outlive the job."""
    return _set("set_externalized_checkpoint_cleanup", config, cleanup_mode)


def get_externalized_checkpoint_cleanup(config: CheckpointConfig) -> ExternalizedCheckpointRetention | None:
    """What happens to checkpoints when the job ends."""
    tell("CheckpointConfig.get_externalized_checkpoint_cleanup()", "get_externalized_checkpoint_retention()")
    return config.get_externalized_checkpoint_retention()


def set_prefer_checkpoint_for_recovery(
    config: CheckpointConfig, prefer_checkpoint_for_recovery: bool
) -> CheckpointConfig:
    """Without effect, as in Flink since 1.14: a job begins again with its latest checkpoint or savepoint."""
    tell("CheckpointConfig.set_prefer_checkpoint_for_recovery()", "leave it out: the latest snapshot is used")
    return config


def is_prefer_checkpoint_for_recovery(config: CheckpointConfig) -> bool:
    """Never: the latest snapshot is used, whichever it is."""
    tell("CheckpointConfig.is_prefer_checkpoint_for_recovery()", "leave it out: the latest snapshot is used")
    return False


def _set(name: str, config: CheckpointConfig, mode: ExternalizedCheckpointRetention) -> CheckpointConfig:
    tell(f"CheckpointConfig.{name}()", "set_externalized_checkpoint_retention(ExternalizedCheckpointRetention....)")
    return config.set_externalized_checkpoint_retention(mode)
