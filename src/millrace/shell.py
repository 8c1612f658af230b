"""The environments that PyFlink's Python shell has ready: ``from pyflink.shell import s_env, st_env``."""

from __future__ import annotations

from typing import Any

_NAMES = ("s_env", "st_env")


def __getattr__(name: str) -> Any:
    """Made when they are first asked for."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from millrace.datastream import StreamExecutionEnvironment
    from millrace.table import StreamTableEnvironment

    environment = StreamExecutionEnvironment.get_execution_environment()
    made = {"s_env": environment, "st_env": StreamTableEnvironment.create(environment)}
    globals().update(made)
    return made[name]
