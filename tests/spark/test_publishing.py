"""Documents of jobs on Spark: a stream while it runs, its threads, and a query in batch mode."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.conftest import MakeEnvironment

from millrace.cluster import publishing
from millrace.cluster.control import JobOverError
from millrace.cluster.documents import FrameDocument, JobDocument
from millrace.cluster.durable_files import encode
from millrace.cluster.publishing import LocalControl, published_jobs
from millrace.common import WatermarkStrategy
from millrace.connectors.generated_sources import DataGeneratorSource
from millrace.spark.tables.execute import QueryFailedError
from millrace.table import EnvironmentSettings, TableEnvironment
from millrace.table.udf import udf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(publishing, "MOST_SECONDS", 0.0)


def slowly(value: int) -> int:
    time.sleep(0.001)
    return value


def frames(graph: FrameDocument) -> set[str]:
    return {graph.name}.union(*(frames(child) for child in graph.children))


def has_all(document: JobDocument) -> bool:
    """Whether the second vertex has processed all that the first one has sent."""
    first, second = document.vertices
    return sum(s.records_in for s in second.subtasks) == sum(s.records_out for s in first.subtasks)


def published(job_id: Any) -> LocalControl:
    return next(each for each in published_jobs() if each.id == str(job_id))


def eventually(what: Any, seconds: float = 60.0) -> Any:
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.1)
    return found


def test_a_stream_that_runs(environment: MakeEnvironment) -> None:
    published_jobs()
    env = environment(2, **{"millrace.epoch.max-records": 200})
    env.enable_checkpointing(600_000)
    numbers = env.from_source(DataGeneratorSource(lambda n: n), WatermarkStrategy.no_watermarks(), "numbers")
    slow = numbers.key_by(lambda n: n % 7).map(slowly).name("slow")
    slow.filter(lambda n: False).print()
    client = env.execute_async("published")
    try:
        steering = published(client.get_job_id())
        assert eventually(lambda: steering.checkpoint(full=True).result(120)) > 0
        # The flame graph has the function that takes the time; what it waits in is not on the processor.
        first, second = steering.document().vertices
        graph = eventually(lambda: (g := steering.flame_graph(second.id, None, "full")).value and g)
        assert any(name.endswith(tuple(f".slowly:{line}" for line in range(200))) for name in frames(graph))
        assert graph.value == sum(steering.flame_graph(second.id, None, mode).value for mode in ("on_cpu", "off_cpu"))
        # While an epoch goes on, figures of its tasks come at different moments.
        document = eventually(lambda: (d := steering.document()) and has_all(d) and d)
        assert (document.state, document.spark_page is None) == ("RUNNING", env._spark.sparkContext.uiWebUrl is None)
        first, second = document.vertices
        for subtask in (*first.subtasks, *second.subtasks):
            assert (subtask.host, subtask.task_manager, subtask.state) == (socket.gethostname(), "driver", "RUNNING")
            assert subtask.busy is not None
            assert subtask.backpressured is not None
            assert subtask.idle is not None
            assert subtask.busy + subtask.backpressured + subtask.idle == pytest.approx(1)
        # Who is slow is busy, and who feeds it waits for it.
        assert sum(s.busy_ms for s in second.subtasks) > sum(s.busy_ms for s in first.subtasks)
        assert all(s.backpressured_ms > s.busy_ms for s in first.subtasks)
        assert sum(s.bytes_in for s in second.subtasks) == sum(s.bytes_out for s in first.subtasks) > 0
        assert sum(s.records_in for s in second.subtasks) == sum(s.records_out for s in first.subtasks) > 0
        # They are looked at every so often.
        eventually(lambda: {key.key for key in steering.document().vertices[1].heavy_keys} == set(map(str, range(7))))
        of_slow, of_source = ({each.name: each.value for each in v.subtasks[0].metrics} for v in (second, first))
        assert 0 < of_slow["buffers.inPoolUsage"] <= 1, "what there is no time for waits before it"
        assert 0 < of_source["buffers.outPoolUsage"] <= 1
        metrics = {metric.name: metric.value for metric in document.metrics}
        assert metrics["numWorkers"] >= 1
        assert metrics["workerMemory"] > 10_000_000
        assert metrics["lastCompletedCheckpointId"] == document.checkpoints.history[0].id
        phases = document.epochs[-1].phases
        assert phases.keys() >= {"plan", "start", "read", "process", "exchange", "record"}
        assert 0 < sum(phases.values()) <= document.epochs[-1].duration + 50
        # Where its tasks live are threads to be seen; the driver has some, too.
        names = [thread.name for thread in steering.threads("driver")]
        assert any(name.startswith("MainThread (process ") for name in names)
        assert not steering.threads("17")
        assert any(thread.name.startswith("millrace-") for thread in steering.threads(None))
        steering.cancel()
        client.get_job_execution_result().future().exception(60)
    finally:
        client.cancel()
    assert published(client.get_job_id()).document().state == "CANCELED"
    assert steering.flame_graph(second.id, None, "full").value == 0


def test_a_query_in_batch_mode(spark: SparkSession) -> None:
    published_jobs()
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env._session.streams.set_spark_session(spark)
    result = t_env.execute_sql("SELECT k, COUNT(*) FROM (VALUES (1), (2), (1)) AS t (k) GROUP BY k")
    with result.collect() as rows:
        assert len(list(rows)) == 2
    client = result.get_job_client()
    assert client is not None
    steering = published(client.get_job_id())
    document = steering.document()
    assert (document.batch, document.state, document.stoppable) == (True, "FINISHED", False)
    assert document.ended >= document.started > 0
    assert document.vertices
    states = {subtask.state for vertex in document.vertices for subtask in vertex.subtasks}
    assert "FINISHED" in states
    assert states <= {"FINISHED", "CANCELED"}
    assert b"FINISHED" in encode(document)
    with pytest.raises(JobOverError, match="is FINISHED"):
        steering.checkpoint(full=False).result(10)


def test_a_query_that_fails(spark: SparkSession) -> None:
    published_jobs()
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env._session.streams.set_spark_session(spark)
    t_env.create_temporary_system_function("half", udf(lambda v: 1 // v, result_type="INT"))
    result = t_env.execute_sql("SELECT half(k) FROM (VALUES (0)) AS t (k)")
    client = result.get_job_client()
    assert client is not None
    with pytest.raises(QueryFailedError), result.collect() as rows:
        list(rows)
    document = published(client.get_job_id()).document()
    assert document.state == "FAILED"
    (failure,) = document.exceptions
    assert (failure.name, failure.task, failure.concurrent) == ("ZeroDivisionError", None, ())
    assert "half()" in failure.text
    assert "integer division" in failure.stacktrace
