"""Settings of execution that Flink 2 has no more: restart strategies of a config, modes of exchange, Kryo's types."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from millrace.common.execution_config import ExecutionConfig
from millrace.common.input_dependency_constraint import InputDependencyConstraint
from millrace.legacy.streams.restarting import get_strategy, put_strategy
from millrace.legacy.telling import tell

if TYPE_CHECKING:
    from millrace.common.restart_strategy import RestartStrategyConfiguration
    from millrace.datastream import StreamExecutionEnvironment

__all__ = ["ExecutionMode"]

_PICKLED = "leave it out: values travel by pickle, and Java's serializers are not used"


class ExecutionMode(Enum):
    """How results were exchanged in the DataSet API; Spark decides that here."""

    PIPELINED = 0
    PIPELINED_FORCED = 1
    BATCH = 2
    BATCH_FORCED = 3


def set_restart_strategy(
    config: ExecutionConfig, restart_strategy_configuration: RestartStrategyConfiguration
) -> ExecutionConfig:
    """When a job of this program begins again after a failure: one of ``RestartStrategies``."""
    put_strategy("ExecutionConfig", config, config.configuration, restart_strategy_configuration)
    return config


def get_restart_strategy(config: ExecutionConfig) -> RestartStrategyConfiguration:
    """The one that was set; one that leaves it to the settings by default."""
    return get_strategy(config)


def set_execution_mode(config: ExecutionConfig, execution_mode: ExecutionMode) -> ExecutionConfig:
    """Recorded, without effect."""
    tell("ExecutionConfig.set_execution_mode()", "leave it out; env.set_runtime_mode(...) chooses streaming or batch")
    config.__dict__["_older_execution_mode"] = ExecutionMode(execution_mode)
    return config


def get_execution_mode(config: ExecutionConfig) -> ExecutionMode:
    """The mode that was recorded."""
    return ExecutionMode(config.__dict__.get("_older_execution_mode", ExecutionMode.PIPELINED))


def set_default_input_dependency_constraint(
    config: ExecutionConfig, input_dependency_constraint: InputDependencyConstraint
) -> ExecutionConfig:
    """Recorded, without effect: Spark begins a stage when all its inputs are there."""
    tell("ExecutionConfig.set_default_input_dependency_constraint()", "leave it out: Spark decides")
    config.__dict__["_older_constraint"] = InputDependencyConstraint(input_dependency_constraint)
    return config


def get_default_input_dependency_constraint(config: ExecutionConfig) -> InputDependencyConstraint:
    """The constraint that was recorded."""
    return InputDependencyConstraint(config.__dict__.get("_older_constraint", InputDependencyConstraint.ANY))


# -- Java's serializers: nothing is written with them, so there is nothing to register ---------------------------------


def add_default_kryo_serializer(
    config: ExecutionConfig | StreamExecutionEnvironment, type_class_name: str, serializer_class_name: str
) -> ExecutionConfig | StreamExecutionEnvironment:
    tell("add_default_kryo_serializer()", _PICKLED)
    return config


def register_type_with_kryo_serializer(
    config: ExecutionConfig | StreamExecutionEnvironment, type_class_name: str, serializer_class_name: str
) -> ExecutionConfig | StreamExecutionEnvironment:
    tell("register_type_with_kryo_serializer()", _PICKLED)
    return config


def register_type(env: StreamExecutionEnvironment, type_class_name: str) -> None:
    tell("register_type()", _PICKLED)


def register_kryo_type(config: ExecutionConfig, type_class_name: str) -> ExecutionConfig:
    tell("register_kryo_type()", _PICKLED)
    return config


def register_pojo_type(config: ExecutionConfig, type_class_name: str) -> ExecutionConfig:
    tell("register_pojo_type()", _PICKLED)
    return config


def disable_auto_type_registration(config: ExecutionConfig) -> ExecutionConfig:
    tell("disable_auto_type_registration()", _PICKLED)
    return config


def is_auto_type_registration_disabled(config: ExecutionConfig) -> bool:
    return True


def get_registered_types_with_kryo_serializer_classes(config: ExecutionConfig) -> dict[str, str]:
    """Always empty: there is no Kryo."""
    return {}
