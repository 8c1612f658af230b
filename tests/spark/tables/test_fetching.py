"""Batch queries with more rows than Spark takes to its driver in one action."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from millrace.spark.tables.child_session import TOO_MANY, fetched
from millrace.table import DataTypes as D
from millrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.usefixtures("tight_results")
def test_rows_come_partition_by_partition_in_the_same_order_and_types(spark: SparkSession) -> None:
    columns = [
        "uuid() AS text", "id", "CAST(id AS DECIMAL(20, 3)) AS price", "TIMESTAMP '2024-01-01' AS at",
        "TIMESTAMP_NTZ '2024-01-01 00:00:00' AS local", "ARRAY(id, NULL) AS list", "MAP('k', id) AS map",
        "NAMED_STRUCT('x', id) AS row", "IF(id % 2 = 0, ENCODE(STRING(id), 'UTF-8'), NULL) AS bytes",
    ]  # fmt: skip
    few = spark.range(10, numPartitions=4).selectExpr(*columns).orderBy("id")
    many = spark.range(100_000, numPartitions=8).selectExpr(*columns).orderBy("id")
    with pytest.raises(Exception, match=TOO_MANY):
        many.toArrow()
    found = fetched(many)
    assert found.schema.equals(few.toArrow().schema)
    assert found.column("id").to_pylist() == list(range(100_000))
    assert len(set(found.column("text").to_pylist())) == 100_000
    row = found.slice(77_776, 1).to_pylist()[0]
    assert (row["price"], row["bytes"], row["local"]) == (Decimal(77_776), b"77776", dt.datetime(2024, 1, 1))
    assert (row["list"], row["map"], row["row"]) == ([77_776, None], [("k", 77_776)], {"x": 77_776})


@pytest.mark.usefixtures("spark", "tight_results")
def test_a_batch_query() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    # A side that all tasks get passes through the driver, too, which takes next to nothing here.
    t_env.get_config().set("spark.sql.autoBroadcastJoinThreshold", "-1")
    numbers = t_env.from_elements([(number,) for number in range(400)], D.ROW([D.FIELD("n", D.INT())]))
    t_env.create_temporary_view("numbers", numbers)
    query = "SELECT a.n * 400 + b.n, UUID() FROM numbers a CROSS JOIN numbers b"
    found = sorted(row[0] for row in t_env.execute_sql(query).collect())
    assert found == list(range(160_000))


def test_other_errors_are_as_they_were(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        fetched(spark.sql("SELECT 1 / id FROM range(1)"))
