"""EXPLAIN in batch mode needs no source that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
@pytest.mark.parametrize("query", ["SELECT name FROM t WHERE id = 1", "SELECT COUNT(*) FROM t", "SELECT * FROM t, t u"])
def test_a_table_whose_folder_is_missing(spark: SparkSession, tmp_path: Path, format: str, query: str) -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables._session.streams.set_spark_session(spark)
    tables.execute_sql(
        f"CREATE TABLE t (id INT, name STRING) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/none', 'format' = '{format}')"
    )
    shown = tables.explain_sql(query)
    assert "Scan(default_catalog.default_database.t" in shown and "== Plan of Spark ==" in shown
    assert "MapInArrow" in shown
    with pytest.raises(FileNotFoundError, match="none"):
        list(tables.execute_sql(query).collect())
