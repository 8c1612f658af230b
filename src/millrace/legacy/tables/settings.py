"""Older settings of a table environment: planners, idle state with two times, configurations that are put in whole."""

from __future__ import annotations

import datetime
from typing import Any

from millrace.common.configuration import Configuration
from millrace.common.time import TimeSpan, to_millis
from millrace.legacy.telling import tell
from millrace.table.settings.environment_settings import EnvironmentSettings
from millrace.table.settings.table_config import TableConfig
from millrace.table.values.problems import problem

Builder = EnvironmentSettings.Builder
_PLANNER = "there is one planner: leave it out"
_LEAST_BETWEEN = datetime.timedelta(minutes=5)


def use_blink_planner(builder: Builder) -> Builder:
    tell("EnvironmentSettings.Builder.use_blink_planner()", _PLANNER)
    return builder


def use_old_planner(builder: Builder) -> Builder:
    tell("EnvironmentSettings.Builder.use_old_planner()", _PLANNER)
    return builder


def use_any_planner(builder: Builder) -> Builder:
    tell("EnvironmentSettings.Builder.use_any_planner()", _PLANNER)
    return builder


def set_configuration(config: TableConfig, configuration: Configuration) -> None:
    tell("TableConfig.set_configuration()", "TableConfig.set(key, value), or add_configuration()")
    config.add_configuration(configuration)


def set_idle_state_retention_time(config: TableConfig, min_time: TimeSpan, max_time: TimeSpan) -> None:
    """State that is not used is kept for at least ``min_time``; here it goes then, never later than ``max_time``."""
    tell("TableConfig.set_idle_state_retention_time(min, max)", "set_idle_state_retention(datetime.timedelta(...))")
    least, most = (datetime.timedelta(milliseconds=to_millis(time)) for time in (min_time, max_time))
    if most - least < _LEAST_BETWEEN and (least, most) != (datetime.timedelta(0),) * 2:
        raise problem(
            f"set_idle_state_retention_time: between {least} and {most} must be at least 5 minutes, as in Flink"
        )
    config.set_idle_state_retention(least)


def get_min_idle_state_retention_time(config: TableConfig) -> int:
    """ms"""
    tell("TableConfig.get_min_idle_state_retention_time()", "get_idle_state_retention()")
    return config.get_idle_state_retention() // datetime.timedelta(milliseconds=1)


def get_max_idle_state_retention_time(config: TableConfig) -> int:
    """ms: half as much again as the least time, as in Flink since 1.11."""
    tell("TableConfig.get_max_idle_state_retention_time()", "get_idle_state_retention()")
    return get_min_idle_state_retention_time(config) * 3 // 2


def set_null_check(config: TableConfig, null_check: bool) -> None:
    """NULL is handled in every expression; code without checks is not made."""
    tell("TableConfig.set_null_check()", "leave it out: NULL is always handled")
    if not null_check:
        raise problem("TableConfig.set_null_check(False): expressions always handle NULL; leave it out")


def get_null_check(config: TableConfig) -> bool:
    """Always."""
    return True


def set_decimal_context(config: TableConfig, precision: int, rounding_mode: str) -> None:
    """How DECIMALs were rounded; results have SQL's digits now, and are rounded half up."""
    tell("TableConfig.set_decimal_context()", "leave it out: results have the digits of their types, rounded half up")
    if rounding_mode != "HALF_UP":
        raise problem(f"TableConfig.set_decimal_context(): DECIMALs are rounded HALF_UP, not {rounding_mode}")


def get_decimal_context(config: TableConfig) -> tuple[int, str]:
    """Digits and mode of rounding."""
    return 34, "HALF_UP"


def from_configuration(settings: type[EnvironmentSettings], config: Configuration) -> EnvironmentSettings:
    tell("EnvironmentSettings.from_configuration()", "EnvironmentSettings.new_instance().with_configuration(...)")
    return settings.new_instance().with_configuration(config).build()


def to_configuration(settings: EnvironmentSettings) -> Configuration:
    tell("EnvironmentSettings.to_configuration()", "get_configuration()")
    return settings.get_configuration()


def is_blink_planner(settings: EnvironmentSettings) -> bool:
    """There is one planner, which Flink 1.13 called so."""
    return True


def with_table_config(settings: EnvironmentSettings | None, config: TableConfig | None) -> EnvironmentSettings | None:
    """Settings with what a TableConfig says, that an environment was given, too."""
    if config is None:
        return settings
    tell("an environment created with a TableConfig", "EnvironmentSettings.new_instance().with_configuration(...)")
    both = Configuration(settings.get_configuration()) if settings is not None else Configuration()
    for key, value in config.to_map().items():
        both.set_string(key, value)
    return EnvironmentSettings(both)


def todays_arguments(
    function: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``create(env, table_config, environment_settings)`` as ``create(env, environment_settings)``."""
    given = dict(zip(("stream_execution_environment", "table_config", "environment_settings"), args)) | keywords
    settings = with_table_config(given.get("environment_settings"), given.get("table_config"))
    return (given.get("stream_execution_environment"), settings), {}
