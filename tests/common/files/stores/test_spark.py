"""Spark's workers read and write S3 with what the driver knows: tables in batch mode, checkpoints of a stream."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from millrace.common import Types
from millrace.common.configuration import Configuration
from millrace.common.files.file_systems import locate
from millrace.common.functions import KeyedProcessFunction
from millrace.common.state import ValueStateDescriptor
from millrace.datastream import StreamExecutionEnvironment
from millrace.state import SavepointReader
from millrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from millrace.testing.services import S3

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services


@pytest.fixture
def base(s3: S3) -> str:
    return f"s3://mill/{uuid.uuid4().hex}"


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self._sum.update((self._sum.value() or 0) + value)
        yield value


def test_a_table_in_batch_mode(base: str, s3: S3, spark: SparkSession) -> None:
    given = Configuration.from_dict(s3.configuration())
    settings = EnvironmentSettings.new_instance().in_batch_mode().with_configuration(given)
    environment = TableEnvironment.create(settings.build())
    environment.execute_sql(
        f"CREATE TABLE files (a INT, b STRING, p STRING) PARTITIONED BY (p) WITH ('connector' = 'filesystem', "
        f"'path' = '{base}/files', 'format' = 'parquet', 'sink.partition-commit.policy.kind' = 'success-file')"
    )
    environment.execute_sql("INSERT INTO files VALUES (1, 'x', 'one'), (2, 'y', 'two'), (3, 'z', 'two')").wait()
    folder = s3.data / base.removeprefix("s3://") / "files"
    assert {path.name for path in folder.iterdir()} == {"p=one", "p=two"}
    assert (folder / "p=one" / "_SUCCESS").is_file()
    stored = pq.read_table(locate(f"{base}/files/p=two").path, filesystem=locate(base).file_system())
    assert sorted(stored.column("b").to_pylist()) == ["y", "z"]
    found = environment.execute_sql("SELECT SUM(a) FROM files WHERE p = 'two'").collect()
    assert [tuple(row) for row in found] == [(5,)]


def test_a_stream_with_checkpoints(base: str, s3: S3, spark: SparkSession) -> None:
    given = {
        **s3.configuration(),
        "execution.checkpointing.interval": "100 ms",
        "execution.checkpointing.dir": f"{base}/checkpoints",
        "millrace.epoch.max-records": "5",
    }
    environment = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(given))
    environment.set_parallelism(2)
    summed = environment.from_sequence(1, 40).key_by(lambda value: value % 3).process(Sum(), Types.LONG())
    table = StreamTableEnvironment.create(environment)
    table.execute_sql(
        f"CREATE TABLE `out` (v BIGINT) WITH ('connector' = 'filesystem', 'path' = '{base}/out', 'format' = 'csv')"
    )
    table.create_temporary_view("summed", summed.uid("sums"))
    client = table.execute_sql("INSERT INTO `out` SELECT * FROM summed").get_job_client()
    assert client is not None
    saved = client.stop_with_savepoint(False, f"{base}/savepoints").result()
    assert saved.startswith(f"{base}/savepoints/")
    files = (s3.data / base.removeprefix("s3://") / "out").rglob("part-*")
    written = sorted(int(line) for file in files for line in file.read_text().split())
    state = dict(SavepointReader.read(saved).keyed_state("sums", "sum").items())
    assert state == {key: sum(v for v in written if v % 3 == key) for key in {v % 3 for v in written}}
    assert len(set(written)) == len(written)
