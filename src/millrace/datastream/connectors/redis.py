"""Redis: streams, channels, and commands with the names of Bahir's connector. PyFlink has nothing of the kind."""

from __future__ import annotations

from millrace.connectors.redis.mapper import RedisCommand, RedisCommandDescription, RedisDataType, RedisMapper
from millrace.connectors.redis.pubsub import RedisPubSubSink, RedisPubSubSource
from millrace.connectors.redis.stream_sink import RedisStreamSink
from millrace.connectors.redis.stream_source import RedisStreamSource
from millrace.connectors.redis.streams import (
    FlinkJedisClusterConfig,
    FlinkJedisConfigBase,
    FlinkJedisPoolConfig,
    FlinkJedisSentinelConfig,
    RedisSink,
)

__all__ = [
    "FlinkJedisClusterConfig",
    "FlinkJedisConfigBase",
    "FlinkJedisPoolConfig",
    "FlinkJedisSentinelConfig",
    "RedisCommand",
    "RedisCommandDescription",
    "RedisDataType",
    "RedisMapper",
    "RedisPubSubSink",
    "RedisPubSubSource",
    "RedisSink",
    "RedisStreamSink",
    "RedisStreamSource",
]
