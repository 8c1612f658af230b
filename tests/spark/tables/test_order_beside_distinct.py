"""What depends on the order of rows keeps it beside a DISTINCT aggregate, for which Spark exchanges the rows twice."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.tables.plans import rows_of

from millrace.spark.tables.execute import batch_context, collect
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRAWN = random.Random(8)
ROWS = [(n % 3, DRAWN.randrange(7), None if n % 11 == 0 else f"v{DRAWN.randrange(1000)}") for n in range(300)]
TYPES = DataTypes.ROW(
    [
        DataTypes.FIELD("k", DataTypes.INT()),
        DataTypes.FIELD("d", DataTypes.INT()),
        DataTypes.FIELD("v", DataTypes.STRING()),
    ]
)


def texts(key: int | None = None) -> list[str]:
    return [v for k, _, v in ROWS if v is not None and key in (None, k)]


CASES: dict[str, list[tuple[Any, ...]]] = {
    "SELECT k, LISTAGG(v), COUNT(DISTINCT d) FROM t GROUP BY k": [(k, ",".join(texts(k)), 7) for k in range(3)],
    "SELECT LISTAGG(v, '-'), SUM(DISTINCT d), COUNT(DISTINCT v) FROM t": [
        ("-".join(texts()), sum(range(7)), len(set(texts())))
    ],
    "SELECT k, LISTAGG(v) FILTER (WHERE d > 2), COUNT(DISTINCT d) FROM t GROUP BY k": [
        (k, ",".join(v for key, d, v in ROWS if key == k and d > 2 and v is not None), 7) for k in range(3)
    ],
    "SELECT k, FIRST_VALUE(v), LAST_VALUE(v), COUNT(DISTINCT d) FROM t GROUP BY k": [
        (k, texts(k)[0], texts(k)[-1], 7) for k in range(3)
    ],
    "SELECT k, ARRAY_AGG(v), COUNT(DISTINCT d) FROM t GROUP BY k": [
        (k, [v for key, _, v in ROWS if key == k], 7) for k in range(3)
    ],
    "SELECT k, JSON_ARRAYAGG(v), COUNT(DISTINCT d) FROM t GROUP BY k": [
        (k, "[" + ",".join(f'"{v}"' for v in texts(k)) + "]", 7) for k in range(3)
    ],
}


@pytest.mark.spark
@pytest.mark.parametrize("sql", CASES)
def test_the_order_of_the_input(sql: str, spark: SparkSession) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    environment.create_temporary_view("t", environment.from_elements(ROWS, TYPES))
    plan = environment.sql_query(sql)._plan
    context = batch_context(spark, configuration=environment.get_config().to_map())
    found = sorted((tuple(row) for row in rows_of(collect(plan, context), plan)), key=repr)
    assert found == sorted(CASES[sql], key=repr)
