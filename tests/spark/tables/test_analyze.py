"""ANALYZE TABLE counts what is there, and joins in batch mode make use of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.catalog import CatalogPartitionSpec, ObjectPath

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from millrace.table.catalog import Catalog

VALUES = "(1, 'aa', 1.5, 'p'), (2, 'b', CAST(NULL AS DOUBLE), 'p'), (2, CAST(NULL AS STRING), -3.0, 'q')"
PATH = ObjectPath("default_database", "t")


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made._session.streams.set_spark_session(spark).set_parallelism(2)
    for name, by in {"t": "", "parts": " PARTITIONED BY (p)"}.items():
        made.execute_sql(
            f"CREATE TABLE {name} (id INT, name STRING, x DOUBLE, p STRING){by} "
            f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path / name}', 'format' = 'json')"
        )
        made.execute_sql(f"INSERT INTO {name} VALUES {VALUES}").wait()
    return made


def catalog_of(tables: TableEnvironment) -> Catalog:
    found = tables.get_catalog("default_catalog")
    assert found is not None
    return found


def facts(nulls: int, distinct: int, least: Any, greatest: Any, length: float | None = None) -> dict[str, Any]:
    return {"nulls": nulls, "distinct": distinct, "least": least, "greatest": greatest, "average_length": length}


def test_rows_and_columns_are_counted(tables: TableEnvironment) -> None:
    catalog = catalog_of(tables)
    assert catalog.get_table_statistics(PATH).get_row_count() == -1
    tables.execute_sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS id, name")
    assert catalog.get_table_statistics(PATH).get_row_count() == 3
    assert catalog.get_table_column_statistics(PATH).get_column_statistics_data() == {
        "id": facts(0, 2, "1", "2"),
        "name": facts(1, 2, "aa", "b", 1.5),
    }
    tables.execute_sql("ANALYZE TABLE parts PARTITION (p) COMPUTE STATISTICS FOR ALL COLUMNS")
    parts = ObjectPath("default_database", "parts")
    counts = {
        value: catalog.get_partition_statistics(parts, CatalogPartitionSpec({"p": value})).get_row_count()
        for value in "pq"
    }
    assert counts == {"p": 2, "q": 1} and catalog.get_table_statistics(parts).get_row_count() == 3
    found = catalog.get_partition_column_statistics(parts, CatalogPartitionSpec({"p": "q"}))
    assert found.get_column_statistics_data()["x"] == facts(0, 1, "-3.0", "-3.0")


def test_plans_know_it(tables: TableEnvironment) -> None:
    query = "SELECT a.id, b.x FROM t a JOIN parts b ON a.id = b.id WHERE a.id > 1"
    rows = sorted((tuple(row) for row in tables.execute_sql(query).collect()), key=repr)
    assert "rows=" not in tables.explain_sql(query)
    tables.execute_sql("ANALYZE TABLE t COMPUTE STATISTICS")
    explained = tables.explain_sql(query)
    assert "rows=3" in explained and "BroadcastHashJoin" in explained
    assert sorted((tuple(row) for row in tables.execute_sql(query).collect()), key=repr) == rows
    tables.execute_sql("INSERT INTO t VALUES (9, 'new', 0.5, 'p')").wait()
    assert catalog_of(tables).get_table_statistics(PATH).get_row_count() == -1
    assert "rows=" not in tables.explain_sql(query)


REFUSED = {
    "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS nope": "no stored column 'nope'",
    "ANALYZE TABLE t PARTITION (p) COMPUTE STATISTICS": "has no partitions",
    "ANALYZE TABLE parts COMPUTE STATISTICS": "is partitioned: name all of its columns",
    "ANALYZE TABLE v COMPUTE STATISTICS": "is a view",
}


def test_what_cannot_be_counted_is_refused(tables: TableEnvironment) -> None:
    tables.execute_sql("CREATE VIEW v AS SELECT * FROM t")
    for statement, told in REFUSED.items():
        with pytest.raises(Exception, match=told):
            tables.execute_sql(statement)
