"""The mode of a program that table environments are made for."""

from __future__ import annotations

import pytest

from millrace.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from millrace.table import EnvironmentSettings, StreamTableEnvironment
from millrace.util.exceptions import TableException


def test_two_of_one_program_have_modes_of_their_own() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    streaming = StreamTableEnvironment.create(env)
    batch = StreamTableEnvironment.create(env, EnvironmentSettings.in_batch_mode())
    for t_env in (batch, streaming, batch):
        t_env.to_data_stream(t_env.from_elements([(1,)]))
        assert env._is_batch() is (t_env is batch)


def test_a_mode_that_is_set_behind_them_is_an_error() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.raises(TableException, match=r"runtime-mode is BATCH .* made for STREAMING: set it before"):
        t_env.to_data_stream(t_env.from_elements([(1,)]))
