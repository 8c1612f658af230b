"""Where checkpoints are written."""

from __future__ import annotations

from abc import ABC
from urllib.parse import urlsplit

from millrace.datastream.not_yet import not_yet

__all__ = ["CheckpointStorage", "JobManagerCheckpointStorage", "FileSystemCheckpointStorage", "CustomCheckpointStorage"]


def _checked_path(path: str) -> str:
    if not path:
        raise ValueError("The checkpoint path must not be empty.")
    parts = urlsplit(path)
    if not parts.scheme and not path.startswith("/"):
        # Driver and tasks have different working directories.
        raise ValueError(f"The checkpoint path must be absolute or have a scheme (file://, hdfs://, ...): {path!r}")
    if not parts.path.strip("/"):
        raise ValueError(f"Cannot use the root directory for checkpoints: {path!r}")
    return path


class CheckpointStorage(ABC):
    """Where and how the snapshots of a job are kept."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """Small snapshots, kept by the driver; for tests and for jobs with little state.

    :param checkpoint_path: directory for the checkpoint metadata, None for none.
    :param max_state_size: largest state of one subtask, in bytes (5 MiB by default).
    :raises ValueError: relative path, root directory, or a size that is not positive.
    """

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        if max_state_size is None:
            max_state_size = self.DEFAULT_MAX_STATE_SIZE
        if max_state_size <= 0:
            raise ValueError("maxStateSize must be > 0")
        self._checkpoint_path = None if checkpoint_path is None else _checked_path(checkpoint_path)
        self._max_state_size = max_state_size

    def get_checkpoint_path(self) -> str | None:
        """The directory of the metadata, if any."""
        return self._checkpoint_path

    def get_max_state_size(self) -> int:
        """Largest state of one subtask, in bytes."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """None: the directory for savepoints is set on the environment."""
        return None

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage(checkpoints={self._checkpoint_path}, maxStateSize={self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Snapshots as files in a directory that the driver and all tasks reach.

    :param checkpoint_path: the directory: a URI or an absolute local path.
    :param file_state_size_threshold: state smaller than this many bytes goes into the metadata file instead of a file
        of its own (20 KiB by default, at most 1 MiB).
    :param write_buffer_size: bytes buffered before a write; -1 for the default (4 KiB, at least the threshold).
    :raises ValueError: no path, relative path, root directory, or a number out of range.
    """

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024
    DEFAULT_FILE_STATE_THRESHOLD = 20 * 1024
    DEFAULT_WRITE_BUFFER_SIZE = 4096

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        if checkpoint_path is None:
            raise ValueError("checkpoint_path must not be None")
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise ValueError(
                f"file_state_size_threshold must be in [-1, {self.MAX_FILE_STATE_THRESHOLD}], -1 for the default"
            )
        if write_buffer_size < -1:
            raise ValueError("write_buffer_size must not be less than -1, -1 for the default")
        self._checkpoint_path = _checked_path(checkpoint_path)
        self._threshold = threshold
        self._write_buffer_size = write_buffer_size

    def get_checkpoint_path(self) -> str:
        """The directory, as it was given."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """None: the directory for savepoints is set on the environment."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """State below this many bytes is stored in the metadata file."""
        return self._threshold if self._threshold >= 0 else self.DEFAULT_FILE_STATE_THRESHOLD

    def get_write_buffer_size(self) -> int:
        """Bytes buffered before a write."""
        if self._write_buffer_size >= 0:
            return self._write_buffer_size
        return max(self.DEFAULT_WRITE_BUFFER_SIZE, self.get_min_file_size_threshold())

    def __str__(self) -> str:
        return (
            f"FileSystemCheckpointStorage(checkpoints={self._checkpoint_path}, "
            f"fileStateSizeThreshold={self.get_min_file_size_threshold()})"
        )


class CustomCheckpointStorage(CheckpointStorage):
    """PyFlink's wrapper of a storage written in Java.

    :raises NotImplementedError: always; there is no JVM side to load it.
    """

    def __init__(self, j_custom_checkpoint_storage: object = None) -> None:
        raise not_yet("pyflink.datastream.CustomCheckpointStorage", "FileSystemCheckpointStorage")
