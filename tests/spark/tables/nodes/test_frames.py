"""Frames whose bounds are further away than Spark counts rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.tables.plans import rows_of

from millrace.spark.tables.execute import batch_context, collect
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAR = (2**31 - 2, 2**31 - 1, 2**31, 2**40)
NUMBERS = range(1, 6)
FRAMES = {
    "CURRENT ROW AND {} FOLLOWING": lambda n: sum(NUMBERS[n - 1 :]),
    "{} PRECEDING AND CURRENT ROW": lambda n: sum(NUMBERS[:n]),
    "{0} PRECEDING AND {0} FOLLOWING": lambda n: sum(NUMBERS),
    "{0} FOLLOWING AND {0} FOLLOWING": lambda n: None,
    "1 PRECEDING AND {} FOLLOWING": lambda n: sum(NUMBERS[max(n - 2, 0) :]),
}


@pytest.mark.spark
def test_bounds_beyond_every_row(spark: SparkSession) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    kind = DataTypes.ROW([DataTypes.FIELD("n", DataTypes.INT())])
    environment.create_temporary_view("t", environment.from_elements([(n,) for n in NUMBERS], kind))
    frames = [(text.format(far), wanted) for far in FAR for text, wanted in FRAMES.items()]
    calls = ", ".join(f"SUM(n) OVER (ORDER BY n ROWS BETWEEN {text})" for text, _ in frames)
    plan = environment.sql_query(f"SELECT n, {calls} FROM t")._plan
    found = rows_of(collect(plan, batch_context(spark, configuration=environment.get_config().to_map())), plan)
    for row in found:
        assert list(row)[1:] == [wanted(row[0]) for _, wanted in frames], row
