"""Classes that DataStream and Table programs share: types, rows, time, watermarks, configuration, jobs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from millrace.common.coercion import TypeMismatchError
from millrace.common.config_options import ConfigOption, ConfigOptions
from millrace.common.configuration import Configuration
from millrace.common.execution_config import ExecutionConfig
from millrace.common.input_dependency_constraint import InputDependencyConstraint
from millrace.common.jobs import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from millrace.common.restart_strategy import (
    RestartStrategies,
    RestartStrategyConfiguration,
    SuppressRestartsException,
)
from millrace.common.serialization import (
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    SerializationSchema,
    SimpleStringSchema,
)
from millrace.common.serializer import TypeSerializer
from millrace.common.time import Duration, Instant, Time
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.types import Row, RowKind
from millrace.common.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)

__all__ = [
    "Configuration",
    "ConfigOption",
    "ConfigOptions",
    "ExecutionConfig",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "SerializationSchema",
    "DeserializationSchema",
    "SimpleStringSchema",
    "ByteArraySchema",
    "Encoder",
    "CompletableFuture",
    "InputDependencyConstraint",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "WatermarkStrategy",
    "Duration",
    "Instant",
    "Time",
    "AssignerWithPeriodicWatermarksWrapper",
    # not in PyFlink's list
    "SuppressRestartsException",
    "TimestampAssigner",
    "TypeMismatchError",
    "WatermarkGenerator",
    "WatermarkOutput",
]

# Where earlier versions of PyFlink had them, and programs still import them from.
_FORMATS = {
    f"{format.title()}Row{schema}": format
    for format in ("avro", "csv", "json")
    for schema in ("DeserializationSchema", "SerializationSchema")
}

if not TYPE_CHECKING:  # it would know every name otherwise

    def __getattr__(name: str) -> Any:
        if name not in _FORMATS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # Formats lie above this package: only the program that asks for one loads it.
        return getattr(import_module(f"millrace.datastream.formats.{_FORMATS[name]}"), name)
