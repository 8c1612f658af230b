"""Streams of Redis: where reading begins, what was deleted unread, many streams."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from tests.connectors.polling import go_on

from millrace.common.serialization import SimpleStringSchema
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.redis import redis_streams
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.redis import RedisStreamSink, RedisStreamSource
from millrace.runtime.failure import JobFailedError
from millrace.testing.connectors.sources import SourceJob
from millrace.testing.local import run_locally

pytestmark = pytest.mark.services


@pytest.fixture
def client(redis_server: Any) -> Iterator[Any]:
    made = redis.Redis.from_url(redis_server.url)
    yield made
    made.flushall()
    made.close()


def read(url: str, streams: Any, parallelism: int = 2, **how: Any) -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    source = RedisStreamSource.of(url, streams, SimpleStringSchema(), bounded=True, **how)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "redis")
    return sorted(run_locally(stream).collected)


def test_where_reading_begins(redis_server: Any, client: Any) -> None:
    for number in range(1, 6):
        client.xadd("s", {"value": str(number)}, id=f"{number}-0")
    assert read(redis_server.url, "s", start="earliest") == ["1", "2", "3", "4", "5"]
    assert read(redis_server.url, "s", start="3-0") == ["4", "5"]
    assert read(redis_server.url, "s", start="latest") == []
    assert read(redis_server.url, ["s", "not there"], start="earliest") == ["1", "2", "3", "4", "5"]


def test_many_streams_on_one_subtask(redis_server: Any, client: Any) -> None:
    names = [f"s{number:03d}" for number in range(200)]
    for name in names:
        client.xadd(name, {"value": name})
    assert read(redis_server.url, names, 1, start="earliest") == names
    job = SourceJob(RedisStreamSource.of(redis_server.url, names, SimpleStringSchema()))
    job.epoch()
    for name in names:
        client.xadd(name, {"value": name})
    until = time.monotonic() + 60
    while sorted(job.emitted) != names:
        job.epoch()
        assert time.monotonic() < until
    job.close()


def test_entries_that_were_deleted_unread(redis_server: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_streams, "CHECK_SECONDS", 0.0)
    for number in range(1, 6):
        client.xadd("s", {"value": str(number)})
    source = RedisStreamSource.of(redis_server.url, "s", SimpleStringSchema(), start="earliest")
    job = SourceJob(source)
    until = time.monotonic() + 60
    while len(job.emitted) < 5:
        job.epoch()
        assert time.monotonic() < until
    recorded = job.checkpoint()
    job.close()
    client.xtrim("s", maxlen=0, approximate=False)  # all of them were read
    client.xadd("s", {"value": "6"})
    again = SourceJob(source, checkpoint=recorded)
    while "6" not in again.emitted:
        again.epoch()
        assert time.monotonic() < until
    again.close()
    client.xadd("s", {"value": "7"})
    client.xtrim("s", maxlen=0, approximate=False)
    lost = SourceJob(source, checkpoint=recorded)
    with pytest.raises(ValueError, match=r"stream 's': 2 entries behind .* were deleted"):
        go_on(lost)
    lost.close()
    kept = RedisStreamSource.of(redis_server.url, "s", SimpleStringSchema(), start="earliest", keep_on_trimmed=True)
    goes_on = SourceJob(kept, checkpoint=recorded)
    client.xadd("s", {"value": "8"})
    while "8" not in goes_on.emitted:
        goes_on.epoch()
        assert time.monotonic() < until
    goes_on.close()


def test_an_entry_without_the_field(redis_server: Any, client: Any) -> None:
    client.xadd("s", {"other": "1"})
    with pytest.raises(JobFailedError, match=r"stream 's', entry .* has no field 'value'; it has other"):
        read(redis_server.url, "s", start="earliest")
    assert read(redis_server.url, "s", start="earliest", field=None) == ['{"other": "1"}']


def test_a_job_writes_once(redis_server: Any, client: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    values = [str(number) for number in range(500)]
    exactly = {"guarantee": DeliveryGuarantee.EXACTLY_ONCE}
    sink = RedisStreamSink.of(redis_server.url, "target", SimpleStringSchema(), **exactly)  # type: ignore[arg-type]
    env.from_collection(values).sink_to(sink)
    run_locally(env, epoch_records=50)
    assert sorted(fields[b"value"].decode() for _, fields in client.xrange("target")) == sorted(values)


def test_a_stream_that_keeps_some(redis_server: Any, client: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    name = uuid.uuid4().hex
    sink = RedisStreamSink.of(redis_server.url, name, SimpleStringSchema(), maxlen=10, field="text")
    env.from_collection([str(number) for number in range(2_000)]).sink_to(sink)
    run_locally(env)
    assert 10 <= client.xlen(name) < 1_000
    assert client.xrevrange(name, count=1)[0][1] == {b"text": b"1999"}
