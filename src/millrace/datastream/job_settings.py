"""The settings of a job, and how they come from those of its environment: when and how checkpoints are taken
(``CheckpointConfig``), the state backend, and what the program's functions need on the workers (``Dependencies``:
Python files, archives, packages, other files).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.checkpoint.directory import CheckpointPlan
from millrace.common.configuration import Configuration, split_list, to_boolean, to_duration, to_int, to_map
from millrace.common.state.storage import ROWS_MEMORY, CheckpointFiles, ExternalizedCheckpointRetention, own_uri
from millrace.common.time import Duration, TimeSpan, to_millis
from millrace.configuration.own_options import SPARK_JOBS
from millrace.connectors.extras import missing_extra
from millrace.datastream.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from millrace.datastream.checkpointing_mode import CheckpointingMode
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
from millrace.util.fallback import HasOlderNames
from millrace.util.names import is_class_name, load_class
from millrace.util.tracebacks import user_origin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


__all__ = [
    "Archive",
    "BACKEND",
    "CachedFile",
    "CheckpointConfig",
    "DIRECTORY",
    "Dependencies",
    "JobSettings",
    "LOCAL_DIRECTORIES",
    "RETAINED",
    "Requirements",
    "STORAGE",
    "TEMPORARY_DIRECTORIES",
    "check_installed",
    "checkpoint_plan",
    "configured_backend",
    "dependencies_of",
    "state_plan",
]

MINIMAL_CHECKPOINT_TIME = 10
"""Shortest interval and timeout, ms."""
UNLIMITED_FAILURES = 2**31 - 1

_E = TypeVar("_E", bound=Enum)


class CheckpointConfig(HasOlderNames):
    """When and how checkpoints are taken. All times are ms; the setters return the object itself.

        >>> config = env.enable_checkpointing(10_000).get_checkpoint_config()
        >>> config.set_min_pause_between_checkpoints(500).get_checkpoint_interval()
        10000

    :param configuration: initial values, see ``configure``.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._interval = -1
        self._timeout = 600_000
        self._mode = CheckpointingMode.EXACTLY_ONCE
        self._min_pause = 0
        self._max_concurrent = 1
        self._tolerable_failures = 0
        self._retention = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        self._unaligned = False
        self._force_unaligned = False
        self._aligned_timeout = 0
        self._storage: CheckpointStorage | None = None
        if configuration is not None:
            self.configure(configuration)

    # -- whether and when -------------------------------------------------------------------------------------------

    def is_checkpointing_enabled(self) -> bool:
        """Whether an interval is set."""
        return self._interval > 0

    def get_checkpoint_interval(self) -> int:
        """ms from one checkpoint to the next, -1 if checkpointing is disabled."""
        return self._interval

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set the time between two checkpoints (ms); ValueError below 10."""
        self._interval = _at_least(MINIMAL_CHECKPOINT_TIME, checkpoint_interval, "Checkpoint interval", " ms")
        return self

    def get_checkpoint_timeout(self) -> int:
        """ms after which a checkpoint is given up (10 minutes by default)."""
        return self._timeout

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Set the time after which a checkpoint is given up (ms); ValueError below 10."""
        self._timeout = _at_least(MINIMAL_CHECKPOINT_TIME, checkpoint_timeout, "Checkpoint timeout", " ms")
        return self

    def get_min_pause_between_checkpoints(self) -> int:
        """Least ms from the end of a checkpoint to the start of the next."""
        return self._min_pause

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Set the shortest pause between two checkpoints (ms); ValueError if negative."""
        self._min_pause = _at_least(0, min_pause_between_checkpoints, "Pause between checkpoints", " ms")
        return self

    def get_max_concurrent_checkpoints(self) -> int:
        """How many checkpoints may be under way at the same time, as set. Millrace never needs more than one."""
        return self._max_concurrent

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Let several checkpoints overlap; ValueError below 1."""
        self._max_concurrent = _at_least(1, max_concurrent_checkpoints, "Number of concurrent checkpoints")
        return self

    # -- guarantees -------------------------------------------------------------------------------------------------

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The guarantee: as set, but ``AT_LEAST_ONCE`` while checkpointing is disabled (as in Flink)."""
        return self._mode if self.is_checkpointing_enabled() else CheckpointingMode.AT_LEAST_ONCE

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Set the guarantee (``EXACTLY_ONCE`` by default)."""
        self._mode = _member(CheckpointingMode, checkpointing_mode)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Whether the first failed checkpoint fails the job."""
        return self._tolerable_failures == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Tolerate no failed checkpoint, or any number of them."""
        return self.set_tolerable_checkpoint_failure_number(0 if fail_on_checkpointing_errors else UNLIMITED_FAILURES)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many checkpoints in a row may fail before the job does (0 by default)."""
        return self._tolerable_failures

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Set how many checkpoints in a row may fail; ValueError if negative."""
        self._tolerable_failures = _at_least(
            0, tolerable_checkpoint_failure_number, "Number of tolerable checkpoint failures"
        )
        return self

    # -- where: what PyFlink 1 had here ---------------------------------------------------------------------------

    def set_checkpoint_storage(self, storage: CheckpointStorage) -> CheckpointConfig:
        """Where checkpoints go; overrides ``execution.checkpointing.storage`` and ``execution.checkpointing.dir``."""
        if not isinstance(storage, CheckpointStorage):
            raise TypeError(f"set_checkpoint_storage() takes a CheckpointStorage, not {storage!r}")
        self._storage = storage
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Keep checkpoints as files in this directory."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """What was set here, None if the configuration decides."""
        return self._storage

    # -- retention --------------------------------------------------------------------------------------------------

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Decide whether checkpoints outlive the job."""
        self._retention = _member(ExternalizedCheckpointRetention, retention_mode)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Whether checkpoints can outlive the job."""
        return self._retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention | None:
        """What happens to checkpoints when the job ends (``NO_EXTERNALIZED_CHECKPOINTS`` by default)."""
        return self._retention

    # -- unaligned checkpoints: no barrier ever waits in Millrace, so these are recorded and checked, without effect --

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether unaligned checkpoints are on; never in ``AT_LEAST_ONCE`` mode or while checkpointing is disabled."""
        return self._unaligned and self.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Turn unaligned checkpoints on or off."""
        self._unaligned = bool(enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Turn unaligned checkpoints off."""
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: TimeSpan) -> CheckpointConfig:
        """How long a checkpoint stays aligned before it becomes unaligned; ValueError if negative."""
        self._aligned_timeout = _at_least(0, to_millis(alignment_timeout), "Aligned checkpoint timeout", " ms")
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """How long a checkpoint stays aligned (zero by default)."""
        return Duration.of_millis(self._aligned_timeout)

    def set_alignment_timeout(self, alignment_timeout: TimeSpan) -> CheckpointConfig:
        """The old name of ``set_aligned_checkpoint_timeout``."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """The old name of ``get_aligned_checkpoint_timeout``."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Force unaligned checkpoints."""
        self._force_unaligned = bool(force_unaligned_checkpoints)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        """Whether unaligned checkpoints are forced."""
        return self._force_unaligned

    # -- as a whole -------------------------------------------------------------------------------------------------

    def validate(self) -> None:
        """Check what only the values together can show; to be called when a job is submitted.

        :raises ValueError: more than one concurrent checkpoint together with unaligned checkpoints.
        """
        if self.is_unaligned_checkpoints_enabled() and self._max_concurrent > 1:
            raise ValueError("maxConcurrentCheckpoints can't be > 1 if UnalignedCheckpoints enabled")

    def configure(self, configuration: Configuration) -> None:
        """Take over the ``execution.checkpointing.*`` values that ``configuration`` sets; others stay as they are.

        :raises ValueError: a value that cannot be read or is out of range, naming its key; then nothing has changed.
        """
        self._apply(configuration.to_dict())

    def to_dict(self) -> dict[str, str]:
        """The values that differ from the defaults, by configuration key: what ``configure`` would read."""
        mine, defaults = self._as_strings(), CheckpointConfig()._as_strings()
        return {key: value for key, value in mine.items() if value != defaults[key]}

    def _apply(self, values: Mapping[str, str]) -> None:
        copy = CheckpointConfig()
        copy.__dict__.update(self.__dict__)
        for key, (parse, set_value) in _OPTIONS.items():
            if key in values:
                try:
                    set_value(copy, parse(values[key]))
                except ValueError as error:
                    raise ValueError(f"Could not use value {values[key]!r} for key '{key}': {error}") from error
        self.__dict__.update(copy.__dict__)

    def _as_strings(self) -> dict[str, str]:
        return {
            _INTERVAL: f"{self._interval} ms",
            _TIMEOUT: f"{self._timeout} ms",
            _MODE: self._mode.name,
            _MIN_PAUSE: f"{self._min_pause} ms",
            _MAX_CONCURRENT: str(self._max_concurrent),
            _TOLERABLE: str(self._tolerable_failures),
            _RETENTION: self._retention.name,
            _UNALIGNED: str(self._unaligned).lower(),
            _FORCED: str(self._force_unaligned).lower(),
            _ALIGNED_TIMEOUT: f"{self._aligned_timeout} ms",
        }


