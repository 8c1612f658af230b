"""``ExecutionConfig``: parallelism, watermark interval and other settings of a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from millrace.common.configuration import ConfigOption, ConfigOptions, Configuration
from millrace.common.time import Duration
from millrace.util.fallback import HasOlderNames

__all__ = ["ExecutionConfig"]

T = TypeVar("T")
"""Type of a setting."""

_PARALLELISM = ConfigOptions.key("parallelism.default").int_type().default_value(-1)
_MAX_PARALLELISM = ConfigOptions.key("pipeline.max-parallelism").int_type().default_value(-1)
_WATERMARK_INTERVAL = (
    ConfigOptions.key("pipeline.auto-watermark-interval").duration_type().default_value(Duration.of_millis(200))
)
_LATENCY_INTERVAL = ConfigOptions.key("metrics.latency.interval").duration_type().default_value(Duration.of_millis(0))
_CANCELLATION_INTERVAL = (
    ConfigOptions.key("task.cancellation.interval").duration_type().default_value(Duration.of_seconds(30))
)
_CANCELLATION_TIMEOUT = (
    ConfigOptions.key("task.cancellation.timeout").duration_type().default_value(Duration.of_seconds(180))
)
_CLOSURE_CLEANER = ConfigOptions.key("pipeline.closure-cleaner-level").string_type().default_value("RECURSIVE")
_OBJECT_REUSE = ConfigOptions.key("pipeline.object-reuse").boolean_type().default_value(False)
_AUTO_UIDS = ConfigOptions.key("pipeline.auto-generate-uids").boolean_type().default_value(True)
_GENERIC_TYPES = ConfigOptions.key("pipeline.generic-types").boolean_type().default_value(True)
_FORCE_KRYO = ConfigOptions.key("pipeline.force-kryo").boolean_type().default_value(False)
_FORCE_AVRO = ConfigOptions.key("pipeline.force-avro").boolean_type().default_value(False)
_SNAPSHOT_COMPRESSION = (
    ConfigOptions.key("execution.checkpointing.snapshot-compression").boolean_type().default_value(False)
)
_JOB_PARAMETERS: ConfigOption[dict[str, str]] = (
    ConfigOptions.key("pipeline.global-job-parameters").map_type().default_value({})
)


class ExecutionConfig(HasOlderNames):
    """Settings of a job, stored under Flink's keys in ``configuration``. Setters return the config itself.

    Settings about Kryo, Avro and closures are stored without effect: values travel by pickle.

        >>> config = ExecutionConfig().set_parallelism(4)
        >>> config.get_parallelism()
        4
    """

    PARALLELISM_DEFAULT = -1
    """The environment decides the parallelism."""
    PARALLELISM_UNKNOWN = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        """A view of ``configuration`` (not a copy), or of a new one."""
        self.configuration = Configuration() if configuration is None else configuration

    def _get(self, option: ConfigOption[T]) -> T:
        return self.configuration.get(option)  # type: ignore[return-value]  # all options here have a default

    def _set(self, option: ConfigOption[T], value: T) -> ExecutionConfig:
        self.configuration.set(option, value)
        return self

    def _set_millis(self, option: ConfigOption[Duration], millis: int, least: int, meaning: str) -> ExecutionConfig:
        if millis < least:
            raise ValueError(f"{meaning} must be at least {least} ms, got {millis}")
        return self._set(option, Duration.of_millis(millis))

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Parallelism of operators without their own; ``ValueError`` unless >= 1 or ``PARALLELISM_DEFAULT``."""
        if parallelism == self.PARALLELISM_UNKNOWN:
            return self
        if parallelism < 1 and parallelism != self.PARALLELISM_DEFAULT:
            raise ValueError(f"parallelism must be at least 1, or PARALLELISM_DEFAULT (-1), got {parallelism}")
        return self._set(_PARALLELISM, parallelism)

    def get_parallelism(self) -> int:
        """-1 (``PARALLELISM_DEFAULT``) when it is not set."""
        return self._get(_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """The number of key groups, so the limit of rescaling; ``ValueError`` unless >= 1."""
        if max_parallelism < 1:
            raise ValueError(f"max_parallelism must be greater than 0, got {max_parallelism}")
        return self._set(_MAX_PARALLELISM, max_parallelism)

    def get_max_parallelism(self) -> int:
        """-1 when it is not set."""
        return self._get(_MAX_PARALLELISM)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """How often generators write watermarks, in ms; 0 switches periodic watermarks off."""
        return self._set_millis(_WATERMARK_INTERVAL, interval, 0, "the watermark interval")

    def get_auto_watermark_interval(self) -> int:
        """Interval of periodic watermarks in ms."""
        return self._get(_WATERMARK_INTERVAL).to_millis()

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """In ms; 0 or less switches latency tracking off."""
        return self._set(_LATENCY_INTERVAL, Duration.of_millis(interval))

    def get_latency_tracking_interval(self) -> int:
        """Interval of latency tracking in ms."""
        return self._get(_LATENCY_INTERVAL).to_millis()

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Time between two attempts to cancel a task, in ms."""
        return self._set_millis(_CANCELLATION_INTERVAL, interval, 0, "the task cancellation interval")

    def get_task_cancellation_interval(self) -> int:
        """Time between two attempts to cancel a task, in ms."""
        return self._get(_CANCELLATION_INTERVAL).to_millis()

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Time after which a task that can't be cancelled is killed, in ms; 0 for never."""
        return self._set_millis(_CANCELLATION_TIMEOUT, timeout, 0, "the task cancellation timeout")

    def get_task_cancellation_timeout(self) -> int:
        """Time after which a task that can't be cancelled is killed, in ms."""
        return self._get(_CANCELLATION_TIMEOUT).to_millis()

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted: functions travel as they are."""
        return self._set(_CLOSURE_CLEANER, "RECURSIVE")

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Accepted: functions travel as they are."""
        return self._set(_CLOSURE_CLEANER, "NONE")

    def is_closure_cleaner_enabled(self) -> bool:
        """What is set about the closure cleaner."""
        return self._get(_CLOSURE_CLEANER) != "NONE"

    def enable_force_kryo(self) -> ExecutionConfig:
        """Accepted: there is no Kryo."""
        return self._set(_FORCE_KRYO, True)

    def disable_force_kryo(self) -> ExecutionConfig:
        """Accepted: there is no Kryo."""
        return self._set(_FORCE_KRYO, False)

    def is_force_kryo_enabled(self) -> bool:
        """What is set about Kryo."""
        return self._get(_FORCE_KRYO)

    def enable_force_avro(self) -> ExecutionConfig:
        """Accepted: state is not written with Avro."""
        return self._set(_FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Accepted: state is not written with Avro."""
        return self._set(_FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """What is set about Avro."""
        return self._get(_FORCE_AVRO)

    def enable_generic_types(self) -> ExecutionConfig:
        """Accepted: elements without a type may be any Python objects."""
        return self._set(_GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Accepted: elements without a type may be any Python objects."""
        return self._set(_GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """What is set about generic types."""
        return not self._get(_GENERIC_TYPES)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Operators without a uid get one."""
        return self._set(_AUTO_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Demand a uid for every operator, so that no savepoint depends on a generated one."""
        return self._set(_AUTO_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Whether operators without a uid get one."""
        return self._get(_AUTO_UIDS)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Accepted: nothing is copied between chained operators anyway."""
        return self._set(_OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Accepted: nothing is copied between chained operators anyway."""
        return self._set(_OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """What is set about the reuse of objects."""
        return self._get(_OBJECT_REUSE)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Whether snapshots are to be compressed."""
        return self._set(_SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def is_use_snapshot_compression(self) -> bool:
        """What is set about the compression of snapshots."""
        return self._get(_SNAPSHOT_COMPRESSION)

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, Any]) -> ExecutionConfig:
        """Parameters of your own, to be read in every function; values become str."""
        return self._set(_JOB_PARAMETERS, {key: str(value) for key, value in global_job_parameters_dict.items()})

    def get_global_job_parameters(self) -> dict[str, str]:
        """The parameters that all functions see."""
        return self._get(_JOB_PARAMETERS).copy()

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Always empty: there is no Kryo."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Always empty: there is no Kryo."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Always empty: there are no POJOs."""
        return []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self.configuration == other.configuration

    def __hash__(self) -> int:
        return hash(self.configuration)
