"""The environments of PyFlink's Python shell, made when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["b_env", "bt_env", "s_env", "st_env"]

s_env: Any
st_env: Any
b_env: Any
bt_env: Any

_STREAMS, _BATCH = ("s_env", "st_env"), ("b_env", "bt_env")


def __getattr__(name: str) -> Any:
    """Make the environments when they are first used."""
    if name in _STREAMS:
        made = _stream_environments()
    elif name in _BATCH:
        made = _batch_environments()
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
    from millrace.pyflink_names import NAMES
    from millrace.table import EnvironmentSettings, TableEnvironment

    dataset = import_module(f"millrace.{NAMES['dataset'].served}")
    return {
        "b_env": dataset.ExecutionEnvironment.get_execution_environment(),
        "bt_env": TableEnvironment.create(EnvironmentSettings.in_batch_mode()),
    }
