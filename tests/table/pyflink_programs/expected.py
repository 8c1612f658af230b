"""What programs print. Nothing here knows Millrace, so that PyFlink itself can run the programs, too."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from textwrap import dedent

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from scripts.run_pyflink_examples import comparable

Program = Callable[[], None]
PROGRAMS: dict[str, tuple[Program, str]] = {}
"""name -> the program and what it prints"""


def prints(text: str) -> Callable[[Program], Program]:
    """The program prints these lines; changes of a table count by the rows that are left."""

    def add(program: Program) -> Program:
        module = program.__module__.rpartition(".")[2]
        PROGRAMS[f"{module}.{program.__name__}"] = (program, dedent(text).strip("\n"))
        return program

    return add


def streaming() -> TableEnvironment:
    """With one subtask, so that printed lines have no number."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1").set_local_timezone("UTC")
    return t_env


def with_streams() -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("UTC")
    return env, t_env


MODULES = ("definitions", "mixed", "relations", "row_based", "user_functions")


def load() -> dict[str, tuple[Program, str]]:
    """All programs."""
    for module in MODULES:
        importlib.import_module(f"tests.table.pyflink_programs.{module}")
    return PROGRAMS


def settled(text: str) -> Counter[str]:
    """Lines to compare."""
    return comparable(Counter(line.rstrip() for line in text.splitlines()))
