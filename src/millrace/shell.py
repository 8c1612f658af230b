"""The names of PyFlink's Python shell: environments, and the names of the packages that it imports.

``from pyflink.shell import s_env, st_env, DataTypes``
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from millrace.older import older_module

_HOMES = ("common", "datastream", "table", "table.catalog", "table.window", "table.descriptors", "metrics")
"""Packages whose names the shell offers."""
_STREAMS, _BATCH = ("s_env", "st_env"), ("b_env", "bt_env")


def __getattr__(name: str) -> Any:
    """Make the environments when they are first used."""
    if name in _STREAMS:
        made = _stream_environments()
    elif name in _BATCH:
        made = _batch_environments()
    elif not name.startswith("_") and (home := _home_of(name)) is not None:
        made = {name: getattr(home, name)}
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals().update(made)
    return made[name]


def _stream_environments() -> dict[str, Any]:
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.table import StreamTableEnvironment

    environment = StreamExecutionEnvironment.get_execution_environment()
    return {"s_env": environment, "st_env": StreamTableEnvironment.create(environment)}


def _batch_environments() -> dict[str, Any]:
    """The batch environments of the shells of Flink up to 1.13."""
    from millrace.table import EnvironmentSettings, TableEnvironment

    dataset = import_module(str(older_module("dataset")))
    return {
        "b_env": dataset.ExecutionEnvironment.get_execution_environment(),
        "bt_env": TableEnvironment.create(EnvironmentSettings.in_batch_mode()),
    }


def _home_of(name: str) -> Any:
    modules = (import_module(f"millrace.{home}") for home in _HOMES)
    return next((module for module in modules if name in getattr(module, "__all__", ())), None)
