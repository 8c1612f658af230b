"""Settings of Flink 1 for streams: modes of execution, Kryo's types, externalized checkpoints, state backends.

The backends of Flink 1 also set the checkpoint location.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from millrace.common.execution_config import ExecutionConfig
from millrace.common.input_dependency_constraint import InputDependencyConstraint
from millrace.common.state.storage import ExternalizedCheckpointRetention
from millrace.datastream.job_settings import CheckpointConfig
from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from millrace.legacy.restart_strategies import get_strategy, put_strategy
from millrace.legacy.warning import tell

if TYPE_CHECKING:
    from millrace.common.restart_strategy import RestartStrategyConfiguration
    from millrace.datastream import StreamExecutionEnvironment


_PICKLED = "leave it out: values travel by pickle, and Java's serializers are not used"


class ExecutionMode(Enum):
    """How results were exchanged in the DataSet API; Spark decides that here."""

    PIPELINED = 0
    PIPELINED_FORCED = 1
    BATCH = 2
    BATCH_FORCED = 3


def set_restart_strategy(
    config: ExecutionConfig, restart_strategy_configuration: RestartStrategyConfiguration
) -> ExecutionConfig:
    """Set the restart strategy of this program's jobs: one of ``RestartStrategies``."""
    put_strategy("ExecutionConfig", config, config.configuration, restart_strategy_configuration)
    return config


def get_restart_strategy(config: ExecutionConfig) -> RestartStrategyConfiguration:
    """The restart strategy that was set; by default the one that leaves the choice to the options."""
    return get_strategy(config)


def set_execution_mode(config: ExecutionConfig, execution_mode: ExecutionMode) -> ExecutionConfig:
    """Recorded, without effect."""
    tell("ExecutionConfig.set_execution_mode()", "leave it out; env.set_runtime_mode(...) chooses streaming or batch")
    config.__dict__["_older_execution_mode"] = ExecutionMode(execution_mode)
    return config


def get_execution_mode(config: ExecutionConfig) -> ExecutionMode:
    """The mode that was recorded."""
    return ExecutionMode(config.__dict__.get("_older_execution_mode", ExecutionMode.PIPELINED))


def set_default_input_dependency_constraint(
    config: ExecutionConfig, input_dependency_constraint: InputDependencyConstraint
) -> ExecutionConfig:
    """Recorded, without effect: Spark schedules a stage when all its inputs are there."""
    tell("ExecutionConfig.set_default_input_dependency_constraint()", "leave it out: Spark decides")
    config.__dict__["_older_constraint"] = InputDependencyConstraint(input_dependency_constraint)
    return config


def get_default_input_dependency_constraint(config: ExecutionConfig) -> InputDependencyConstraint:
    """The constraint that was recorded."""
    return InputDependencyConstraint(config.__dict__.get("_older_constraint", InputDependencyConstraint.ANY))


# -- Java's serializers: nothing is written with them, so there is nothing to register ---------------------------------


def add_default_kryo_serializer(
    config: ExecutionConfig | StreamExecutionEnvironment, type_class_name: str, serializer_class_name: str
) -> ExecutionConfig | StreamExecutionEnvironment:
    tell("add_default_kryo_serializer()", _PICKLED)
    return config


def register_type_with_kryo_serializer(
    config: ExecutionConfig | StreamExecutionEnvironment, type_class_name: str, serializer_class_name: str
) -> ExecutionConfig | StreamExecutionEnvironment:
    tell("register_type_with_kryo_serializer()", _PICKLED)
    return config


def register_type(env: StreamExecutionEnvironment, type_class_name: str) -> None:
    tell("register_type()", _PICKLED)


def register_kryo_type(config: ExecutionConfig, type_class_name: str) -> ExecutionConfig:
    tell("register_kryo_type()", _PICKLED)
    return config


def register_pojo_type(config: ExecutionConfig, type_class_name: str) -> ExecutionConfig:
    tell("register_pojo_type()", _PICKLED)
    return config


def disable_auto_type_registration(config: ExecutionConfig) -> ExecutionConfig:
    tell("disable_auto_type_registration()", _PICKLED)
    return config


def is_auto_type_registration_disabled(config: ExecutionConfig) -> bool:
    return True


def get_registered_types_with_kryo_serializer_classes(config: ExecutionConfig) -> dict[str, str]:
    """Always empty: there is no Kryo."""
    return {}


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
    """Without effect, as in Flink since 1.14: a job is restored from its latest checkpoint or savepoint."""
    tell("CheckpointConfig.set_prefer_checkpoint_for_recovery()", "leave it out: the latest snapshot is used")
    return config


def is_prefer_checkpoint_for_recovery(config: CheckpointConfig) -> bool:
    """Always False: the latest snapshot is used, whether it is a checkpoint or a savepoint."""
    tell("CheckpointConfig.is_prefer_checkpoint_for_recovery()", "leave it out: the latest snapshot is used")
    return False


