"""State backends: where working state lives between two checkpoints."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar
from urllib.parse import urlsplit

from millrace.common.state.storage import KeyValueStore, StorePlace
from millrace.util.names import checked_class, load_class
from millrace.util.not_yet import not_yet

__all__ = [
    "StateBackend",
    "HashMapStateBackend",
    "EmbeddedRocksDBStateBackend",
    "KeyValueStore",
    "KeyValueStateBackend",
    "CustomStateBackend",
    "PredefinedOptions",
    "StorePlace",
]

DEFAULT_TRANSFER_THREADS = 4


class PredefinedOptions(Enum):
    """Flink's tuning profiles for RocksDB; recorded, without effect on Millrace's embedded backend.

    >>> backend = EmbeddedRocksDBStateBackend()
    >>> backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    >>> backend.get_predefined_options()
    <PredefinedOptions.FLASH_SSD_OPTIMIZED: 3>
    """

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class StateBackend(ABC):
    """Describes where working state is stored. The choice never changes the results of a program.

    >>> isinstance(HashMapStateBackend(), StateBackend)
    True
    """

    identifier: ClassVar[str] = ""
    """The value of ``state.backend.type`` that names this backend."""

    def get_settings(self) -> Mapping[str, str]:
        """Options that the backend sets besides itself: backends of Flink 1 also set the checkpoint location."""
        return {}


class HashMapStateBackend(StateBackend):
    """State as Python objects in the memory of the task: fastest, limited by memory.

    >>> backend = HashMapStateBackend()
    >>> env.set_state_backend(backend).get_state_backend() is backend
    True
    """

    identifier = "hashmap"

    def __str__(self) -> str:
        return "HashMapStateBackend"


class EmbeddedRocksDBStateBackend(StateBackend):
    """State in an embedded store on local disks, for state larger than memory.

    The name is Flink's; the store in Millrace is LMDB, which all worker processes of a machine share. It needs
    ``pip install 'millrace-streaming[disk]'``. The changes of one epoch are in memory. Batch jobs keep their state
    in memory.

        >>> backend = EmbeddedRocksDBStateBackend(enable_incremental_checkpointing=True)
        >>> env.set_state_backend(backend).get_state_backend() is backend
        True

    :param enable_incremental_checkpointing: write only what changed; None leaves it to the configuration.
    :raises TypeError: ``enable_incremental_checkpointing`` is neither None nor a bool.
    """

    identifier = "rocksdb"

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise TypeError(
                "Unsupported input for 'enable_incremental_checkpointing': "
                f"{enable_incremental_checkpointing!r}, expected None, True or False."
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: tuple[str, ...] = ()
        self._predefined_options = PredefinedOptions.DEFAULT
        self._transfer_threads = DEFAULT_TRANSFER_THREADS

    def set_db_storage_paths(self, *paths: str) -> None:
        """Local directories for the working files; none at all for the system's one for temporary files.

        :raises ValueError: a relative path, or one that is not on the local file system.
        """
        self._paths = tuple(_local_path(path) for path in paths)

    def get_db_storage_paths(self) -> list[str]:
        """The local directories set, an empty list for the default."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Whether a checkpoint writes only what changed since the one before."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Record a tuning profile."""
        self._predefined_options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """The tuning profile set, ``DEFAULT`` by default."""
        return self._predefined_options

    def set_options(self, options_factory_class_name: str) -> None:
        """PyFlink loads a Java options factory here.

        :raises NotImplementedError: always; there is no RocksDB JVM library to tune.
        """
        raise not_yet("pyflink.datastream.EmbeddedRocksDBStateBackend.set_options", "set_predefined_options")

    def get_options(self) -> str | None:
        """Always None: there is no options factory."""
        return None

    def get_number_of_transfer_threads(self) -> int:
        """Threads that copy state files to and from the checkpoint storage (4 by default)."""
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Set the threads that copy state files.

        :raises ValueError: the number is not positive.
        """
        if number_of_transfering_threads <= 0:
            raise ValueError(
                "The number of threads used to transfer files in EmbeddedRocksDBStateBackend "
                f"should be greater than zero, not {number_of_transfering_threads}."
            )
        self._transfer_threads = number_of_transfering_threads

    def __str__(self) -> str:
        return (
            f"EmbeddedRocksDBStateBackend(paths={list(self._paths)}, incremental={self._incremental}, "
            f"transfer_threads={self._transfer_threads})"
        )


class KeyValueStateBackend(StateBackend):
    """Base of a user's own backends: keyed state in ordered stores of bytes (our addition).

    The backend is pickled into the tasks; what can't be pickled is made in ``open_store``. Checkpoints don't depend on
    it: a job may be restored with another backend. ``millrace.testing.check_state_backend`` tests it.

        >>> class InMyStore(KeyValueStateBackend):
        ...     def open_store(self, place):
        ...         raise OSError(f"no store for {place.name()}")
    """

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, str]) -> KeyValueStateBackend:
        """Make the backend that ``state.backend.type`` names, with its options in the configuration."""
        return cls()

    @abstractmethod
    def open_store(self, place: StorePlace) -> KeyValueStore:
        """A new, empty store for a task; called in the worker."""

    def discard(self, job_id: str) -> None:
        """Delete what killed processes left on the driver's machine, because the job has ended. Called on the
        driver."""


class CustomStateBackend(StateBackend):
    """A backend of the user's own. PyFlink wraps one written in Java here.

        >>> class InMyStore(KeyValueStateBackend):
        ...     def open_store(self, place):
        ...         raise OSError("the store is not there")
        >>> backend = CustomStateBackend(InMyStore)
        >>> env.set_state_backend(backend).get_state_backend() is backend
        True

    :param backend: a ``KeyValueStateBackend``, such a class, or the name of one as ``package.module:Class``.
    :raises TypeError: it is none, or lacks methods.
    :raises ValueError: there is no class of that name.
    """

    def __init__(self, backend: Any) -> None:
        if isinstance(backend, KeyValueStateBackend):
            self._backend = backend
            return
        what = "CustomStateBackend"
        found = load_class(backend, KeyValueStateBackend, what) if isinstance(backend, str) else backend  # type: ignore[type-abstract]
        if not isinstance(found, type):
            raise TypeError(f"{what} takes a KeyValueStateBackend, its class or its name, not {backend!r}")
        self._backend = checked_class(found, KeyValueStateBackend, what).from_configuration({})  # type: ignore[type-abstract]

    def get_backend(self) -> KeyValueStateBackend:
        """The backend itself (our addition)."""
        return self._backend

    def __str__(self) -> str:
        return f"CustomStateBackend({type(self._backend).__qualname__})"


def _local_path(path: str) -> str:
    parts = urlsplit(path)
    if parts.scheme not in ("", "file"):
        raise ValueError(f"Path {path} has a non-local scheme")
    local = parts.path if parts.scheme else path
    if not local.startswith("/"):
        raise ValueError(f"Relative paths are not supported: {path}")
    return re.sub("/+", "/", local).rstrip("/") or "/"


def _from_j_state_backend(j_state_backend: StateBackend | None) -> StateBackend | None:
    """A state backend stands for itself; private in PyFlink, too."""
    return j_state_backend
