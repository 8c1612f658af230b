"""``RedisSink`` with Bahir's names: what its commands are, and where they go."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import redis
from tests.connectors.redis.modes import ClusterNode, Sentinel
from tests.services import missing

from millrace.common.sink import Sink
from millrace.connectors.redis.redis_client import RedisCluster, RedisSentinels, Retrying
from millrace.connectors.redis.redis_sink import MapperEncoder, RedisCommands
from millrace.connectors.redis.redis_table_commands import RedisLookup, Shape, layout_of
from millrace.connectors.sink_base import DeliveryGuarantee
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.connectors.redis import (
    FlinkJedisClusterConfig,
    FlinkJedisPoolConfig,
    FlinkJedisSentinelConfig,
    RedisCommand,
    RedisCommandDescription,
    RedisDataType,
    RedisMapper,
    RedisSink,
)
from millrace.relational.rex import Field
from millrace.relational.types import BigIntType, string
from millrace.testing import Check
from millrace.testing.connectors import SinkUnderTest
from millrace.testing.connectors.runtime import Clock, ElementContext, WriterContext
from millrace.testing.connectors.sinks import sink_checks
from millrace.testing.local import run_locally
from millrace.testing.services import ServiceUnavailable

services = pytest.mark.services


class Pairs(RedisMapper[Any]):
    """Elements are (key, value)."""

    def __init__(self, command: RedisCommand, outer: str | None = None, ttl: int | None = None) -> None:
        self._description = RedisCommandDescription(command, outer, ttl)

    def get_command_description(self) -> RedisCommandDescription:
        return self._description

    def get_key_from_data(self, data: Any) -> Any:
        return data[0]

    def get_value_from_data(self, data: Any) -> Any:
        return data[1]


@pytest.mark.parametrize(
    ("command", "outer", "ttl", "expected"),
    [
        (RedisCommand.SET, None, None, [("SET", "k", "v")]),
        (RedisCommand.SET, None, 5, [("SET", "k", "v", "EX", 5)]),
        (RedisCommand.SETEX, None, 5, [("SET", "k", "v", "EX", 5)]),
        (RedisCommand.LPUSH, None, None, [("LPUSH", "k", "v")]),
        (RedisCommand.RPUSH, None, 7, [("RPUSH", "k", "v"), ("EXPIRE", "k", 7)]),
        (RedisCommand.SADD, None, None, [("SADD", "k", "v")]),
        (RedisCommand.SREM, None, None, [("SREM", "k", "v")]),
        (RedisCommand.PFADD, None, None, [("PFADD", "k", "v")]),
        (RedisCommand.PUBLISH, None, 5, [("PUBLISH", "k", "v")]),
        (RedisCommand.INCRBY, None, None, [("INCRBY", "k", "v")]),
        (RedisCommand.INCRBY_EX, None, 5, [("INCRBY", "k", "v"), ("EXPIRE", "k", 5)]),
        (RedisCommand.DECRBY, None, None, [("DECRBY", "k", "v")]),
        (RedisCommand.DESCRBY_EX, None, 5, [("DECRBY", "k", "v"), ("EXPIRE", "k", 5)]),
        (RedisCommand.DEL, None, None, [("DEL", "k")]),
        (RedisCommand.HSET, "h", None, [("HSET", "h", "k", "v")]),
        (RedisCommand.HSET, "h", 5, [("HSET", "h", "k", "v"), ("EXPIRE", "h", 5)]),
        (RedisCommand.HINCRBY, "h", None, [("HINCRBY", "h", "k", "v")]),
        (RedisCommand.HDEL, "h", None, [("HDEL", "h", "k")]),
        (RedisCommand.ZADD, "z", None, [("ZADD", "z", "v", "k")]),
        (RedisCommand.ZINCRBY, "z", None, [("ZINCRBY", "z", "v", "k")]),
        (RedisCommand.ZREM, "z", None, [("ZREM", "z", "k")]),
        (RedisCommand.XADD, "x", None, [("XADD", "x", "*", "k", "v")]),
    ],
)
def test_commands(command: RedisCommand, outer: str | None, ttl: int | None, expected: list[Any]) -> None:
    assert list(MapperEncoder(Pairs(command, outer, ttl)).commands(("k", "v"))) == expected


def test_what_each_element_says_itself() -> None:
    class Own(Pairs):
        def get_additional_key(self, data: Any) -> Any:
            return data[2]

        def get_additional_ttl(self, data: Any) -> int | None:
            return 9

    found = list(MapperEncoder(Own(RedisCommand.XADD)).commands(("k", {"a": 1, "b": 2}, "x")))
    assert found == [("XADD", "x", "*", "a", 1, "b", 2), ("EXPIRE", "x", 9)]


def test_what_is_refused() -> None:
    for command, message in ((RedisCommand.HSET, "needs an additional key"), (RedisCommand.SETEX, "time to live")):
        with pytest.raises(ValueError, match=message):
            list(MapperEncoder(Pairs(command)).commands(("k", "v")))
    with pytest.raises(TypeError, match="is about a RedisCommand"):
        RedisCommandDescription("SET")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs set_host"):
        FlinkJedisPoolConfig.Builder().build()
    with pytest.raises(ValueError, match="needs set_nodes"):
        FlinkJedisClusterConfig.Builder().build()
    with pytest.raises(ValueError, match="set_sentinels"):
        FlinkJedisSentinelConfig.Builder().set_master_name("m").build()
    cluster = FlinkJedisClusterConfig.Builder().set_nodes([("a", 1)]).build()
    with pytest.raises(ValueError, match="no transactions over all its keys"):
        RedisSink(cluster, Pairs(RedisCommand.SET), guarantee=DeliveryGuarantee.EXACTLY_ONCE)
    assert RedisCommand.ZADD.get_redis_data_type() is RedisDataType.SORTED_SET


def test_no_password_is_shown() -> None:
    builder = FlinkJedisSentinelConfig.Builder().set_master_name("m").set_sentinels(["a:1"]).set_user("me")
    config = builder.set_password("hush").set_sentinel_password("hush").set_timeout(500).build()
    assert "hush" not in f"{config!r} {config.place}"
    assert str(config.place) == "m of a:1"


def write(config: Any, values: list[Any], mapper: RedisMapper[Any]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.from_collection(values).add_sink(RedisSink(config, mapper))
    run_locally(env, epoch_records=20)


def at(port: int) -> Any:
    return FlinkJedisPoolConfig.Builder().set_host("127.0.0.1").set_port(port).set_max_total(8).build()


@services
def test_a_server(redis_server: Any) -> None:
    write(at(redis_server.port), [(f"f{number}", number) for number in range(50)], Pairs(RedisCommand.HSET, "h"))
    with redis.Redis.from_url(redis_server.url, decode_responses=True) as client:
        assert client.hgetall("h") == {f"f{number}": str(number) for number in range(50)}
        client.flushall()


@services
def test_a_connection_that_is_cut_is_made_anew(redis_server: Any) -> None:
    retrying = Retrying(at(redis_server.port).place, 1)
    retrying.run(lambda client: client.set("a", 1))
    with redis.Redis.from_url(redis_server.url) as other:
        other.client_kill_filter(_type="normal")
        assert retrying.run(lambda client: client.get("a")) == b"1"
        other.flushall()
    retrying.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[ClusterNode]:
    for _ in range(3):  # the port of its bus may be taken meanwhile
        try:
            server = ClusterNode().start()
            break
        except ServiceUnavailable as error:
            failed = error
    else:
        missing(failed)
    with server:
        yield server


@services
def test_a_cluster(cluster: ClusterNode) -> None:
    config = FlinkJedisClusterConfig.Builder().set_nodes([("127.0.0.1", cluster.port)]).build()
    write(config, [(f"k{number}", number) for number in range(50)], Pairs(RedisCommand.SET))
    place = RedisCluster((("127.0.0.1", cluster.port),))
    shape = Shape(layout_of("GET"), (Field("k", string()), Field("v", BigIntType())))
    source = RedisLookup(place, shape, (0,), 0, {}, "Redis")
    source.open()
    assert list(source.lookup([("k7",), ("none",)])) == [[("k7", 7)], []]
    source.close()


@services
def test_sentinels(redis_server: Any) -> None:
    try:
        sentinel = Sentinel(redis_server.port).start()
    except ServiceUnavailable as error:
        missing(error)
    with sentinel:
        builder = FlinkJedisSentinelConfig.Builder().set_master_name("main")
        config = builder.set_sentinels([f"127.0.0.1:{sentinel.port}"]).build()
        assert isinstance(config.place, RedisSentinels)
        write(config, [("a", 1), ("a", 2)], Pairs(RedisCommand.RPUSH))
        with redis.Redis.from_url(redis_server.url) as client:
            assert sorted(client.lrange("a", 0, -1)) == [b"1", b"2"]
            client.flushall()
        unknown = builder.set_master_name("other").build()
        retrying = Retrying(unknown.place, 0)
        with pytest.raises(ConnectionError, match="No master found"):
            retrying.run(lambda client: client.ping())


class ListToWrite(SinkUnderTest):
    """Pushing counts twice what comes twice."""

    guarantee = DeliveryGuarantee.EXACTLY_ONCE

    def __init__(self) -> None:
        self.client = redis.Redis.from_url(SERVERS[0])
        self.name = f"l-{uuid.uuid4().hex[:8]}"

    def sink(self) -> Sink[Any]:
        port = int(SERVERS[0].rpartition(":")[2])
        return RedisSink(at(port), ToOne(self.name), guarantee=self.guarantee)

    def written(self) -> Sequence[str]:
        return [each.decode() for each in self.client.lrange(self.name, 0, -1)]

    def close(self) -> None:
        self.client.flushall()
        self.client.close()


class ListAtLeastOnce(ListToWrite):
    exactly_once = False
    seen_after_ms = 100
    guarantee = DeliveryGuarantee.AT_LEAST_ONCE


class ToOne(RedisMapper[Any]):
    def __init__(self, key: str) -> None:
        self._key = key

    def get_command_description(self) -> RedisCommandDescription:
        return RedisCommandDescription(RedisCommand.RPUSH)

    def get_key_from_data(self, data: Any) -> Any:
        return self._key

    def get_value_from_data(self, data: Any) -> Any:
        return data


SERVERS: list[str] = []
"""the one that runs: checks are listed before it does"""


@pytest.fixture
def running(redis_server: Any) -> Iterator[None]:
    SERVERS.append(redis_server.url)
    yield
    SERVERS.clear()


def cases() -> Iterator[Any]:
    """Three of each are in every run of the tests, the others where all of the connectors' are."""
    for place in (ListToWrite, ListAtLeastOnce):
        checks = sink_checks(place)
        always = [check for check in checks if any(word in str(check) for word in ALWAYS)]
        assert len(always) == 3
        for check in checks:
            marks = [] if check in always else [pytest.mark.slow]
            yield pytest.param(check, marks=marks, id=f"{place.__name__}, {check}")


