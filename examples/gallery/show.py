"""Runs a program of this folder and prints what it gives."""

from __future__ import annotations

from collections.abc import Callable

from millrace.datastream import DataStream, StreamExecutionEnvironment


def show(build: Callable[[StreamExecutionEnvironment], DataStream], name: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    build(env).print()
    env.execute(name)
