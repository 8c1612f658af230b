"""Long chains, as generated programs write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_thousand_texts_one_behind_the_other(spark: SparkSession) -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    tables._session.streams.set_spark_session(spark)
    parts = [f"'{number},'" if number % 2 else "s" for number in range(1000)]
    expected = "".join(f"{number}," if number % 2 else "x" for number in range(1000))
    with tables.execute_sql(f"SELECT {' || '.join(parts)} FROM (VALUES ('x')) AS t (s)").collect() as rows:
        assert [row[0] for row in rows] == [expected]
