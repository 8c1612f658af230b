"""The state backends of Flink 1, which also said where checkpoints go."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from millrace.legacy.telling import tell

__all__ = ["FsStateBackend", "MemoryStateBackend", "RocksDBStateBackend"]

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
        """The same with the spelling of Flink up to 1.13."""
        self.set_number_of_transfer_threads(number_of_transfering_threads)

    def get_number_of_transfering_threads(self) -> int:
        return self.get_number_of_transfer_threads()

    def get_checkpoint_backend(self) -> StateBackend:
        return self

    def get_settings(self) -> Mapping[str, str]:
        return self._settings
