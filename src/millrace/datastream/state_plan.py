"""Where a job keeps its state while it runs: its environment's state backend, or the one its configuration names."""

from __future__ import annotations

from collections.abc import Mapping

from millrace.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyValueStateBackend,
    StateBackend,
)
from millrace.runtime.state.store.plan import InStores
from millrace.runtime.state.working import InMemory, StatePlan
from millrace.util.plugin_class import is_class_name, load_class

__all__ = ["BACKEND", "LOCAL_DIRECTORIES", "configured_backend", "state_plan"]

BACKEND = "state.backend.type"
_OLDER_BACKEND = "state.backend"
LOCAL_DIRECTORIES = "state.backend.rocksdb.localdir"
TEMPORARY_DIRECTORIES = "io.tmp.dirs"
_IN_MEMORY = (HashMapStateBackend.identifier, "jobmanager", "filesystem")
"""The last two are what Flink 1 called backends that differ in where checkpoints go."""
_ON_DISK = (EmbeddedRocksDBStateBackend.identifier, "lmdb")


def configured_backend(configuration: Mapping[str, str]) -> StateBackend:
    """The backend that ``state.backend.type`` names, ``HashMapStateBackend`` if nothing does.

    :raises ValueError: there is no such backend.
    :raises TypeError: it is a class that is no backend.
    """
    key = BACKEND if BACKEND in configuration else _OLDER_BACKEND
    name = configuration.get(key, HashMapStateBackend.identifier)
    if name.lower() in _IN_MEMORY:
        return HashMapStateBackend()
    if name.lower() not in _ON_DISK:
        return _own_backend(key, name, configuration)
    backend = EmbeddedRocksDBStateBackend()
    directories = configuration.get(LOCAL_DIRECTORIES) or configuration.get(TEMPORARY_DIRECTORIES, "")
    backend.set_db_storage_paths(*(path.strip() for path in directories.split(",") if path.strip()))
    return backend


def _own_backend(key: str, name: str, configuration: Mapping[str, str]) -> StateBackend:
    if not is_class_name(name):
        raise ValueError(
            f"{key}: there is no state backend {name!r}; use {HashMapStateBackend.identifier} for state in memory, "
            f"{EmbeddedRocksDBStateBackend.identifier} for state on disk, or package.module:Class for one of your own"
        )
    cls = load_class(name, KeyValueStateBackend, key)  # type: ignore[type-abstract]
    made: object = cls.from_configuration(configuration)
    if not isinstance(made, KeyValueStateBackend):
        raise TypeError(f"{key}: from_configuration() of {name} gave {made!r}, which is no KeyValueStateBackend")
    return made


def state_plan(backend: StateBackend) -> StatePlan:
    """What a backend means for a job that is about to start.

    :raises RuntimeError: it needs a package that is not installed.
    :raises TypeError: nothing here knows how to keep state in it.
    """
    if isinstance(backend, HashMapStateBackend):
        return InMemory()
    if isinstance(backend, CustomStateBackend):
        backend = backend.get_backend()
    if isinstance(backend, KeyValueStateBackend):
        return InStores(backend)
    if not isinstance(backend, EmbeddedRocksDBStateBackend):
        raise TypeError(
            f"state backend {type(backend).__qualname__}: one of your own has to be a KeyValueStateBackend "
            f"(millrace.datastream.state_backend)"
        )
    from millrace.runtime.state.disk.plan import OnDisk, require_store

    require_store()
    plan = OnDisk(tuple(backend.get_db_storage_paths()))
    plan.warn_of_memory()
    return plan
