"""LAG and LEAD whose offset or default is computed: batch mode has all rows, streaming mode says no at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.tables.plans import rows_of

from millrace.spark.tables.execute import batch_context, collect
from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [(k, n, (n * 5 + k) % 4 - 1, None if n % 5 == 2 else n / 2) for k in range(2) for n in range(9)]
TYPES = DataTypes.ROW(
    [
        DataTypes.FIELD("k", DataTypes.INT()),
        DataTypes.FIELD("n", DataTypes.INT()),
        DataTypes.FIELD("a", DataTypes.INT()),
        DataTypes.FIELD("b", DataTypes.DOUBLE()),
    ]
)


def shifted(row: tuple[Any, ...], by: int, default: Any) -> Any:
    """The value so many rows further on in the partition."""
    partition = [each for each in ROWS if each[0] == row[0]]
    place = partition.index(row) + by
    return partition[place][3] if 0 <= place < len(partition) else default


CASES: dict[str, list[Any]] = {
    "LEAD(b, a - 2, 3.0)": [shifted(row, row[2] - 2, 3.0) for row in ROWS],
    "LAG(b, a, 3)": [shifted(row, -row[2], 3.0) for row in ROWS],
    "LAG(b, a)": [shifted(row, -row[2], None) for row in ROWS],
    "LAG(b, 2, n)": [shifted(row, -2, float(row[1])) for row in ROWS],
    "LEAD(b, CASE WHEN n <> 4 THEN 1 END, 7)": [None if row[1] == 4 else shifted(row, 1, 7.0) for row in ROWS],
    "LEAD(b, 1, -1)": [shifted(row, 1, -1.0) for row in ROWS],
}


@pytest.mark.spark
@pytest.mark.parametrize("call", CASES)
def test_batch(call: str, spark: SparkSession) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    environment.create_temporary_view("t", environment.from_elements(ROWS, TYPES))
    plan = environment.sql_query(f"SELECT k, n, {call} OVER (PARTITION BY k ORDER BY n) FROM t")._plan
    context = batch_context(spark, configuration=environment.get_config().to_map())
    found = sorted((tuple(row) for row in rows_of(collect(plan, context), plan)), key=lambda row: row[:2])
    assert [row[2] for row in found] == CASES[call]


def test_streaming_refuses_when_it_plans() -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.create_temporary_view("t", environment.from_elements(ROWS, TYPES))
    with pytest.raises(Exception, match="the offset and the default of LEAD must be constants in streaming mode"):
        environment.explain_sql("SELECT LEAD(b, a - 2, 3.0) OVER (PARTITION BY k ORDER BY n) FROM t")


@pytest.mark.parametrize("offset", ["'a'", "CAST(NULL AS INT)", "b"])
def test_an_offset_is_a_whole_number(offset: str) -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    environment.create_temporary_view("t", environment.from_elements(ROWS, TYPES))
    with pytest.raises(Exception, match="the offset of LAG must be a whole number"):
        environment.sql_query(f"SELECT LAG(b, {offset}) OVER (PARTITION BY k ORDER BY n) FROM t")
