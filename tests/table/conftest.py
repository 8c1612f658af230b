"""Environments that run nothing, with a table in them."""

from __future__ import annotations

import pytest

from millrace.table import DataTypes, EnvironmentSettings, Table, TableEnvironment

ROWS = [(1, "Ann", 10.0), (2, "Bob", 20.0)]


@pytest.fixture
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set_local_timezone("UTC")
    return environment


@pytest.fixture
def people(t_env: TableEnvironment) -> Table:
    types = [("id", DataTypes.BIGINT()), ("name", DataTypes.STRING()), ("paid", DataTypes.DOUBLE())]
    return t_env.from_elements(ROWS, DataTypes.ROW([DataTypes.FIELD(*each) for each in types]))


@pytest.fixture
def clicks(t_env: TableEnvironment) -> Table:
    """A table with event time."""
    t_env.execute_sql(
        "CREATE TABLE clicks (`user` STRING, n INT, ts TIMESTAMP(3), pt AS PROCTIME(), "
        "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'datagen')"
    )
    return t_env.from_path("clicks")