def _set(name: str, config: CheckpointConfig, mode: ExternalizedCheckpointRetention) -> CheckpointConfig:
    tell(f"CheckpointConfig.{name}()", "set_externalized_checkpoint_retention(ExternalizedCheckpointRetention....)")
    return config.set_externalized_checkpoint_retention(mode)


_STORAGE = "execution.checkpointing.storage"
_DIRECTORY = "execution.checkpointing.dir"
_SAVEPOINTS = "execution.checkpointing.savepoint-dir"
_INCREMENTAL = "execution.checkpointing.incremental"
_THRESHOLD, _BUFFER = 20 * 1024, 4096
_STATE_SIZE = 5 * 1024 * 1024


def _places(checkpoints: str | None, savepoints: str | None) -> dict[str, str]:
    found = {} if checkpoints is None else {_STORAGE: "filesystem", _DIRECTORY: checkpoints}
    return found if savepoints is None else {**found, _SAVEPOINTS: savepoints}


class MemoryStateBackend(HashMapStateBackend):
    """State in memory; checkpoints in a temporary place unless a path is given."""

    def __init__(
        self,
        checkpoint_path: str | None = None,
        savepoint_path: str | None = None,
        max_state_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        tell("MemoryStateBackend", "HashMapStateBackend, with JobManagerCheckpointStorage")
        self._max_state_size = _STATE_SIZE if max_state_size is None else max_state_size
        self._places = _places(checkpoint_path, savepoint_path)
        if checkpoint_path is None:
            self._places[_STORAGE] = "jobmanager"

    def get_max_state_size(self) -> int:
        """Bytes; recorded, nothing is that small here."""
        return self._max_state_size

    def is_using_asynchronous_snapshots(self) -> bool:
        return True

    def get_settings(self) -> Mapping[str, str]:
        return self._places

    def __str__(self) -> str:
        return "MemoryStateBackend"


class FsStateBackend(HashMapStateBackend):
    """State in memory; checkpoints in a directory."""

    def __init__(
        self,
        checkpoint_directory_uri: str,
        default_savepoint_directory_uri: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        tell("FsStateBackend", "HashMapStateBackend, with get_checkpoint_config().set_checkpoint_storage_dir(...)")
        if not checkpoint_directory_uri:
            raise ValueError("FsStateBackend needs the directory of checkpoints")
        self._path = checkpoint_directory_uri
        self._threshold = _THRESHOLD if file_state_size_threshold is None else file_state_size_threshold
        self._buffer = max(_BUFFER, self._threshold) if write_buffer_size is None else write_buffer_size
        self._places = _places(checkpoint_directory_uri, default_savepoint_directory_uri)

    def get_checkpoint_path(self) -> str:
        return self._path

    def get_min_file_size_threshold(self) -> int:
        """Bytes; recorded."""
        return self._threshold

    def get_write_buffer_size(self) -> int:
        """Bytes; recorded."""
        return self._buffer

    def is_using_asynchronous_snapshots(self) -> bool:
        return True

    def get_settings(self) -> Mapping[str, str]:
        return self._places

    def __str__(self) -> str:
        return f"FsStateBackend({self._path})"


class RocksDBStateBackend(EmbeddedRocksDBStateBackend):
    """State on disk; checkpoints in a directory, or where another backend puts them."""

    def __init__(
        self,
        checkpoint_data_uri: str | None = None,
        enable_incremental_checkpointing: bool | None = None,
        checkpoint_stream_backend: StateBackend | None = None,
    ) -> None:
        tell("RocksDBStateBackend", "EmbeddedRocksDBStateBackend, with set_checkpoint_storage_dir(...)")
        super().__init__(enable_incremental_checkpointing)
        if (checkpoint_data_uri is None) == (checkpoint_stream_backend is None):
            raise ValueError("RocksDBStateBackend needs a directory of checkpoints, or a backend that has one")
        given = {} if checkpoint_stream_backend is None else checkpoint_stream_backend.get_settings()
        self._settings = {**given, **_places(checkpoint_data_uri, None)}
        if enable_incremental_checkpointing is not None:
            self._settings[_INCREMENTAL] = str(enable_incremental_checkpointing).lower()

    def set_number_of_transfering_threads(self, number_of_transfering_threads: int) -> None:
        """``set_number_of_transfer_threads`` in the spelling of Flink up to 1.13."""
        self.set_number_of_transfer_threads(number_of_transfering_threads)

    def get_number_of_transfering_threads(self) -> int:
        return self.get_number_of_transfer_threads()

    def get_checkpoint_backend(self) -> StateBackend:
        return self

    def get_settings(self) -> Mapping[str, str]:
        return self._settings
