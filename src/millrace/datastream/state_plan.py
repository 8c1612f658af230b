"""Where a job keeps its state while it runs: its environment's state backend, or the one its configuration names."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from millrace.runtime.state.working import InMemory, StatePlan

__all__ = ["BACKEND", "LOCAL_DIRECTORIES", "configured_backend", "state_plan"]

BACKEND = "state.backend.type"
_OLDER_BACKEND = "state.backend"
LOCAL_DIRECTORIES = "state.backend.rocksdb.localdir"
_IN_MEMORY = (HashMapStateBackend.identifier, "jobmanager", "filesystem")
"""The last two are what Flink 1 called backends that differ in where checkpoints go."""
_ON_DISK = (EmbeddedRocksDBStateBackend.identifier, "lmdb")


def configured_backend(configuration: Mapping[str, str]) -> StateBackend:
    """The backend that ``state.backend.type`` names, ``HashMapStateBackend`` if nothing does.

    :raises ValueError: there is no such backend.
    """
    key = BACKEND if BACKEND in configuration else _OLDER_BACKEND
    name = configuration.get(key, HashMapStateBackend.identifier)
    if name.lower() in _IN_MEMORY:
        return HashMapStateBackend()
    if name.lower() not in _ON_DISK:
        raise ValueError(
            f"{key}: there is no state backend {name!r}; use {HashMapStateBackend.identifier} for state in memory, or "
            f"{EmbeddedRocksDBStateBackend.identifier} for state on disk"
        )
    backend = EmbeddedRocksDBStateBackend()
    directories = configuration.get(LOCAL_DIRECTORIES, "")
    backend.set_db_storage_paths(*(path.strip() for path in directories.split(",") if path.strip()))
    return backend


def state_plan(backend: StateBackend) -> StatePlan:
    """What a backend means for a job that is about to start.

    :raises RuntimeError: it needs a package that is not installed.
    """
    if not isinstance(backend, EmbeddedRocksDBStateBackend):
        return InMemory()
    from millrace.runtime.state.disk.plan import OnDisk, require_store

    require_store()
    return OnDisk(tuple(backend.get_db_storage_paths()))
