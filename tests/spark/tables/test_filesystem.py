"""Tables of files on Spark, in both modes."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = [(number, f"n{number}", dt.date(2024, 5, 6 + number % 2)) for number in range(20)]


@pytest.fixture(params=["batch", "streaming"])
def environment(request: pytest.FixtureRequest, spark: SparkSession) -> TableEnvironment:
    batch = request.param == "batch"
    settings = EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    made = TableEnvironment.create(settings)
    made._session.streams.set_spark_session(spark).set_parallelism(2)
    return made


def table(environment: TableEnvironment, name: str, path: Path, format: str = "parquet", **options: str) -> None:
    given = {"connector": "filesystem", "path": str(path), "format": format, **options}
    texts = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    environment.execute_sql(f"CREATE TABLE {name} (id INT, name STRING, dt DATE) PARTITIONED BY (dt) WITH ({texts})")


def rows(environment: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with environment.execute_sql(query).collect() as found:
        return sorted(tuple(row) for row in found)


def insert(environment: TableEnvironment, statement: str) -> None:
    environment.execute_sql(statement).wait()


VALUES = ", ".join(f"({number}, '{name}', DATE '{day}')" for number, name, day in ROWS)


@pytest.mark.draw(4)
@pytest.mark.parametrize("format", ["parquet", "orc", "json"])
def test_files_are_written_and_read(environment: TableEnvironment, tmp_path: Path, format: str) -> None:
    mark = {"sink.partition-commit.policy.kind": "success-file"}
    table(environment, "files", tmp_path / "files", format, **mark)
    insert(environment, f"INSERT INTO files VALUES {VALUES}")
    assert sorted(path.name for path in (tmp_path / "files").iterdir()) == ["dt=2024-05-06", "dt=2024-05-07"]
    assert len(list(tmp_path.rglob("_SUCCESS"))) == 2 and not list(tmp_path.rglob(".*"))
    query = "SELECT id, UPPER(name), dt FROM files WHERE dt = DATE '2024-05-07' AND id > 4"
    assert rows(environment, query) == [(n, name.upper(), day) for n, name, day in ROWS if day.day == 7 and n > 4]
    insert(environment, "INSERT INTO files SELECT id + 100, name, dt FROM files WHERE id < 2")
    assert rows(environment, "SELECT id FROM files WHERE id > 15") == [(16,), (17,), (18,), (19,), (100,), (101,)]


def test_overwriting(spark: SparkSession, tmp_path: Path) -> None:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made._session.streams.set_spark_session(spark)
    table(made, "files", tmp_path / "files")
    insert(made, f"INSERT INTO files VALUES {VALUES}")
    insert(made, "INSERT OVERWRITE files PARTITION (dt = '2024-05-06') SELECT id, name FROM files WHERE id = 4")
    assert rows(made, "SELECT id FROM files WHERE id < 8") == [(1,), (3,), (4,), (5,), (7,)]
    insert(made, "INSERT OVERWRITE files SELECT 99, 'new', DATE '2024-05-07'")
    assert rows(made, "SELECT id FROM files") == [(4,), (99,)]
    insert(made, "INSERT OVERWRITE files PARTITION (dt = '2024-05-07') SELECT id, name FROM files WHERE id < 0")
    assert rows(made, "SELECT id FROM files") == [(4,)]


def test_overwriting_needs_batch_mode(spark: SparkSession, tmp_path: Path) -> None:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made._session.streams.set_spark_session(spark)
    table(made, "files", tmp_path / "files")
    with pytest.raises(NotImplementedError, match="cannot be overwritten in streaming mode: use INSERT INTO or batch"):
        made.execute_sql(f"INSERT OVERWRITE files VALUES {VALUES}")


def test_new_files_come_until_the_job_is_cancelled(spark: SparkSession, tmp_path: Path) -> None:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made._session.streams.set_spark_session(spark)
    table(made, "files", tmp_path / "files", **{"source.monitor-interval": "50 ms"})
    for number in range(2):
        folder = tmp_path / "files" / f"dt=2024-05-0{number + 6}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": pa.array([number], pa.int32()), "name": ["x"]}), folder / ".part")
    (tmp_path / "files" / "dt=2024-05-06" / ".part").rename(tmp_path / "files" / "dt=2024-05-06" / "part")
    result = made.execute_sql("SELECT id, dt FROM files")
    with result.collect() as found:
        assert tuple(next(found)) == (0, dt.date(2024, 5, 6))
        (tmp_path / "files" / "dt=2024-05-07" / ".part").rename(tmp_path / "files" / "dt=2024-05-07" / "part")
        assert tuple(next(found)) == (1, dt.date(2024, 5, 7))
    client = result.get_job_client()
    assert client is not None
    client.cancel().result()


@pytest.mark.draw(4)
@pytest.mark.parametrize("format", ["parquet", "avro", "csv", "json"])
def test_columns_of_times(environment: TableEnvironment, tmp_path: Path, format: str) -> None:
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path}/clock', 'format' = '{format}'"
    environment.execute_sql(f"CREATE TABLE clock (id INT, at TIME(0)) WITH ({options})")
    times = [dt.time(0, 0), dt.time(10, 11, 12), dt.time(23, 59, 59), None]
    texts = ["CAST(NULL AS TIME(0))" if time is None else f"TIME '{time:%H:%M:%S}'" for time in times]
    values = ", ".join(f"({number}, {text})" for number, text in enumerate(texts))
    insert(environment, f"INSERT INTO clock VALUES {values}")
    assert rows(environment, "SELECT id, at FROM clock") == list(enumerate(times))
    assert rows(environment, "SELECT id FROM clock WHERE at > TIME '01:00:00'") == [(1,), (2,)]
