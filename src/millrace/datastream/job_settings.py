"""Makes the settings of a job from those of its environment: checkpoints, state backend, installed packages."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from millrace.checkpoint.directory import CheckpointPlan
from millrace.common.config_values import to_int
from millrace.common.state.storage import CheckpointFiles, ExternalizedCheckpointRetention, own_uri
from millrace.configuration.own_options import SPARK_JOBS
from millrace.connectors.extras import missing_extra
from millrace.datastream.checkpoint_config import CheckpointConfig
from millrace.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from millrace.datastream.dependencies import Dependencies
from millrace.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyValueStateBackend,
    StateBackend,
)
from millrace.runtime.coordination.checkpoints import CheckpointSettings
from millrace.runtime.coordination.restart import RestartPolicy
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.store.plan import InStores
from millrace.runtime.state.working import InMemory, StatePlan
from millrace.util.names import is_class_name, load_class

# Checkpoints

DIRECTORY = ("execution.checkpointing.dir", "state.checkpoints.dir")
"""The key of the checkpoint directory, and its name in Flink 1."""
RETAINED = ("execution.checkpointing.num-retained", "state.checkpoints.num-retained")
STORAGE = ("execution.checkpointing.storage", "state.checkpoint-storage")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    """The checkpoint location of the storage that the program has set; None for a temporary one."""
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
    """The checkpoint location that the configuration names; None for a temporary one."""
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


# State backend

BACKEND = "state.backend.type"
_OLDER_BACKEND = "state.backend"
LOCAL_DIRECTORIES = "state.backend.rocksdb.localdir"
TEMPORARY_DIRECTORIES = "io.tmp.dirs"
_IN_MEMORY = (HashMapStateBackend.identifier, "jobmanager", "filesystem")
"""Names of backends in memory; the last two are Flink 1's, which differ in the checkpoint location only."""
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
    """The state backend of a job that is about to start.

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


# Installed packages


def check_installed(job: JobGraph) -> None:
    """:raises ImportError: a source or sink of a job needs a package that is not installed."""
    for info in job.operators:
        for part in vars(info.spec).values():
            missing = missing_extra(part)
            if missing is not None:
                made = f", made at {info.origin}," if info.origin else ""
                raise ImportError(f"operator {info.name!r}{made} {missing}")


# The settings of a job


@dataclass(frozen=True)
class JobSettings:
    """The settings of a job: what its environment knows beyond the job graph."""

    spark: SparkSession | None
    configuration: Mapping[str, str] = field(repr=False)
    parallelism: int
    bounded: bool
    """whether all sources end: then the epochs follow each other at once, else there is one every interval"""
    batch: bool
    epoch_interval_ms: int
    """least time between the beginnings of two epochs of an unbounded job"""
    restart: RestartPolicy
    """what to do after a failure"""
    regional: bool = True
    """whether in batch mode a task that fails runs again by itself"""
    checkpoints: CheckpointPlan | None = None
    """None: nothing durable is written"""
    busy_interval_ms: int = 100
    """least time between epochs (ms) of a job that has more to do than one takes, if that of all epochs is longer"""
    savepoint_directory: str | None = None
    epoch_timeout_ms: int | None = None
    """longest time of an epoch; None: no limit"""
    flow_epoch_ms: int = 1_000
    """how long an epoch in flow takes from its first record on"""
    epoch_execution: str = SPARK_JOBS
    """what carries epochs to the tasks; of no effect in batch mode"""
    cancellation_timeout_ms: int = 180_000
    """how long a run of a task may go on when a newer one has begun; 0: no limit"""
    dependencies: Dependencies = field(default_factory=Dependencies)
    jars: tuple[str, ...] = ()
    described: Mapping[str, str] = field(default_factory=dict, repr=False)
    """the configuration with the values that the program has set, as the dashboard and the REST API show it"""
    object_reuse: bool = False
    paths: tuple[str, ...] = field(default_factory=lambda: tuple(path for path in sys.path if path))
