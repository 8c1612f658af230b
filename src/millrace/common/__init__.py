# Written by `make tables` from millrace.pyflink_names: edit that, not this file.
"""Classes that DataStream and Table programs share: types, rows, time, watermarks, configuration, jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.common.coercion import TypeMismatchError
from millrace.common.configuration import ConfigOption, ConfigOptions, Configuration
from millrace.common.execution_config import ExecutionConfig
from millrace.common.input_dependency_constraint import InputDependencyConstraint
from millrace.common.jobs import CompletableFuture, JobClient, JobExecutionResult, JobID, JobStatus
from millrace.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration, SuppressRestartsException
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
from millrace.util.not_yet import lazy_names

if TYPE_CHECKING:
    from millrace.formats.avro import AvroRowDeserializationSchema as AvroRowDeserializationSchema
    from millrace.formats.avro import AvroRowSerializationSchema as AvroRowSerializationSchema
    from millrace.formats.csv import CsvRowDeserializationSchema as CsvRowDeserializationSchema
    from millrace.formats.csv import CsvRowSerializationSchema as CsvRowSerializationSchema
    from millrace.formats.json import JsonRowDeserializationSchema as JsonRowDeserializationSchema
    from millrace.formats.json import JsonRowSerializationSchema as JsonRowSerializationSchema

__all__ = [
    "Configuration",
    "ConfigOption",
    "ConfigOptions",
    "ExecutionConfig",
    "TypeInformation",
    "Types",
    "TypeSerializer",
    "SerializationSchema",
    "DeserializationSchema",
    "SimpleStringSchema",
    "ByteArraySchema",
    "Encoder",
    "CompletableFuture",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "InputDependencyConstraint",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "SuppressRestartsException",
    "Row",
    "RowKind",
    "WatermarkStrategy",
    "AssignerWithPeriodicWatermarksWrapper",
    "TimestampAssigner",
    "WatermarkGenerator",
    "WatermarkOutput",
    "Duration",
    "Instant",
    "Time",
    "TypeMismatchError",
]

_HOMES = {
    "JsonRowDeserializationSchema": "formats.json",
    "JsonRowSerializationSchema": "formats.json",
    "CsvRowDeserializationSchema": "formats.csv",
    "CsvRowSerializationSchema": "formats.csv",
    "AvroRowDeserializationSchema": "formats.avro",
    "AvroRowSerializationSchema": "formats.avro",
}

__getattr__ = lazy_names(__name__, _HOMES)