def _at_least(least: int, value: int, what: str, unit: str = "") -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} must be an int, not {value!r}")
    if value < least:
        raise ValueError(f"{what} must be larger than or equal to {least}{unit}, not {value}")
    return value


def _member(enum: type[_E], value: Any) -> _E:
    if not isinstance(value, enum):
        raise TypeError(f"Expected a {enum.__name__}, not {value!r}")
    return value


def _named(enum: type[_E], text: str) -> _E:
    try:
        return enum[text.strip().upper()]
    except KeyError:
        raise ValueError(f"not one of {', '.join(enum.__members__)}") from None


def _to_millis(text: str) -> int:
    return to_duration(text).to_millis()


_PREFIX = "execution.checkpointing."
_INTERVAL = _PREFIX + "interval"
_TIMEOUT = _PREFIX + "timeout"
_MODE = _PREFIX + "mode"
_MIN_PAUSE = _PREFIX + "min-pause"
_MAX_CONCURRENT = _PREFIX + "max-concurrent-checkpoints"
_TOLERABLE = _PREFIX + "tolerable-failed-checkpoints"
_RETENTION = _PREFIX + "externalized-checkpoint-retention"
_UNALIGNED = _PREFIX + "unaligned.enabled"
_FORCED = _PREFIX + "unaligned.forced"
_ALIGNED_TIMEOUT = _PREFIX + "aligned-checkpoint-timeout"

