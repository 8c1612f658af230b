"""Checkpoint storages: where checkpoints are written."""

from __future__ import annotations

import re
from abc import ABC
from typing import Any
from urllib.parse import urlsplit

from millrace.common.state.storage import CheckpointFiles, own_uri
from millrace.util.names import checked_class, load_class

__all__ = [
    "CheckpointStorage",
    "JobManagerCheckpointStorage",
    "FileSystemCheckpointStorage",
    "CheckpointFiles",
    "CustomCheckpointStorage",
]


def flinks_path(path: str) -> str:
    """A path or URI as Flink's ``Path`` writes it: ``file:///var/x/`` is ``file:/var/x``."""
    parts = urlsplit(path)
    whole = re.sub("/+", "/", parts.path).rstrip("/") or "/"
    if not parts.scheme:
        return whole
    return f"{parts.scheme}://{parts.netloc}{whole}" if parts.netloc else f"{parts.scheme}:{whole}"


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
    """Where and how the snapshots of a job are stored.

    >>> issubclass(FileSystemCheckpointStorage, CheckpointStorage)
    True
    """


class JobManagerCheckpointStorage(CheckpointStorage):
    """Small snapshots, stored by the driver; for tests and for jobs with little state.

        >>> JobManagerCheckpointStorage("file:///tmp/savepoints").get_checkpoint_path()
        'file:/tmp/savepoints'

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
        """The directory of the metadata, if any, as Flink writes paths."""
        return None if self._checkpoint_path is None else flinks_path(self._checkpoint_path)

    def get_max_state_size(self) -> int:
        """Largest state of one subtask, in bytes."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Always None: the directory for savepoints is set on the environment."""
        return None

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage(checkpoints={self._checkpoint_path}, maxStateSize={self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Snapshots as files in a directory that the driver and all tasks reach.

        >>> storage = FileSystemCheckpointStorage("file:///tmp/checkpoints")
        >>> storage.get_checkpoint_path()
        'file:/tmp/checkpoints'

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
        """The directory as Flink writes paths: without what is doubled, and without a slash at the end."""
        return flinks_path(self._checkpoint_path)

    @property
    def location(self) -> str:
        """The directory, as it was given.

        >>> FileSystemCheckpointStorage("file:///tmp/checkpoints").location
        'file:///tmp/checkpoints'
        """
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Always None: the directory for savepoints is set on the environment."""
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
    """Snapshots in a storage of the user's own. PyFlink wraps one written in Java here.

    Tasks and later programs find the class by its name, so it has to be at the top of a module.

        >>> import pathlib
        >>> class Folder(CheckpointFiles):
        ...     def write(self, name, data):
        ...         pathlib.Path(name).write_bytes(data)
        ...     def read(self, name):
        ...         return pathlib.Path(name).read_bytes()
        ...     def delete(self, name):
        ...         pathlib.Path(name).unlink(missing_ok=True)
        ...     def files(self, prefix=""):
        ...         return []
        >>> storage = CustomCheckpointStorage(Folder, "bucket/checkpoints")
        >>> storage.get_checkpoint_path()
        'plugin://__main__:Folder/bucket/checkpoints'

    :param storage: a subclass of ``CheckpointFiles``, or the name of one as ``package.module:Class``.
    :param location: what the class is made with: where in the storage the checkpoints go.
    :raises TypeError: it is none, or lacks methods.
    :raises ValueError: there is no class of that name.
    """

    def __init__(self, storage: str | type[CheckpointFiles], location: str = "") -> None:
        what = "CustomCheckpointStorage"
        base: Any = CheckpointFiles
        self._cls = load_class(storage, base, what) if isinstance(storage, str) else checked_class(storage, base, what)
        if "." in self._cls.__qualname__:
            raise ValueError(f"{what}: {self._cls.__qualname__} must be at the top of its module to be found by name")
        self._location = location

    def get_checkpoint_path(self) -> str:
        """The URI of the location, which ``-s`` and ``millrace state`` understand, too (our addition)."""
        return own_uri(self._cls, self._location)

    def get_savepoint_path(self) -> str | None:
        """Always None: the directory for savepoints is set on the environment."""
        return None

    def __str__(self) -> str:
        return f"CustomCheckpointStorage({self.get_checkpoint_path()})"
