"""JetStream: where reading begins, ends of filtered subjects, what was deleted unread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.connectors.nats.test_conformance import SERVERS, StreamOfTest

from millrace.common.serialization import SimpleStringSchema
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.nats import nats_streams
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.nats import JetStreamSink, JetStreamSource
from millrace.runtime.failure import JobFailedError
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.local import run_locally

pytestmark = pytest.mark.services


@pytest.fixture
def stream(nats_server: Any) -> Iterator[StreamOfTest]:
    SERVERS.append(nats_server.url)
    made = StreamOfTest()
    yield made
    made.delete()
    SERVERS.clear()


def read(stream: StreamOfTest, parallelism: int = 2, **how: Any) -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    source = JetStreamSource.of(SERVERS[0], stream.name, SimpleStringSchema(), bounded=True, **how)
    return sorted(run_locally(env.from_source(source, WatermarkStrategy.no_watermarks(), "nats")).collected)


def test_where_reading_begins_and_ends(stream: StreamOfTest) -> None:
    for number in range(1, 8):
        stream.write(number, str(number).encode())
    assert read(stream, start="earliest") == ["1", "2", "3", "4", "5", "6", "7"]
    assert read(stream, start=6) == ["6", "7"]
    assert read(stream, start="latest") == []
    # The last message is of another subject.
    assert read(stream, start="earliest", subjects=f"{stream.name}.2") == ["2", "5"]
    both = [f"{stream.name}.0", f"{stream.name}.1"]
    assert read(stream, start="earliest", subjects=both) == ["1", "3", "4", "6", "7"]
    assert read(stream, start="earliest", subjects=f"{stream.name}.9") == []


def test_a_stream_that_there_is_not(nats_server: Any) -> None:
    source = JetStreamSource.of(nats_server.url, "none", SimpleStringSchema())
    with pytest.raises(ValueError, match="has no stream 'none'"):
        SourceJob(source)


def test_messages_that_were_deleted_unread(stream: StreamOfTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nats_streams, "CHECK_SECONDS", 0.0)
    for number in range(1, 6):
        stream.write(0, str(number).encode())
    source = JetStreamSource.of(SERVERS[0], stream.name, SimpleStringSchema(), start="earliest")
    job = SourceJob(source)
    recorded = job.checkpoint()
    job.close()
    stream.client.run(stream.client.jetstream.purge_stream(stream.name, keep=2))
    lost = SourceJob(source, checkpoint=None)
    lost.close()
    split = nats_streams.SubjectSplit(">", 1)
    reader = nats_streams.JetStreamReader(source)
    reader.handle_splits_changes([split])
    with pytest.raises(ValueError, match="messages 1 to 3 were deleted before they were read"):
        reader.fetch()
    reader.close()
    assert recorded.emitted == ()


def test_a_subject_without_a_stream(nats_server: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["a"]).sink_to(JetStreamSink.of(nats_server.url, "nobody.listens", SimpleStringSchema()))
    with pytest.raises(JobFailedError, match=r"NATS has not confirmed messages for 'nobody.listens'"):
        run_locally(env)


def test_a_job_writes_once(stream: StreamOfTest) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    values = [str(number) for number in range(300)]
    exactly: Any = {"guarantee": DeliveryGuarantee.EXACTLY_ONCE}
    env.from_collection(values).sink_to(
        JetStreamSink.of(SERVERS[0], f"{stream.name}.x", SimpleStringSchema(), **exactly)
    )
    run_locally(env, epoch_records=50)
    assert sorted(stream.read()) == sorted(values)


def test_a_server_that_goes_away_fails_the_job(stream: StreamOfTest) -> None:
    source = JetStreamSource.of("nats://127.0.0.1:1", stream.name, SimpleStringSchema())
    begin = time.monotonic()
    with pytest.raises(ConnectionError, match=r"NATS at 127.0.0.1:1 does not answer"):
        SourceJob(source)
    assert time.monotonic() - begin < 30