_OPTIONS: dict[str, tuple[Callable[[str], Any], Callable[[CheckpointConfig, Any], object]]] = {
    _INTERVAL: (_to_millis, CheckpointConfig.set_checkpoint_interval),
    _TIMEOUT: (_to_millis, CheckpointConfig.set_checkpoint_timeout),
    _MODE: (lambda text: _named(CheckpointingMode, text), CheckpointConfig.set_checkpointing_mode),
    _MIN_PAUSE: (_to_millis, CheckpointConfig.set_min_pause_between_checkpoints),
    _MAX_CONCURRENT: (to_int, CheckpointConfig.set_max_concurrent_checkpoints),
    _TOLERABLE: (to_int, CheckpointConfig.set_tolerable_checkpoint_failure_number),
    _RETENTION: (
        lambda text: _named(ExternalizedCheckpointRetention, text),
        CheckpointConfig.set_externalized_checkpoint_retention,
    ),
    # The name of the option before 1.19, which Flink still reads; the new one comes last and wins.
    _PREFIX + "unaligned": (to_boolean, CheckpointConfig.enable_unaligned_checkpoints),
    _UNALIGNED: (to_boolean, CheckpointConfig.enable_unaligned_checkpoints),
    _FORCED: (to_boolean, CheckpointConfig.set_force_unaligned_checkpoints),
    _ALIGNED_TIMEOUT: (to_duration, CheckpointConfig.set_aligned_checkpoint_timeout),
}


# Checkpoints

DIRECTORY = ("execution.checkpointing.dir", "state.checkpoints.dir")
"""The key of the checkpoint directory, and its name in Flink 1."""
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


def state_plan(backend: StateBackend, rows_memory: int = ROWS_MEMORY) -> StatePlan:
    """The state backend of a job that is about to start.

    :param rows_memory: the bytes of SQL's rows that a process may have in memory if the state is on disk.

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
    plan = OnDisk(tuple(backend.get_db_storage_paths()), rows_memory)
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


# Dependencies


@dataclass(frozen=True)
class Archive:
    """An archive, and the folder in the workers' working directory into which it is unpacked."""

    path: str
    target: str


@dataclass(frozen=True)
class Requirements:
    """A requirements.txt, and a folder with the packages if they are not to be downloaded."""

    path: str
    packages: str | None
    origin: str
    """the user's line that added it: file:line"""


@dataclass(frozen=True)
class CachedFile:
    """A file or folder for ``RuntimeContext.get_distributed_cache()``: a local path or a URI that Spark reads."""

    name: str
    path: str
    executable: bool


