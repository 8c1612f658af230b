from __future__ import annotations

import subprocess
import sys

import millrace.common
from millrace.common import constants
from millrace.common.input_dependency_constraint import InputDependencyConstraint
from millrace.common.io import InputFormat

PYFLINK_NAMES = [
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
]
OUR_NAMES = [
    "SuppressRestartsException",
    "TimestampAssigner",
    "TypeMismatchError",
    "WatermarkGenerator",
    "WatermarkOutput",
]


def test_exports() -> None:
    assert sorted(millrace.common.__all__) == sorted(PYFLINK_NAMES + OUR_NAMES)
    assert all(hasattr(millrace.common, name) for name in millrace.common.__all__)


def test_constants() -> None:
    assert (constants.MIN_LONG_VALUE, constants.MAX_LONG_VALUE) == (-(2**63), 2**63 - 1)
    assert constants.DEFAULT_OUTPUT_TAG == ""
    assert [constraint.name for constraint in InputDependencyConstraint] == ["ANY", "ALL"]
    assert isinstance(InputFormat, type)


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, millrace.common; print({'pyspark', 'pyflink', 'pandas', 'numpy'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"
