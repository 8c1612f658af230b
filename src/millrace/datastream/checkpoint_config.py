"""``CheckpointConfig``: when and how checkpoints are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.common.config_values import to_boolean, to_duration, to_int
from millrace.common.state.storage import ExternalizedCheckpointRetention
from millrace.common.time import Duration, TimeSpan, to_millis
from millrace.datastream.checkpoint_storage import CheckpointStorage, FileSystemCheckpointStorage
from millrace.datastream.checkpointing_mode import CheckpointingMode
from millrace.util.fallback import HasOlderNames

if TYPE_CHECKING:
    from millrace.common.configuration import Configuration

__all__ = ["CheckpointConfig"]

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