@dataclass(frozen=True)
class Dependencies:
    """All dependencies of an environment; each method returns a new object."""

    files: tuple[str, ...] = ()
    archives: tuple[Archive, ...] = ()
    requirements: Requirements | None = None
    executable: str | None = None
    """path of the Python interpreter, which may be in an archive: ``target/bin/python``"""
    cached_files: tuple[CachedFile, ...] = ()

    def with_file(self, path: str, where: str) -> Dependencies:
        """Add a Python file. This process can import from it, too; the last added file comes first. Raises
        ``FileNotFoundError``."""
        file = existing(path, where)
        importable = import_path(file)
        if importable in sys.path:
            sys.path.remove(importable)
        sys.path.insert(0, importable)
        return replace(self, files=(*self.files, file))

    def with_archive(self, path: str, target: str | None, where: str) -> Dependencies:
        """Add an archive. Raises ``FileNotFoundError``, and ``ValueError`` for a target that is outside of the working
        directory or taken."""
        file = existing(path, where)
        folder = os.path.normpath(target or os.path.basename(file))
        if os.path.isabs(folder) or folder.split(os.sep)[0] in ("..", "."):
            raise ValueError(f"{where} at {user_origin()}: the target {target!r} must be a relative path")
        taken = [archive for archive in self.archives if archive.target == folder]
        if taken and taken[0].path != file:
            raise ValueError(f"{where} at {user_origin()}: {taken[0].path} is unpacked into {folder!r} already")
        return self if taken else replace(self, archives=(*self.archives, Archive(file, folder)))

    def with_requirements(self, path: str, packages: str | None, where: str) -> Dependencies:
        """Set the requirements. Raises ``FileNotFoundError``."""
        folder = None if packages is None else existing(packages, where)
        return replace(self, requirements=Requirements(existing(path, where), folder, f"{where} at {user_origin()}"))

    def with_cached_file(self, name: str, path: str, executable: bool) -> Dependencies:
        """Add a cached file. Raises ``FileNotFoundError`` for a local path, and ``ValueError`` for a name that is
        taken."""
        where = "register_cached_file()"
        file = CachedFile(name, path if _is_remote(path) else existing(path, where), executable)
        for other in self.cached_files:
            if other == file:
                return self
            if other.name == name:
                raise ValueError(f"{where} at {user_origin()}: the name {name!r} means {other.path} already")
        return replace(self, cached_files=(*self.cached_files, file))


def dependencies_of(configuration: Configuration, known: Dependencies) -> Dependencies:
    """``known`` with the dependencies in Flink's configuration keys: lists are separated by commas, a target follows
    ``#``."""
    for path in _listed(configuration, FILES):
        known = known.with_file(path, FILES)
    for archive in _listed(configuration, ARCHIVES):
        path, _, target = archive.partition(SEPARATOR)
        known = known.with_archive(path, target or None, ARCHIVES)
    for requirements in _listed(configuration, REQUIREMENTS)[:1]:
        path, _, packages = requirements.partition(SEPARATOR)
        known = known.with_requirements(path, packages or None, REQUIREMENTS)
    for entry in split_list(configuration.get_string(CACHED_FILES, "")):
        file = to_map(entry)
        if not file.keys() >= {"name", "path"}:
            raise ValueError(f"{CACHED_FILES}: expected is name:NAME,path:PATH with ; between several, not {entry!r}")
        known = known.with_cached_file(file["name"], file["path"], to_boolean(file.get("executable", "false")))
    executable = configuration.get_string(EXECUTABLE, "") or known.executable
    return replace(known, executable=executable)


def import_path(file: str) -> str:
    """What to add to ``sys.path`` so that a Python file, package folder or zip file can be imported from."""
    return os.path.dirname(file) if file.endswith(".py") else file


def existing(path: str, where: str) -> str:
    """The absolute path; FileNotFoundError, with the user's line, if there is nothing."""
    local = path.removeprefix("file://").removeprefix("file:")
    if not os.path.exists(local):
        raise FileNotFoundError(f"{where} at {user_origin()}: no such file: {path}")
    return os.path.abspath(local)


def is_flinks_and_missing(path: str) -> bool:
    """Whether a jar is one of Flink's connectors or formats, which Millrace would not use, and does not exist."""
    local = path.removeprefix("file://").removeprefix("file:")
    return os.path.basename(local).startswith("flink-") and not os.path.exists(local)


def _is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file:")


def _listed(configuration: Configuration, key: str) -> list[str]:
    return [part for part in configuration.get_string(key, "").split(",") if part]


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
    flow_ports: tuple[int, ...] = (0,)
    """where the processes of a job in flow listen on a cluster, in the order to try; 0: any free port"""
    flow_lease_ms: int = 10_000
    """how long they go on there without a word from the driver"""
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


FILES = "python.files"
ARCHIVES = "python.archives"
REQUIREMENTS = "python.requirements"
EXECUTABLE = "python.executable"
CACHED_FILES = "pipeline.cached-files"
SEPARATOR = "#"
"""Separates a path from its target, in values of Flink's configuration."""
