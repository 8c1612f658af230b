"""Tables of RabbitMQ, Redis, NATS, MQTT and Kinesis: written by a job, read by another, metadata included."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.connectors.kinesis.streams import Streams
from tests.connectors.nats.test_conformance import SERVERS, StreamOfTest
from tests.connectors.rabbitmq.queues import Queues
from tests.connectors.tables.message_tables import MessageTables

from millrace.util.exceptions import TableException

pytestmark = pytest.mark.services

COLUMNS = "id INT, name STRING"
VALUES = "VALUES (1, 'a'), (2, 'b'), (3, CAST(NULL AS STRING))"
ROWS = [(1, "a"), (2, "b"), (3, None)]


@pytest.fixture
def tables() -> MessageTables:
    return MessageTables()


def test_rabbitmq(rabbitmq: Any, tables: MessageTables) -> None:
    queues = Queues(rabbitmq.url)
    queue = queues.create()
    where = {"hostname": "127.0.0.1", "port": str(rabbitmq.port), "queue": queue, "scan.correlation-ids": "true"}
    tables.table("q", f"{COLUMNS}, mark STRING METADATA FROM 'correlation-id'", "rabbitmq", **where)
    tables.insert("INSERT INTO q VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, CAST(NULL AS STRING), 'z')")
    queues.write(queue, ['{"id": 3, "name": null}'])
    found = tables.some("SELECT id, name, mark FROM q", 4)
    assert found == [(1, "a", "x"), (2, "b", "y"), (3, None, 'id of {"id": 3, "name": null}'), (3, None, "z")]
    queues.delete(queue)


def test_redis_streams(redis_server: Any, tables: MessageTables) -> None:
    where = {"url": redis_server.url, "stream": f"s-{uuid.uuid4().hex}"}
    reading = {"scan.startup.mode": "earliest", "scan.bounded": "true"}
    columns = f"{COLUMNS}, at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL"
    tables.table("s", columns, "redis-stream", **where, **reading)
    tables.insert(f"INSERT INTO s {VALUES}")
    assert tables.rows("SELECT id, name FROM s") == ROWS
    assert all(isinstance(at, datetime) for (at,) in tables.rows("SELECT at FROM s"))


def test_redis_entries_as_objects(redis_server: Any, tables: MessageTables) -> None:
    import redis

    stream = f"s-{uuid.uuid4().hex}"
    client = redis.Redis.from_url(redis_server.url)
    client.xadd(stream, {"id": "7", "name": "seven"})
    where = {"url": redis_server.url, "stream": stream, "scan.startup.mode": "earliest", "scan.bounded": "true"}
    tables.table("s", COLUMNS, "redis-stream", field="*", **where)
    assert tables.rows("SELECT id, name FROM s") == [(7, "seven")]
    client.close()


def test_redis_channels(redis_server: Any, tables: MessageTables) -> None:
    tables.table("c", COLUMNS, "redis-pubsub", url=redis_server.url, channel=f"c-{uuid.uuid4().hex}")
    assert tables.some("SELECT id, name FROM c", 3, lambda: tables.insert(f"INSERT INTO c {VALUES}")) == ROWS


def test_nats(nats_server: Any, tables: MessageTables) -> None:
    SERVERS.append(nats_server.url)
    stream = StreamOfTest()
    SERVERS.clear()
    where = {"servers": nats_server.url, "stream": stream.name, "subject": f"{stream.name}.x"}
    reading = {"scan.startup.mode": "earliest", "scan.bounded": "true", "sink.delivery-guarantee": "exactly-once"}
    tables.table("n", f"{COLUMNS}, seq BIGINT METADATA FROM 'sequence' VIRTUAL", "nats", **where, **reading)
    tables.insert(f"INSERT INTO n {VALUES}", parallelism=1)
    assert tables.rows("SELECT id, name, seq FROM n") == [(*row, number) for number, row in enumerate(ROWS, 1)]
    stream.delete()


def test_mqtt(mosquitto: Any, tables: MessageTables) -> None:
    name = uuid.uuid4().hex
    where = {"url": f"mqtt://{mosquitto.address}", "client-id": name}
    tables.table("m", f"{COLUMNS}, topic STRING METADATA", "mqtt", topic=f"{name}/+", **where)
    tables.table("target", COLUMNS, "mqtt", topic=f"{name}/a", url=where["url"])
    found = tables.some("SELECT id, name, topic FROM m", 3, lambda: tables.insert(f"INSERT INTO target {VALUES}"))
    assert found == [(*row, f"{name}/a") for row in ROWS]


def test_kinesis(aws: Any, tables: MessageTables) -> None:
    streams = Streams(aws.url)
    stream = streams.create(2)
    more = {"source.init.position": "TRIM_HORIZON", **streams.properties}
    tables.table(
        "k",
        f"{COLUMNS}, shard STRING METADATA FROM 'shard-id' VIRTUAL",
        "kinesis",
        "PARTITIONED BY (id, name)",
        **{"stream.arn": streams.arn(stream), **more},
    )
    tables.insert(f"INSERT INTO k {VALUES}")
    assert sorted(key for key, _ in streams.read(stream)) == ["1|a", "2|b", "3|null"]
    found = tables.some("SELECT id, name, shard FROM k", 3)
    assert [row[:2] for row in found] == ROWS
    assert {shard for *_, shard in found} <= {"shardId-000000000000", "shardId-000000000001"}
    streams.delete(stream)


def test_kinesis_by_its_former_options(aws: Any, tables: MessageTables) -> None:
    streams = Streams(aws.url)
    stream = streams.create(1)
    more = {"stream": stream, "scan.stream.initpos": "TRIM_HORIZON", "sink.partitioner": "fixed", **streams.properties}
    tables.table("k", COLUMNS, "kinesis-legacy", **more)
    tables.insert(f"INSERT INTO k {VALUES}", parallelism=1)
    assert {key for key, _ in streams.read(stream)} == {"0"}
    assert tables.some("SELECT id, name FROM k", 3) == ROWS
    streams.delete(stream)


AWS = {"aws.region": "eu-west-1", "stream.arn": "arn:aws:kinesis:eu-west-1:1:stream/s"}
WRONG: list[tuple[str, dict[str, str], str]] = [
    ("rabbitmq", {"queue": "q"}, "needs hostname"),
    ("redis-stream", {"url": "http://x", "stream": "s"}, "a Redis server is redis://host:port"),
    ("redis-stream", {"url": "redis://x", "stream": "s", "scan.startup.mode": "first"}, "'first' is no id of an entry"),
    ("redis-stream", {"url": "redis://x", "stream": "s", "scan.start": "1"}, "has no option 'scan.start'"),
    ("nats", {"servers": "nats://x"}, "needs 'stream' to be read"),
    ("nats", {"servers": "nats://x", "stream": "s", "scan.startup.mode": "now"}, "or a sequence number, not 'now'"),
    ("mqtt", {"url": "mqtt://x", "topic": "t"}, "needs topics and a client_id"),
    ("mqtt", {"url": "mqtt://x", "topic": "t", "client-id": "c", "qos": "2"}, "does not come again"),
    ("kinesis", {**AWS, "source.init.position": "AT_TIMESTAMP"}, "needs 'source.init.timestamp'"),
    ("kinesis", {**AWS, "source.reader.type": "EFO"}, "enhanced fan-out is not supported"),
    ("kinesis", {**AWS, "source.init.position": "AT_TIMESTAMP", "source.init.timestamp": "noon"}, "'noon' is no time"),
    ("aws-kinesis-firehose", {"aws.region": "x", "delivery-stream": "d"}, "cannot be read from"),
]


@pytest.mark.parametrize(("connector", "options", "message"), WRONG)
def test_wrong_options(tables: MessageTables, connector: str, options: dict[str, str], message: str) -> None:
    tables.table("t", COLUMNS, connector, **options)
    with pytest.raises(TableException, match=message):
        tables.environment.sql_query("SELECT * FROM t")


def test_metadata_that_there_is_not(tables: MessageTables) -> None:
    tables.table("t", "a INT, k STRING METADATA FROM 'subjekt'", "nats", servers="nats://x", stream="s")
    with pytest.raises(TableException, match=r"no metadata 'subjekt'.*subject"):
        tables.environment.sql_query("SELECT * FROM t")


def test_partitions_and_a_partitioner(tables: MessageTables) -> None:
    more = {**AWS, "sink.partitioner": "fixed"}
    tables.table("t", COLUMNS, "kinesis", "PARTITIONED BY (id)", **more)
    with pytest.raises(TableException, match="PARTITIONED BY says the partition keys"):
        tables.environment.explain_sql("INSERT INTO t SELECT 1, 'a'")


def test_addresses_show_no_passwords(rabbitmq: Any) -> None:
    from millrace.connectors.mqtt.mqtt_streams import MqttBroker
    from millrace.connectors.redis.redis_client import RedisServer

    assert "guest" not in str(Queues(rabbitmq.url).config) + repr(Queues(rabbitmq.url).config)
    for made in (RedisServer("redis://me:secret@h:1/2"), MqttBroker("mqtt://me:secret@h:1")):
        assert "secret" not in str(made) + repr(made)
    assert urlsplit(rabbitmq.url).password == "guest"