ALWAYS = ("killed after flush", "committing", "seed 1")


@services
@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("check", list(cases()))
def test_conformance(check: Check) -> None:
    check()


class Pipeline:
    """Writes down what it is sent."""

    sent: list[list[str]] = []

    def __init__(self) -> None:
        self._commands: list[str] = []

    def execute_command(self, *words: Any) -> None:
        self._commands.append(" ".join(words))

    def execute(self) -> None:
        self.sent.append(self._commands)


class Nowhere:
    """A client, and the way to it."""

    def pipeline(self, transaction: bool) -> Pipeline:
        return Pipeline()

    def connect(self) -> Nowhere:
        return self

    def close(self) -> None: ...


def test_a_command_alone_is_sent_after_a_while() -> None:
    Pipeline.sent, clock = [], Clock()
    sink = RedisCommands(Nowhere(), MapperEncoder(Pairs(RedisCommand.SET)), retries=0)  # type: ignore[arg-type]
    writer = sink.create_writer(WriterContext(0, 1, 1, clock))
    writer.write(("k", "v"), ElementContext())
    writer.end_slice(clock.now + 99)
    assert Pipeline.sent == []
    writer.end_slice(clock.now + 100)
    writer.end_slice(clock.now + 500)
    writer.flush(False)
    assert Pipeline.sent == [["SET k v"]]
    writer.close()
