"""Data sources of Spark as tables, and DataFrames as tables."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from millrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from millrace.table.expressions import col
from millrace.util.exceptions import TableException

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def made(spark: SparkSession, streaming: bool) -> TableEnvironment:
    settings = EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    environment = TableEnvironment.create(settings)
    environment._session.streams.set_spark_session(spark).set_parallelism(2)
    return environment


@pytest.fixture
def batch(spark: SparkSession) -> TableEnvironment:
    return made(spark, False)


def rows(environment: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with environment.execute_sql(query).collect() as found:
        return sorted(tuple(row) for row in found)


def create(environment: TableEnvironment, columns: str, **options: str) -> None:
    texts = ", ".join(f"'{key}' = '{value}'" for key, value in {"connector": "spark", **options}.items())
    environment.execute_sql(f"CREATE TABLE t ({columns}) WITH ({texts})")


@pytest.mark.parametrize("column", ["RAW('object', '')", "ARRAY<RAW('object', '')>", "ROW<a INT, b RAW('object', '')>"])
def test_pickles_of_others_are_not_read(batch: TableEnvironment, tmp_path: Path, column: str) -> None:
    create(batch, f"id INT, v {column}", format="parquet", path=str(tmp_path))
    with pytest.raises(TableException, match=r"column 'v' is .*RAW.*, whose values are pickles"):
        batch.sql_query("SELECT CAST(v AS STRING) FROM t")


@pytest.mark.draw(2)
@pytest.mark.parametrize("streaming", [False, True])
def test_files_with_options_of_spark(spark: SparkSession, tmp_path: Path, streaming: bool) -> None:
    (tmp_path / "a.csv").write_text("id|name|at\n1|x|2024-05-06 07:08:09\n2|y|\n")
    environment = made(spark, streaming)
    columns = "id INT, name STRING, `at` TIMESTAMP(3)"
    create(environment, columns, format="csv", path=str(tmp_path), sep="|", header="true")
    at = dt.datetime(2024, 5, 6, 7, 8, 9)
    assert rows(environment, "SELECT name, `at`, id * 2 FROM t WHERE id < 2") == [("x", at, 2)]
    assert rows(environment, "SELECT COUNT(*) FROM t") == [(2,)]


@pytest.mark.draw(2)
@pytest.mark.parametrize("streaming", [False, True])
def test_a_data_source_of_the_program(spark: SparkSession, tmp_path: Path, streaming: bool) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Reader(DataSourceReader):
        def __init__(self, count: int) -> None:
            self.count = count

        def read(self, partition: Any) -> Any:
            for number in range(self.count):
                yield number, f"n{number}"

    class Numbers(DataSource):
        @classmethod
        def name(cls) -> str:
            return "numbers"

        def schema(self) -> str:
            return "n INT, name STRING"

        def reader(self, schema: Any) -> Reader:
            return Reader(int(self.options["count"]))

    spark.dataSource.register(Numbers)
    environment = made(spark, streaming)
    staging = {"staging-path": str(tmp_path)} if streaming else {}
    create(environment, "n BIGINT, name STRING", format="numbers", count="4", **staging)
    assert rows(environment, "SELECT name, n FROM t WHERE n >= 2") == [("n2", 2), ("n3", 3)]
    assert bool(list(tmp_path.iterdir())) == streaming


def test_types_have_to_fit(batch: TableEnvironment, spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("json").save(str(tmp_path / "j"))
    spark.sql("SELECT 1L AS id").createOrReplaceGlobalTempView("longs")
    create(batch, "id BIGINT, gone INT", format="json", path=str(tmp_path / "j"))
    assert rows(batch, "SELECT id FROM t WHERE gone IS NULL") == [(0,), (1,), (2,)]
    frame = spark.range(3).withColumnRenamed("id", "n")
    from millrace.relational.nodes import Field
    from millrace.spark.tables.steps.spark_types import checked

    with pytest.raises(TableException, match="column 'n' is bigint in the data source, which does not fit into INT"):
        checked(frame, (Field("n", DataTypes.INT()),), "t")
    with pytest.raises(TableException, match=r"has no column 'm'.*it has n"):
        checked(frame, (Field("m", DataTypes.INT()),), "t")
    assert checked(frame, (Field("n", DataTypes.BIGINT()),), "t") is frame


@pytest.mark.draw(2)
@pytest.mark.parametrize("streaming", [False, True])
def test_times_have_the_digits_of_their_type(spark: SparkSession, tmp_path: Path, streaming: bool) -> None:
    """What prints alike is equal: a data source has six digits, whatever the table says."""
    zone = "CAST(concat(text, '+00:00') AS TIMESTAMP) AS l"
    texts = "VALUES ('2024-01-02 03:04:05.123456'), ('2024-01-02 03:04:05.123999'), (NULL) AS t(text)"
    frame = spark.sql(f"SELECT CAST(text AS TIMESTAMP_NTZ) AS a, CAST(text AS TIMESTAMP_NTZ) AS b, {zone} FROM {texts}")
    frame.coalesce(1).write.parquet(f"{tmp_path}/t")
    environment = made(spark, streaming)
    create(environment, "a TIMESTAMP(3), b TIMESTAMP(5), l TIMESTAMP_LTZ(0)", format="parquet", path=f"{tmp_path}/t")
    second = dt.datetime(2024, 1, 2, 3, 4, 5)
    wanted = [
        (second.replace(microsecond=123_000), second.replace(microsecond=123_450), second),
        (second.replace(microsecond=123_000), second.replace(microsecond=123_990), second),
        (None, None, None),
    ]
    with environment.execute_sql("SELECT a, b, CAST(l AS TIMESTAMP(6)) FROM t").collect() as found:
        assert sorted(map(tuple, found), key=repr) == sorted(wanted, key=repr)


def test_writing(batch: TableEnvironment, spark: SparkSession, tmp_path: Path) -> None:
    batch.execute_sql(
        f"CREATE TABLE t (id INT, day STRING) PARTITIONED BY (day) "
        f"WITH ('connector' = 'spark', 'format' = 'orc', 'path' = '{tmp_path}/t')"
    )
    batch.execute_sql("INSERT INTO t VALUES (1, 'mon'), (2, 'tue')").wait()
    batch.execute_sql("INSERT INTO t VALUES (3, 'tue')").wait()
    assert sorted(spark.read.orc(f"{tmp_path}/t").select("id", "day").collect()) == [(1, "mon"), (2, "tue"), (3, "tue")]
    batch.execute_sql("INSERT OVERWRITE t VALUES (9, 'tue')").wait()
    assert rows(batch, "SELECT id, day FROM t") == [(1, "mon"), (9, "tue")]


def test_writing_needs_batch_mode(spark: SparkSession, tmp_path: Path) -> None:
    environment = made(spark, True)
    create(environment, "id INT", format="orc", path=str(tmp_path))
    with pytest.raises(TableException, match="connector 'spark' is written to in batch mode only"):
        environment.execute_sql("INSERT INTO t VALUES (1)")


def test_frames_become_tables_and_tables_frames(batch: TableEnvironment, spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT id, CAST(id AS STRING) AS text, array(id) AS list, TIMESTAMP '2024-05-06 07:08:09' AS at, "
        "CAST(1.5 AS DECIMAL(5, 2)) AS d FROM range(5)"
    )
    table = batch.from_spark(frame)
    schema = table.get_schema()
    assert schema.get_field_names() == ["id", "text", "list", "at", "d"]
    assert schema.get_field_data_type("at") == DataTypes.TIMESTAMP_LTZ(6, False)
    assert schema.get_field_data_type("id") == DataTypes.BIGINT(False)
    found = table.where(col("id") > 2).select(col("id") + 1, col("text"), col("list")).to_spark()
    assert found.sparkSession is spark
    assert sorted(found.collect()) == [(4, "3", [3]), (5, "4", [4])]
    batch.create_temporary_view("numbers", table)
    joined = batch.sql_query("SELECT a.id, COUNT(*) AS n FROM numbers a JOIN numbers b ON a.id < b.id GROUP BY a.id")
    joined.to_spark().createOrReplaceTempView("joined")
    assert sorted(spark.sql("SELECT id, n FROM joined").collect()) == [(0, 4), (1, 3), (2, 2), (3, 1)]
    spark.catalog.dropTempView("joined")


def test_arithmetic_on_frames_is_that_of_tables(batch: TableEnvironment, spark: SparkSession) -> None:
    """An overflow wraps around, as in Java, though the session of the program would refuse it."""
    frame = spark.sql(f"SELECT CAST({2**31 - 1} AS INT) AS n")
    assert batch.from_spark(frame).select(col("n") + 1).to_spark().collect() == [(-(2**31),)]


def test_conversions_need_batch_mode(spark: SparkSession) -> None:
    environment = made(spark, True)
    with pytest.raises(TableException, match=r"from_spark\(\) needs batch mode"):
        environment.from_spark(spark.range(3))
    with pytest.raises(TableException, match=r"to_spark\(\) needs batch mode"):
        environment.sql_query("SELECT 1").to_spark()


def test_what_is_no_frame_of_a_table(batch: TableEnvironment, spark: SparkSession) -> None:
    with pytest.raises(TypeError, match=r"from_spark takes a pyspark\.sql\.DataFrame, not list"):
        batch.from_spark([])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a streaming one"):
        batch.from_spark(spark.readStream.format("rate").load())
    with pytest.raises(TypeError, match="several are id"):
        batch.from_spark(spark.range(3).crossJoin(spark.range(3)))


@pytest.mark.draw(2)
@pytest.mark.parametrize("streaming", [False, True])
def test_look_ups(spark: SparkSession, tmp_path: Path, streaming: bool) -> None:
    content = [(1, "one", dt.date(2024, 5, 6)), (2, "two", None), (2, "zwei", None)]
    frame = spark.createDataFrame(content, "id INT, name STRING, at DATE")
    frame.write.parquet(str(tmp_path / "p"))
    environment = made(spark, streaming)
    create(environment, "id INT, name STRING, `at` DATE", format="parquet", path=str(tmp_path / "p"))
    left = "(SELECT id, PROCTIME() AS p FROM (VALUES (1), (2), (3)) AS v(id)) AS l"
    found = rows(
        environment, f"SELECT l.id, t.name, t.`at` FROM {left} JOIN t FOR SYSTEM_TIME AS OF l.p AS t ON t.id = l.id"
    )
    assert found == [(1, "one", dt.date(2024, 5, 6)), (2, "two", None), (2, "zwei", None)]
    environment.execute_sql("DROP TABLE t")
    create(environment, "id INT, name STRING", format="parquet", path=str(tmp_path / "p"), **RELOAD)
    with pytest.raises(TableException, match="is looked up as it is when the job begins"):
        rows(environment, f"SELECT t.name FROM {left} JOIN t FOR SYSTEM_TIME AS OF l.p AS t ON t.id = l.id")


RELOAD = {"lookup.full-cache.periodic-reload.interval": "1 h"}
